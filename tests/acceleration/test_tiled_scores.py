"""Additive scores in tiles against tanh over all pairs."""

from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from spacy_psa.acceleration import tiles
from spacy_psa.acceleration.tiled_scores import tiled_scores

from ..layers.helpers import DTYPES, TOLERANCE, assert_close, normal


def naive(queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    return torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ weight


def inputs(batch_size: int, n: int, m: int, d: int, *, seed: int = 0) -> tuple[Tensor, ...]:
    return (
        normal(batch_size, n, d, seed=seed),
        normal(batch_size, m, d, seed=seed + 1),
        normal(d, seed=seed + 2),
    )


def gradients(function, tensors: tuple[Tensor, ...]) -> list[Tensor]:
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    output = function(*leaves)
    output.backward(normal(*output.shape, seed=9).to(output))
    return [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 6), (6, 1), (7, 5), (40, 40)])
def test_equal_tanh_over_all_pairs(n, m, dtype, device):
    tensors = inputs(3, n, m, 16)
    actual = tiled_scores(*(x.to(device, dtype) for x in tensors))
    assert_close(actual, naive(*tensors), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_equal_those_of_tanh_over_all_pairs(dtype, device):
    tensors = inputs(3, 7, 5, 8)
    actual = gradients(tiled_scores, tuple(x.to(device, dtype) for x in tensors))
    for a, e in zip(actual, gradients(naive, tensors), strict=True):
        assert_close(a, e, TOLERANCE[dtype])


def test_gradients_pass_gradcheck():
    tensors = [x.requires_grad_() for x in inputs(2, 3, 4, 3)]
    assert torch.autograd.gradcheck(tiled_scores, tensors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [1e-30, 1.0, 9.0, 1e30])
@pytest.mark.parametrize("size", [1.0, 39.9])
def test_weights_of_any_size_equal_tanh(largest, size, dtype):
    queries, keys, weight = inputs(2, 5, 4, 6)
    tensors = [size * x / x.abs().max() for x in (queries, -keys)]
    # e^{−2q} is largest at the largest weight
    tensors[0][:, :, 0], weight[0] = -size, weight.abs().max()
    tensors.append(largest * weight / weight[0])
    expected = naive(*tensors) / largest
    tensors = [x.to(dtype) for x in tensors]
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    assert_close(tiled_scores(*tensors).double() / largest, expected, tolerance)


def test_gradients_pass_gradcheck_beyond_the_exponential_limit():
    q, k, w = inputs(1, 3, 3, 2)
    # Sums of large numbers that are near zero, so that the slope of tanh is not zero.
    tensors = [(q + 60).requires_grad_(), (k - 60).requires_grad_(), w.requires_grad_()]
    assert torch.autograd.gradcheck(tiled_scores, tensors)


# 5 keys of width 4 are 20 elements per query: less than a query, a query, part of a row, rows, all.
@pytest.mark.parametrize("size", [1, 20, 65, 250, 10_000])
@pytest.mark.parametrize("shift", [0.0, 60.0], ids=["separable", "fallback"])
def test_tiles_change_neither_scores_nor_gradients(size, shift, monkeypatch):
    monkeypatch.setattr(tiles, "CPU_TILE", size)
    q, k, w = inputs(5, 6, 5, 4)
    tensors = (q + shift, k - shift, w)
    assert_close(tiled_scores(*tensors), naive(*tensors), 1e-12)
    for a, e in zip(gradients(tiled_scores, tensors), gradients(naive, tensors), strict=True):
        assert_close(a, e, 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [39.9, 40.1, 43.1, 50.0, 1e4])
def test_large_inputs_are_finite_and_equal_tanh(size, dtype, device):
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64)
    q = (size * signs).view(1, 2, 1).repeat(1, 1, 3) + normal(1, 2, 3, seed=1)
    k = (size * signs).view(1, 2, 1).repeat(1, 1, 3) + normal(1, 2, 3, seed=2)
    # Round first: at 1e4 in float32, the rounding error of the input alone exceeds 1e-5.
    rounded = [x.to(device, dtype) for x in (q, k, normal(3, seed=3))]
    expected = naive(*(x.double() for x in rounded))
    tolerance = max(TOLERANCE[dtype], 4 * size * torch.finfo(dtype).eps)
    actual = tiled_scores(*rounded)
    assert actual.isfinite().all()
    assert_close(actual, expected, tolerance)
    wanted = gradients(naive, tuple(x.double() for x in rounded))
    for a, e in zip(gradients(tiled_scores, tuple(rounded)), wanted, strict=True):
        assert a.isfinite().all()
        assert_close(a, e, 4 * tolerance)


