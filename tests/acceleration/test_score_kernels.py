"""Additive attention kernels against tanh over all pairs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

pytest.importorskip("triton", reason="Triton is not installed")

from spacy_psa.acceleration.cuda import operations
from spacy_psa.acceleration.cuda.operations import CUDAOps, fused_scores
from spacy_psa.inference.engines.triton import kernels_run_on

from ..layers.helpers import assert_close, mask_of, normal

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
interpreted = pytest.mark.skipif(
    not kernels_run_on(torch.device("cpu")), reason="no Triton that interprets kernels"
)


def naive(queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    return torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ weight


def fused(
    queries: Tensor, keys: Tensor, weight: Tensor, lengths: tuple[int, ...] | None = None
) -> Tensor:
    """The scores of sequences of these lengths; by default, of all pairs."""
    sizes = lengths or (max(queries.shape[1], keys.shape[1]),) * len(queries)
    return fused_scores(queries, keys, weight, torch.tensor(sizes, device=queries.device))


def inputs(batch_size: int, n: int, m: int, d: int, seed: int = 0) -> list[Tensor]:
    shapes = (batch_size, n, d), (batch_size, m, d), (d,)
    return [normal(*shape, seed=seed + i) for i, shape in enumerate(shapes)]


def real_pairs(lengths: tuple[int, ...], n: int, m: int) -> Tensor:
    sizes = torch.tensor(lengths).view(-1, 1, 1)
    return (torch.arange(n).view(1, -1, 1) < sizes) & (torch.arange(m) < sizes)


def assert_like_tanh(
    tensors: list[Tensor],
    dtype: torch.dtype,
    device: torch.device,
    lengths: tuple[int, ...] | None = None,
) -> None:
    """Compare scores and all gradients."""
    ours = [tensor.to(device, dtype).requires_grad_() for tensor in tensors]
    theirs = [tensor.detach().cpu().double().requires_grad_() for tensor in ours]
    scores = fused(*ours, lengths)
    expected = naive(*theirs)
    if lengths is not None:
        expected = expected * real_pairs(lengths, *expected.shape[1:])
    assert scores.dtype == dtype
    tolerance = TOLERANCE[dtype] * max(1.0, float(expected.detach().abs().max()))
    assert_close(scores, expected, tolerance)
    upstream = normal(*expected.shape, seed=9)
    scores.backward(upstream.to(scores))
    expected.backward(upstream)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.grad.dtype == dtype
        size = max(1.0, float(other.grad.abs().max()))
        assert_close(mine.grad, other.grad, TOLERANCE[dtype] * size)


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 17), (17, 1), (16, 16), (33, 20)])
def test_equal_tanh_over_all_pairs(
    n: int, m: int, dtype: torch.dtype, device: torch.device
) -> None:
    assert_like_tanh(inputs(2, n, m, 19), dtype, device)


@pytest.mark.parametrize("size", [3.0, 6.0, 9.0, 40.0])
def test_the_slope_of_tanh_keeps_its_digits_in_float32(size: float, device: torch.device) -> None:
    queries, keys, weight = (tensor.abs() for tensor in inputs(1, 3, 3, 5))
    for sign in (1.0, -1.0):
        tensors = [sign * (queries + size / 2), sign * (keys + size / 2), weight]
        ours = [tensor.to(device, torch.float32).requires_grad_() for tensor in tensors]
        theirs = [tensor.detach().cpu().double().requires_grad_() for tensor in ours]
        fused(*ours).sum().backward()
        total = theirs[0].unsqueeze(2) + theirs[1].unsqueeze(1)
        slopes = theirs[2] / torch.cosh(total) ** 2
        for mine, dim in ((ours[0], 2), (ours[1], 1)):
            torch.testing.assert_close(
                mine.grad.cpu().double(), slopes.sum(dim).detach(), rtol=1e-5, atol=0.0
            )


def test_lengths_that_do_not_lie_in_a_row_or_do_not_fit(device: torch.device) -> None:
    tensors = [tensor.to(device) for tensor in inputs(2, 5, 5, 3)]
    there = torch.tensor([[5, 0], [2, 0]], device=device)[:, 0]
    expected = fused(*tensors, lengths=(5, 2))
    assert torch.equal(fused_scores(*tensors, there), expected)
    with pytest.raises(RuntimeError, match="shape"):
        fused_scores(*tensors, there[:1])


@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_pairs_with_padding_are_zero_and_have_no_gradient(
    dtype: torch.dtype, device: torch.device
) -> None:
    tensors = inputs(4, 18, 18, 7)
    tensors[0][1, 3:], tensors[1][1, 3:] = torch.nan, torch.nan
    lengths = (18, 3, 0, 16)
    clean = [tensor.nan_to_num(0.0) for tensor in tensors]
    expected = fused(*(t.to(device, dtype) for t in clean), lengths)
    found = fused(*(t.to(device, dtype) for t in tensors), lengths)
    assert torch.equal(found, expected)
    assert_like_tanh(clean, dtype, device, lengths)


@interpreted
@settings(max_examples=10)
@given(
    lengths=st.lists(st.integers(0, 20), min_size=1, max_size=2),
    width=st.integers(1, 40),
    size=st.sampled_from([0.1, 1.0, 30.0, 1e4]),
    seed=st.integers(0, 99),
)
def test_any_sizes(lengths: list[int], width: int, size: float, seed: int) -> None:
    n = max(lengths)
    queries, keys, weight = inputs(len(lengths), n, n, width, seed)
    # Sums of large numbers that are near zero, so that tanh is not 1 everywhere
    tensors = [queries + size, keys - size, weight]
    if n:
        assert_like_tanh(tensors, torch.float64, torch.device("cpu"), tuple(lengths))


def test_gradients_pass_gradcheck(device: torch.device) -> None:
    tensors = [tensor.to(device).requires_grad_() for tensor in inputs(1, 2, 3, 2)]
    assert torch.autograd.gradcheck(fused, tensors)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_only_read(dtype: torch.dtype, device: torch.device) -> None:
    half = [tensor.to(device, dtype).requires_grad_() for tensor in inputs(2, 5, 5, 6)]
    wide = [tensor.detach().float().requires_grad_() for tensor in half]
    scores, expected = fused(*half), fused(*wide)
    assert scores.dtype == torch.float32
    assert torch.equal(scores, expected)
    for one in (scores, expected):
        one.sum().backward()
    for mine, other in zip(half, wide, strict=True):
        assert mine.grad.dtype == dtype
        assert torch.equal(mine.grad, other.grad.to(dtype))


def test_tensors_that_do_not_lie_in_a_row(device: torch.device) -> None:
    queries, keys, weight = (tensor.to(device) for tensor in inputs(2, 5, 6, 8))
    strided = queries.mT.contiguous().mT
    leaves = [strided.requires_grad_(), keys.requires_grad_(), weight.requires_grad_()]
    expected = naive(*leaves)
    # The gradient of a sum is a broadcast view of a single number
    wanted = torch.autograd.grad(expected.sum(), leaves)
    scores = fused(*leaves)
    assert_close(scores, expected, 1e-12)
    for found, other in zip(torch.autograd.grad(scores.sum(), leaves), wanted, strict=True):
        assert_close(found, other, 1e-12)


@interpreted
@pytest.mark.parametrize("strides", [(0, 2**30, 1), (0, 1, 2**30)])
def test_gradients_are_found_where_32_bits_do_not_reach(
    strides: tuple[int, int, int], tmp_path: Path
) -> None:
    # As in a matrix of 46,341 tokens; here, 3 tokens in a file of which a few bytes are filled
    leaves = [tensor.float().requires_grad_() for tensor in inputs(1, 3, 3, 2)]
    numbers = torch.from_file(str(tmp_path / "far"), shared=True, size=2**31 + 3)
    gradient = numbers.as_strided((1, 3, 3), strides).copy_(normal(1, 3, 3))
    found = torch.autograd.grad(fused(*leaves), leaves, gradient)
    (tmp_path / "far").unlink()
    expected = torch.autograd.grad(naive(*leaves), leaves, gradient.contiguous())
    for mine, other in zip(found, expected, strict=True):
        assert_close(mine, other, 1e-5)


def test_the_layer_makes_use_of_them(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "kernels_run_on", lambda device: True)
    tensors = [tensor.to(device) for tensor in inputs(2, 5, 5, 6)]
    mask = mask_of([5, 2], device)
    scores = CUDAOps().additive_scores(*tensors, mask)
    assert torch.equal(scores, fused(*tensors, lengths=(5, 2)))
    # Only the kernels write zeros there
    assert not scores[1, 2:].any()
    assert not scores[1, :, 2:].any()
    half = [tensor.bfloat16() for tensor in tensors]
    assert CUDAOps().additive_scores(*half, mask).dtype == torch.bfloat16
