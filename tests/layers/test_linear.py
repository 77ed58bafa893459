"""Linear layers in mixed precision on a CPU: few shapes, and the same results as PyTorch's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.layers.linear import Linear
from spacy_psa.layers.roomy import rounded_up

from .helpers import normal, randomized

HALF = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


def make(bias: bool = True) -> tuple[Linear, nn.Linear]:
    """Our layer, and PyTorch's with the same weights."""
    ours, theirs = (randomized(kind(6, 5, bias=bias)).float() for kind in (Linear, nn.Linear))
    return ours, theirs


def run(layer: nn.Module, x: Tensor, dtype: torch.dtype) -> tuple[Tensor, list[Tensor]]:
    """The output, and the gradients of its sum, under autocast."""
    leaves = [x.clone().requires_grad_(), *layer.parameters()]
    with torch.autocast("cpu", dtype=dtype):
        output = layer(leaves[0])
    weights = normal(*output.shape, seed=9).to(output)
    return output, list(torch.autograd.grad((output * weights).sum(), leaves))


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows in each call of PyTorch's function."""
    seen, function = [], nn.functional.linear

    def linear(x: Tensor, *others: Tensor | None) -> Tensor:
        seen.append(x.shape[0])
        return function(x, *others)

    monkeypatch.setattr(nn.functional, "linear", linear)
    return seen


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 6), (33, 6), (64, 6), (3, 67, 6)])
def test_output_and_gradients_are_those_of_pytorch(
    shape: tuple[int, ...], bias: bool, dtype: torch.dtype
) -> None:
    ours, theirs = make(bias)
    x = normal(*shape, seed=3).float()
    output, gradients = run(ours, x, dtype)
    expected, expected_gradients = run(theirs, x, dtype)
    assert output.dtype == expected.dtype == dtype
    torch.testing.assert_close(output, expected, rtol=2 * HALF[dtype], atol=HALF[dtype])
    for found, wanted in zip(gradients, expected_gradients, strict=True):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, wanted, rtol=4 * HALF[dtype], atol=4 * HALF[dtype])


def test_there_are_few_shapes(rows: list[int]) -> None:
    layer, _ = make()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for n in range(1, 1025):
            assert layer(torch.ones(n, 6)).shape == (n, 5)
            assert rows[-1] == rounded_up(n)
    # From batches of ten to forty sentences
    assert len({n for n in rows if n >= 200}) <= 40


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_nothing_else_than_pytorch_without_mixed_precision(
    dtype: torch.dtype, rows: list[int]
) -> None:
    ours, theirs = (layer.to(dtype) for layer in make())
    x = normal(33, 6, seed=3).to(dtype)
    assert torch.equal(ours(x), theirs(x))
    assert rows == [33, 33]


def test_numbers_that_autocast_leaves_alone_are_left_alone(rows: list[int]) -> None:
    ours, _ = make()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ours.double()(normal(33, 6)).dtype == torch.float64
        assert ours.float()(torch.ones(0, 6)).shape == (0, 5)
    assert rows == [33, 0]


def test_the_output_may_be_overwritten() -> None:
    ours, theirs = make()
    x = normal(33, 6, seed=3).float()
    found, wanted = (
        run(nn.Sequential(layer, nn.ReLU(True)), x, torch.bfloat16) for layer in (ours, theirs)
    )
    torch.testing.assert_close(found[1], wanted[1], rtol=0.05, atol=0.05)


def test_what_needs_no_gradient_gets_none() -> None:
    layer, _ = make()
    layer.weight.requires_grad_(False)
    x = normal(33, 6).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(x).float().sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(layer.bias.grad, torch.full((5,), 33.0))