@pytest.mark.parametrize("size", [-60.0, 60.0])
@pytest.mark.parametrize("large", [0, 1], ids=["queries", "keys"])
def test_one_side_may_be_large_in_either_direction(large, size):
    tensors = list(inputs(1, 3, 3, 2))
    tensors[large] = torch.full_like(tensors[large], size)
    single = [tensor.float() for tensor in tensors]
    assert_close(tiled_scores(*single), naive(*tensors), 1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_has_exponentials_of_single_precision(dtype):
    q, k, w = (tensor.to(dtype) for tensor in inputs(2, 4, 5, 30))
    q[0, 0], k[0, 0], q[1, 1], k[1, 1] = -6.0, 6.0, 20.0, -20.0
    leaves = [tensor.requires_grad_() for tensor in (q, k, w)]
    scores = tiled_scores(*leaves)
    assert scores.dtype == dtype
    scores.float().square().sum().backward()
    precise = [tensor.detach().double().requires_grad_() for tensor in leaves]
    expected = naive(*precise)
    expected.square().sum().backward()
    tolerance = 16 * torch.finfo(dtype).eps
    assert_close(scores, expected, tolerance)
    for leaf, exact in zip(leaves, precise, strict=True):
        assert leaf.grad.dtype == dtype
        assert_close(
            leaf.grad / exact.grad.abs().max(), exact.grad / exact.grad.abs().max(), tolerance
        )


@pytest.mark.parametrize("culprit", [0, 1], ids=["queries", "keys"])
def test_nan_input_yields_nan_where_it_takes_part(culprit):
    tensors = list(inputs(1, 3, 3, 2))
    tensors[culprit][0, 1, 0] = torch.nan
    actual = tiled_scores(*tensors)
    assert torch.equal(actual.isnan(), naive(*tensors).isnan())
    assert actual.isnan().sum() == 3


@pytest.mark.parametrize("culprit", [0, 1], ids=["queries", "keys"])
def test_nan_does_not_hide_that_other_numbers_are_too_large(culprit):
    q = torch.tensor([[[0.0], [-43.0]]])
    k = torch.tensor([[[0.0], [44.5]]])
    w = torch.ones(1)
    tensors = (q, k, w) if culprit == 1 else (k, q, w)
    # exp(2 * 44.5) is infinite in float32.
    tensors[culprit][0, 0, 0] = torch.nan
    actual, expected = tiled_scores(*tensors), naive(*tensors)
    assert torch.equal(actual.isnan(), expected.isnan())
    assert_close(actual.nan_to_num(), expected.nan_to_num(), 1e-5)


def test_no_tensor_over_all_pairs_and_features_is_allocated():
    n, d = 512, 64
    largest = 0

    class Largest(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            for x in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(x, Tensor):
                    largest = max(largest, x.untyped_storage().nbytes() // x.element_size())
            return result

    tensors = [x.float().requires_grad_() for x in inputs(1, n, n, d)]
    with Largest():
        tiled_scores(*tensors).sum().backward()
    # At least the size of the scores, which shows that the observation works.
    assert n * n <= largest <= max(n * n, tiles.CPU_TILE)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    shape=st.tuples(*[st.integers(1, 6)] * 4),
    tile=st.integers(1, 300),
    scale=st.sampled_from([0.1, 1.0, 20.0, 100.0]),
    n_threads=st.integers(1, 5),
    seed=st.integers(0, 2**20),
)
def test_any_shape_and_tile_equals_tanh(shape, tile, scale, n_threads, seed):
    q, k, w = inputs(*shape, seed=seed)
    tensors = (q * scale, k * scale, w)
    with patch.object(tiles, "CPU_TILE", tile), threads(n_threads):
        assert_close(tiled_scores(*tensors), naive(*tensors), 1e-11)
        for a, e in zip(gradients(tiled_scores, tensors), gradients(naive, tensors), strict=True):
            assert_close(a, e, 1e-11)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    extra=st.integers(0, 2),
    tile=st.integers(1, 300),
    n_threads=st.integers(1, 5),
    seed=st.integers(0, 2**20),
)
def test_known_lengths_change_nothing_between_real_positions(lengths, extra, tile, n_threads, seed):
    n, d = max(lengths) + extra, 3
    tensors = inputs(len(lengths), n, n, d, seed=seed)
    order = torch.arange(n)
    real = torch.stack([(order < m)[:, None] & (order < m) for m in lengths])

    def masked(function):
        return lambda *args: function(*args).masked_fill(~real, 0.0)

    def ragged(q, k, w):
        return tiled_scores(q, k, w, lengths)

    with patch.object(tiles, "CPU_TILE", tile), threads(n_threads):
        assert_close(masked(ragged)(*tensors), masked(naive)(*tensors), 1e-11)
        actual = gradients(masked(ragged), tensors)
    for a, e in zip(actual, gradients(masked(naive), tensors), strict=True):
        assert_close(a, e, 1e-11)


def test_padding_is_left_out_where_lengths_are_known():
    q, k, w = inputs(2, 6, 6, 3)
    assert [tile.shape for tile in tiles.tiles(q, k, [6, 2])] == [(2, 6, 6)]
    with patch.object(tiles, "CPU_TILE", 36 * 3), threads(1):
        shapes = [tile.shape for tile in tiles.tiles(q, k, [6, 2])]
    assert shapes == [(1, 6, 6), (1, 2, 2)]
    assert tiled_scores(q, k, w, [6, 2]).isfinite().all()


def test_all_that_is_kept_for_the_gradient_is_one_tile():
    q, k, w = (tensor.requires_grad_() for tensor in inputs(2, 4, 4, 3))
    outputs = []
    for size in (1, 2 * 4 * 4 * 3):
        with patch.object(tiles, "CPU_TILE", size):
            scores = tiled_scores(q, k, w)
            outputs.append((scores, scores.grad_fn.kept is not None))
    assert [is_kept for _, is_kept in outputs] == [False, True]
    with torch.no_grad():
        assert_close(tiled_scores(q, k, w), outputs[1][0], 1e-12)


def test_gradients_can_be_computed_twice_though_the_first_time_overwrites_what_is_kept():
    leaves = [tensor.requires_grad_() for tensor in inputs(2, 4, 5, 3)]
    scores = tiled_scores(*leaves)
    grad = normal(*scores.shape, seed=9)
    first, second = (torch.autograd.grad(scores, leaves, grad, retain_graph=True) for _ in range(2))
    for a, e in zip(first, second, strict=True):
        assert_close(a, e, 1e-12)


def test_scores_that_wait_for_their_gradients_do_not_share_memory():
    all_leaves = [[x.requires_grad_() for x in inputs(2, 4, 5, 3, seed=seed)] for seed in range(6)]
    all_scores = [tiled_scores(*leaves) for leaves in all_leaves]
    for leaves, scores in zip(all_leaves, all_scores, strict=True):
        grad = normal(*scores.shape, seed=9)
        actual = torch.autograd.grad(scores, leaves, grad)
        expected = torch.autograd.grad(naive(*leaves), leaves, grad)
        for a, e in zip(actual, expected, strict=True):
            assert_close(a, e, 1e-12)


def test_full_precision_is_kept_under_autocast():
    leaves = [tensor.float().requires_grad_() for tensor in inputs(2, 4, 5, 30)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = tiled_scores(*leaves)
        actual = torch.autograd.grad(scores.sum(), leaves)
    assert scores.dtype == torch.float32
    assert_close(scores, naive(*leaves), 1e-5)
    for a, e in zip(actual, torch.autograd.grad(naive(*leaves).sum(), leaves), strict=True):
        assert_close(a, e, 1e-5)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4])
