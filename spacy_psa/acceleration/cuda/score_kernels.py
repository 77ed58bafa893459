"""Triton kernels for additive attention. No tensor of the size n · m · d is stored."""

import triton
import triton.language as tl


@triton.jit
def _tanh_and_slope(x):
    """tanh(x) and its derivative, which stays precise if tanh(x) is close to 1 or -1."""
    e = tl.exp(-2.0 * tl.abs(x))
    one = 1.0 / (1.0 + e)
    value = (1.0 - e) * one
    return tl.where(x < 0.0, -value, value), 4.0 * e * one * one


# Sizes that vary between batches must not trigger recompilation
@triton.jit(do_not_specialize=["n_queries", "n_keys"])
def scores_kernel(
    queries,
    keys,
    weight,
    lengths,
    scores,
    n_queries,
    n_keys,
    width,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Compute f(i, j) = Σ_d w_d · tanh(q_id + k_jd) for a tile of pairs. Grid: (rows of the batch,
    tiles of queries, tiles of keys). Wei et al. (2021), equation 5.

    Pairs beyond the lengths (batch_size,) are left unchanged.
    """
    row = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + row).to(tl.int32)
    i = tl.program_id(1) * QUERIES + tl.arange(0, QUERIES)
    j = tl.program_id(2) * KEYS + tl.arange(0, KEYS)
    is_query = (i < n_queries) & (i < length)
    is_key = (j < n_keys) & (j < length)
    if (tl.program_id(1) * QUERIES < length) & (tl.program_id(2) * KEYS < length):
        kind = scores.dtype.element_ty
        summands = tl.zeros((QUERIES, KEYS, WIDTH), kind)
        for begin in range(0, width, WIDTH):
            d = begin + tl.arange(0, WIDTH)
            is_number = d < width
            at = queries + (row * n_queries + i)[:, None] * width + d[None, :]
            q = tl.load(at, mask=is_query[:, None] & is_number[None, :], other=0.0).to(kind)
            at = keys + (row * n_keys + j)[:, None] * width + d[None, :]
            k = tl.load(at, mask=is_key[:, None] & is_number[None, :], other=0.0).to(kind)
            w = tl.load(weight + d, mask=is_number, other=0.0).to(kind)
            tanh, _slope = _tanh_and_slope(q[:, None, :] + k[None, :, :])
            summands += w[None, None, :] * tanh
        at = scores + (row * n_queries + i)[:, None] * n_keys + j[None, :]
        tl.store(at, tl.sum(summands, axis=2), mask=is_query[:, None] & is_key[None, :])


@triton.jit(do_not_specialize=["n_ones", "n_others", "stride_row"])
def gradient_kernel(
    ones,
    others,
    weight,
    lengths,
    gradient,
    for_ones,
    for_weight,
    n_ones,
    n_others,
    width,
    stride_row,
    stride_one,
    stride_other,
    WITH_WEIGHT: tl.constexpr,
    ONES: tl.constexpr,
    OTHERS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Compute the gradient of a tile of queries, given the gradient of the scores; or of a tile of
    keys, with queries and keys swapped. Grid: (rows of the batch, tiles of ones, tiles of
    features).

    df/dq_id = w_d · Σ_j g_ij · (1 − tanh²(q_id + k_jd)). With WITH_WEIGHT, also write these
    queries' contribution to the gradient of w, Σ_ij g_ij · tanh(q_id + k_jd), to `for_weight`
    (batch_size, tiles of ones, d).
    """
    row = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + row).to(tl.int32)
    i = tl.program_id(1) * ONES + tl.arange(0, ONES)
    d = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    is_one = (i < n_ones) & (i < length)
    is_number = d < width
    kind = gradient.dtype.element_ty
    one_at = (row * n_ones + i)[:, None] * width + d[None, :]
    one = tl.load(ones + one_at, mask=is_one[:, None] & is_number[None, :], other=0.0).to(kind)
    w = tl.load(weight + d, mask=is_number, other=0.0).to(kind)
    slopes = tl.zeros((ONES, OTHERS, WIDTH), kind)
    shares = tl.zeros((ONES, OTHERS, WIDTH), kind)
    stop = tl.minimum(length, n_others)
    if tl.program_id(1) * ONES >= length:
        stop = stop * 0
    for begin in range(0, stop, OTHERS):
        j = begin + tl.arange(0, OTHERS)
        is_other = j < stop
        at = others + (row * n_others + j)[:, None] * width + d[None, :]
        other = tl.load(at, mask=is_other[:, None] & is_number[None, :], other=0.0).to(kind)
        # A row and a column of a large matrix, in either order: 32 bits are too few
        at = gradient + row * stride_row
        at = at + i[:, None].to(tl.int64) * stride_one + j[None, :].to(tl.int64) * stride_other
        g = tl.load(at, mask=is_one[:, None] & is_other[None, :], other=0.0)
        tanh, slope = _tanh_and_slope(one[:, None, :] + other[None, :, :])
        slopes += g[:, :, None] * slope
        if WITH_WEIGHT:
            shares += g[:, :, None] * tanh
    found = tl.sum(slopes, axis=1) * w[None, :]
    tl.store(for_ones + one_at, found, mask=(i < n_ones)[:, None] & is_number[None, :])
    if WITH_WEIGHT:
        at = (row * tl.num_programs(1) + tl.program_id(1)) * width + d
        tl.store(for_weight + at, tl.sum(tl.sum(shares, axis=1), axis=0), mask=is_number)
