"""What is recorded as a CUDA graph: without a GPU, all but the recording itself."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.acceleration.cuda.recording import Recording
from spacy_psa.layers import BiLSTM
from spacy_psa.layers.mask import SequenceMask

from ..layers.helpers import assert_close, normal, randomized

LENGTHS = torch.tensor([4, 2, 3])


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PyTorch's functions for CUDA do nothing; operations are run when they are recorded."""
    for name in ("synchronize", "set_sync_debug_mode", "get_sync_debug_mode", "Stream"):
        monkeypatch.setattr(torch.cuda, name, lambda *args: None)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch.cuda, "graph", lambda graph, pool: nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: None)


class Network(nn.Module):
    """A BiLSTM and a linear layer, one of whose parameters may be kept somewhere else, too."""

    def __init__(self) -> None:
        super().__init__()
        self.bilstm = BiLSTM(3, hidden_width=4, input_dropout=0.0, output_dropout=0.0)
        self.linear = nn.Linear(4, 2)
        self.unused = nn.Linear(1, 1)
        self.elsewhere: list[Tensor] = []

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        hidden = self.bilstm(vectors, SequenceMask(lengths, vectors.shape[1]))
        weight = self.elsewhere[0] if self.elsewhere else self.linear.weight
        return nn.functional.linear(hidden, weight, self.linear.bias)


def record(network: Network, vectors: Tensor) -> Recording:
    parameters = list(network.parameters())
    gradients = [torch.zeros_like(parameter) for parameter in parameters]
    return Recording(network, network, (vectors, LENGTHS), parameters, gradients, None)


def test_records_scores_and_the_gradients_of_what_is_used() -> None:
    network, vectors = randomized(Network()).train(), normal(3, 4, 3)
    recording = record(network, vectors)
    assert_close(recording.scores, network(vectors, LENGTHS), 1e-12)
    used = [parameter for parameter, _ in recording.gradients]
    expected = [p for name, p in network.named_parameters() if "unused" not in name]
    assert len(used) == len(expected) == 10
    assert all(p is q for p, q in zip(used, expected, strict=True))
    assert recording.upstream.shape == recording.scores.shape


def test_parameters_kept_elsewhere_are_refused() -> None:
    network = randomized(Network()).train()
    network.elsewhere = [network.linear.weight]
    before = list(network.parameters())
    with pytest.raises(RuntimeError, match="keeps its parameters elsewhere"):
        record(network, normal(3, 4, 3))
    assert all(p is q for p, q in zip(network.parameters(), before, strict=True))


def test_parameters_that_are_moved_are_refused() -> None:
    network = randomized(Network()).train()

    def move(*args: object) -> None:
        network.linear.weight.data = network.linear.weight.data.clone()

    network.linear.register_forward_pre_hook(move)
    network.bilstm.register_forward_pre_hook(move)
    with pytest.raises(RuntimeError, match="has moved its parameters"):
        record(network, normal(3, 4, 3))


def test_more_than_emissions_is_refused() -> None:
    network = randomized(Network()).train()
    parameters = list(network.parameters())
    with pytest.raises(RuntimeError, match="more than emissions"):
        Recording(
            lambda *inputs: {"emissions": network(*inputs)},  # type: ignore[arg-type]
            network,
            (normal(3, 4, 3), LENGTHS),
            parameters,
            [torch.zeros_like(parameter) for parameter in parameters],
            None,
        )