@pytest.mark.parametrize("n_rows", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 12])
def test_sums_over_queries_are_sums_of_what_threads_wrote(n_threads, n_rows, n):
    r = normal(n_rows, n, 3, 2)
    with threads(n_threads):
        found = tiles.sum_over_queries(r)
    assert_close(found, r.sum(dim=1), 1e-14)


def threads(n: int):
    """Simulate a number of threads in PyTorch."""
    return patch.object(torch, "get_num_threads", lambda: n)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 16])
@pytest.mark.parametrize("shape", [(0, 3, 3, 2), (2, 0, 3, 2), (2, 3, 0, 2)])
def test_empty_dimensions_have_empty_scores_and_zero_gradients(shape, n_threads):
    tensors = inputs(*shape)
    with threads(n_threads):
        assert tiled_scores(*tensors).shape == shape[:3]
        for gradient in gradients(tiled_scores, tensors):
            assert not gradient.any()


def test_strided_inputs_and_gradients_are_welcome():
    q, k, w = inputs(2, 4, 4, 6)
    strided = (q.transpose(0, 1).contiguous().transpose(0, 1), k[..., ::2], w[::2])
    strided = (strided[0][..., ::2], strided[1], strided[2])

    def turned(function):
        return lambda *tensors: function(*tensors).transpose(1, 2)

    actual = gradients(turned(tiled_scores), strided)
    for a, e in zip(actual, gradients(turned(naive), strided), strict=True):
        assert_close(a, e, 1e-12)
