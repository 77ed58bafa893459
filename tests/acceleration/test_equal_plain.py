"""Each operation that replaces a definition equals it, with its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.acceleration.cpu import CPUPrediction, CPUTraining
from spacy_psa.acceleration.cuda.operations import CUDAOps
from spacy_psa.layers import PLAIN, Ops, SequenceMask, using
from spacy_psa.layers.initialization import lstm

from ..layers.helpers import TOLERANCE, assert_close, normal, randomized
from ..layers.test_gradients import ENCODERS, WIDTH
from ..layers.test_padding import make, run

# Uneven, even, single, joined into fewer rows, and wider than the longest
LENGTHS = [[4, 1, 6, 2], [3, 3], [1], [9, *[1] * 8]]
SCALES = [1.0, 60.0, 1e4]
# The class, the device, and whether it is used with gradients
OURS: dict[str, tuple[type[Ops], str, bool]] = {
    "prediction": (CPUPrediction, "cpu", False),
    "training": (CPUTraining, "cpu", True),
    "GPU": (CUDAOps, "cuda", True),
}
Case = Callable[[SequenceMask, float], tuple[nn.Module, list[Tensor], Callable[..., Tensor]]]


def scores(mask: SequenceMask, scale: float) -> Any:
    n = int(mask.lengths.sum())
    tensors = [scale * normal(n, 4), scale * normal(n, 4, seed=1), normal(4, seed=2)]
    real = mask.pairs() & mask.positions.unsqueeze(2)
    return nn.Module(), tensors, lambda ops, *t: ops.additive_scores(*t, mask) * real


def attention(mask: SequenceMask, scale: float) -> Any:
    shape = len(mask.lengths), 2, mask.width, 3
    tensors = [scale * normal(*shape, seed=seed) for seed in range(3)]
    allowed = mask.pairs().unsqueeze(1)

    def attend(ops: Ops, *t: Tensor) -> Tensor:
        return ops.attention(*t, allowed, scale=0.5, dropout=0.0)

    return nn.Module(), tensors, attend


def directions() -> nn.ModuleList:
    return nn.ModuleList([randomized(lstm(3, 2)), randomized(lstm(3, 2), seed=1)])


def bilstm(mask: SequenceMask, scale: float) -> Any:
    both, n = directions(), int(mask.lengths.sum())
    return both, [scale * normal(n, 3)], lambda ops, x: ops.bilstm(x, mask, *both)


def last_states(mask: SequenceMask, scale: float) -> Any:
    both = directions().append(nn.Embedding.from_pretrained(scale * normal(9, 3), freeze=False))
    ids = (torch.arange(mask.width) % 8 + 1).expand(len(mask.lengths), -1)

    def read(ops: Ops) -> Tensor:
        return ops.last_states(ids.to(mask.lengths.device), mask, both[2], both[0], both[1])

    return both, [], read


def marginals(mask: SequenceMask, scale: float) -> Any:
    tensors = [scale * normal(len(mask.lengths), mask.width, 3), scale * normal(3, 3, seed=1)]

    def find(ops: Ops, emissions: Tensor, transitions: Tensor) -> Tensor:
        found = ops.marginals(emissions, mask, {"transitions": transitions})
        return found * mask.positions.unsqueeze(2)

    return nn.Module(), tensors, find


CASES: dict[str, Case] = {
    "additive_scores": scores,
    "attention": attention,
    "bilstm": bilstm,
    "last_states": last_states,
    "marginals": marginals,
}


def results(
    ops: Ops, case: tuple[nn.Module, list[Tensor], Callable[..., Tensor]], learns: bool
) -> list[Tensor]:
    """The output, and the gradients of inputs and parameters."""
    module, tensors, function = case
    leaves = [tensor.detach().requires_grad_(learns) for tensor in tensors]
    with torch.set_grad_enabled(learns):
        output = function(ops, *leaves)
    if not learns:
        return [output]
    wanted = [*leaves, *module.parameters()]
    return [output, *torch.autograd.grad((output * output.detach()).sum(), wanted)]


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "which",
    ["prediction", "training", pytest.param("GPU", marks=pytest.mark.gpu)],
)
def test_operations_equal_their_definition(
    which: str, name: str, lengths: list[int], scale: float, dtype: torch.dtype
) -> None:
    kind, device, learns = OURS[which]
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    mask = SequenceMask(torch.tensor(lengths, device=device), max(lengths) + 1)
    module, tensors, function = CASES[name](mask, scale)
    # cuDNN computes the gradients of LSTMs in training mode only
    module = module.to(device, dtype).train(learns)
    case = module, [t.to(device, dtype) for t in tensors], function
    found, expected = (results(ops, case, learns) for ops in (kind(), PLAIN))
    assert len(found) == len(expected)
    for tensor, wanted in zip(found, expected, strict=True):
        size = max(1.0, float(wanted.detach().abs().max()))
        assert tensor.dtype == wanted.dtype and tensor.isfinite().all()
        assert_close(tensor / size, wanted / size, 20 * TOLERANCE[dtype])


def test_every_operation_that_is_replaced_is_compared() -> None:
    choices = {"without_padding", "has_padding"}  # compared in whole encoders, and below
    for kind, _, _ in OURS.values():
        replaced = {name for base in kind.__mro__[:-2] for name in vars(base) if name[0] != "_"}
        assert replaced - choices <= set(CASES), kind


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_come_to_the_same(name: str, learns: bool) -> None:
    lengths = LENGTHS[0]
    module, x = make(name), normal(len(lengths), max(lengths), WIDTH)
    with using(PLAIN):
        expected, gradients = run(module, x, lengths)
    if learns:
        found, found_gradients = run(module, x, lengths)
        for gradient, wanted in zip(found_gradients, gradients, strict=True):
            assert_close(gradient, wanted, 1e-10)
    else:
        mask = SequenceMask(torch.tensor(lengths), max(lengths))
        with torch.no_grad():
            found = module(x, mask)[mask.positions]
    assert_close(found, expected, 1e-12)


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("name", ENCODERS)
def test_sentences_alone_come_out_as_in_a_batch(name: str, learns: bool) -> None:
    lengths = [9, 1, 6, 2, 1, 1]
    module, x = make(name).float(), normal(len(lengths), max(lengths), WIDTH).float()
    with torch.set_grad_enabled(learns):
        output = module(x, SequenceMask(torch.tensor(lengths), max(lengths)))
        for row, n in enumerate(lengths):
            alone = module(x[row : row + 1, :n], SequenceMask(torch.tensor([n]), n))
            assert_close(output[row, :n], alone[0], 1e-5)


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("name", ENCODERS)
def test_a_batch_may_have_no_sentences(name: str, learns: bool) -> None:
    x = normal(0, 3, WIDTH)
    with torch.set_grad_enabled(learns):
        output = make(name)(x, SequenceMask(torch.zeros(0, dtype=torch.long), 3))
    assert output.shape[:2] == (0, 3)


class Doubled(nn.LSTM):
    def forward(self, *args: Any) -> Any:
        states, last = super().forward(*args)
        return 2.0 * states, last


OTHERS: dict[str, Callable[[], nn.Module]] = {
    "GRU": lambda: nn.GRU(3, 2, batch_first=True),
    "subclass": lambda: Doubled(3, 2, batch_first=True),
    "two layers": lambda: nn.LSTM(3, 2, num_layers=2, batch_first=True),
    "two directions": lambda: nn.LSTM(3, 2, bidirectional=True, batch_first=True),
    "without bias": lambda: nn.LSTM(3, 2, bias=False, batch_first=True),
    "projection": lambda: nn.LSTM(3, 2, proj_size=1, batch_first=True),
}


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("which", ["prediction", "training"])
@pytest.mark.parametrize("name", OTHERS)
def test_other_recurrent_layers_are_run_as_they_are(name: str, which: str) -> None:
    both, (kind, _, learns) = (randomized(OTHERS[name]()).float() for _ in range(2)), OURS[which]
    forwards, backwards = both
    table = randomized(nn.Embedding(9, 3)).float()
    for lengths in ([9, *[1] * 8], [9, *[1] * 80]):
        mask = SequenceMask(torch.tensor(lengths), max(lengths))
        x, ids = normal(len(lengths), mask.width, 3).float(), torch.ones(len(lengths), 9).long()
        with torch.set_grad_enabled(learns):
            for ops in (kind(), PLAIN):
                states = ops.bilstm(x, mask, forwards, backwards)[mask.positions]
                words = ops.last_states(ids, mask, table, forwards, backwards)
                if ops is not PLAIN:
                    found = states, words
        assert_close(found[0], states, 1e-5)
        assert_close(found[1], words, 1e-5)
