"""The marginals of padded chains, whose lengths stay on the GPU, against chains in a row."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

pytest.importorskip("triton", reason="Triton is not installed")

from spacy_psa.acceleration.cuda.operations import CUDAOps
from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.inference.engines.triton import kernels_run_on
from spacy_psa.inference.engines.triton.backend import have_kernels, padded_marginals
from spacy_psa.layers import LabelEmbeddings, LabelMarginals, LabelTransitions, using
from spacy_psa.layers.mask import SequenceMask

from ...layers.helpers import normal, randomized

NAMES = ("transitions", "start", "end")
interpreted = pytest.mark.skipif(
    not kernels_run_on(torch.device("cpu")), reason="no Triton that interprets kernels"
)


def random_scores(n_chains: int, n: int, n_labels: int, seed: int = 0) -> dict[str, Tensor]:
    shapes = {"emissions": (n_chains, n, n_labels), "transitions": (n_labels, n_labels)}
    shapes |= {"start": (n_labels,), "end": (n_labels,)}
    return {name: normal(*shape, seed=seed + i) for i, (name, shape) in enumerate(shapes.items())}


def in_a_row(scores: dict[str, Tensor], lengths: Tensor) -> Tensor:
    """The same, padded, by the backend of the CPU."""
    is_token = torch.arange(scores["emissions"].shape[1]) < lengths.unsqueeze(1)
    fields = {name: scores[name] for name in scores if name != "emissions"}
    chains = Potentials(scores["emissions"][is_token], tuple(lengths.tolist()), **fields)
    marginals = torch.zeros_like(scores["emissions"])
    marginals[is_token] = LinearChain(chains, backend="scaled").marginals
    return marginals


def padded(scores: dict[str, Tensor], lengths: Tensor) -> Tensor:
    rest = {name: scores[name] for name in scores if name != "emissions"}
    return padded_marginals(scores["emissions"], lengths, **rest)


def with_gradients(function, scores: dict[str, Tensor], lengths: Tensor) -> list[Tensor]:
    """Marginals, and the gradient of a weighted sum of them."""
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in scores.items()}
    marginals = function(leaves, lengths)
    weights = normal(*marginals.shape, seed=9).to(marginals)
    gradients = torch.autograd.grad((marginals * weights).sum(), list(leaves.values()))
    return [marginals.detach(), *gradients]


def assert_alike(scores: dict[str, Tensor], lengths: Tensor, device: torch.device) -> None:
    expected = with_gradients(in_a_row, scores, lengths)
    moved = {name: tensor.to(device) for name, tensor in scores.items()}
    found = with_gradients(padded, moved, lengths.to(device))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("fields", [(), ("transitions",), NAMES], ids="+".join)
@pytest.mark.parametrize("n_labels", [1, 5, 37])
def test_marginals_and_gradients(
    n_labels: int, fields: tuple[str, ...], device: torch.device
) -> None:
    scores = random_scores(4, 6, n_labels)
    scores = {name: scores[name] for name in ("emissions", *fields)}
    assert_alike(scores, torch.tensor([3, 6, 1, 5]), device)


@pytest.mark.parametrize("lengths", [[2, 2], [2, 1, 2], [1, 1], [2]], ids=str)
def test_chains_of_two_tokens(lengths: list[int], device: torch.device) -> None:
    assert_alike(random_scores(len(lengths), 2, 3), torch.tensor(lengths), device)


def test_lengths_that_do_not_lie_in_a_row(device: torch.device) -> None:
    lengths = torch.tensor([[3, 0], [1, 0], [2, 0]])[:, 0]
    assert_alike(random_scores(3, 4, 3), lengths, device)


@interpreted
@settings(max_examples=8)
@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    more=st.integers(0, 3),
    n_labels=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_any_padding(lengths: list[int], more: int, n_labels: int, seed: int) -> None:
    scores = random_scores(len(lengths), max(lengths) + more, n_labels, seed)
    assert_alike(scores, torch.tensor(lengths), torch.device("cpu"))


def test_padding_is_never_read(device: torch.device) -> None:
    lengths = torch.tensor([2, 4])
    scores = {name: tensor.to(device) for name, tensor in random_scores(2, 4, 5).items()}
    expected = with_gradients(padded, scores, lengths.to(device))
    scores["emissions"][0, 2:] = torch.nan
    for one, other in zip(
        with_gradients(padded, scores, lengths.to(device)), expected, strict=True
    ):
        assert torch.equal(one, other)
        assert one.isfinite().all()


def test_gradients_are_derivatives(device: torch.device) -> None:
    scores = random_scores(2, 3, 3)
    lengths = torch.tensor([3, 2], device=device)

    def function(*tensors: Tensor) -> Tensor:
        return padded(dict(zip(scores, tensors, strict=True)), lengths)

    leaves = [tensor.to(device).requires_grad_() for tensor in scores.values()]
    assert torch.autograd.gradcheck(function, leaves)


def test_label_marginals_keep_padding_where_lengths_are_unknown(device: torch.device) -> None:
    layer = randomized(LabelMarginals(LabelEmbeddings(4, 6), LabelTransitions(4)))
    x, lengths = normal(3, 5, 6), torch.tensor([5, 1, 4])
    expected = layer(x, SequenceMask(lengths, 5))
    layer, mask = layer.to(device), SequenceMask(lengths.to(device), 5)
    mask.known_lengths = None  # as on a GPU, where nothing may ask for them
    assert have_kernels(x.to(device))
    with using(CUDAOps()):
        found = layer(x.to(device), mask)
    is_token = SequenceMask(lengths, 5).positions
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu()[is_token], other[is_token], rtol=0, atol=1e-9)
    assert not found[1].cpu()[~is_token].any()
