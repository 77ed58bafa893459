"""Additive attention: one kernel launch for the scores, two for the gradients."""

import torch
import triton
from torch import Tensor

from ...inference.engines.triton.launching import OPTIONS, on_device
from .score_kernels import gradient_kernel, scores_kernel

# Tile sizes: the accumulator, (queries, keys, features), stays in the registers of four warps
QUERIES, KEYS, WIDTH = 8, 8, 32
ONES, OTHERS, NUMBERS = 4, 8, 64


def additive_scores_of(
    queries: Tensor, keys: Tensor, weight: Tensor, lengths: Tensor, dtype: torch.dtype
) -> Tensor:
    """Compute f(i, j) = wᵀ tanh(q_i + k_j) for queries (batch_size, n, d), keys (batch_size, m, d),
    the weight (d,) and the number of each to use in each row (batch_size,). *Shape:* (batch_size,
    n, m), zeros beyond the lengths."""
    batch_size, n, d = queries.shape
    m = keys.shape[1]
    scores = queries.new_zeros((batch_size, n, m), dtype=dtype)
    if scores.numel() and d:
        with on_device(scores):
            scores_kernel[(batch_size, triton.cdiv(n, QUERIES), triton.cdiv(m, KEYS))](
                queries.contiguous(),
                keys.contiguous(),
                weight.contiguous(),
                lengths,
                scores,
                n,
                m,
                d,
                QUERIES=QUERIES,
                KEYS=KEYS,
                WIDTH=WIDTH,
                **OPTIONS,
            )
    return scores


def additive_gradients_of(
    queries: Tensor, keys: Tensor, weight: Tensor, lengths: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients with respect to queries, keys and weight from that of the scores
    (batch_size, n, m), in its type."""
    batch_size, n, d = queries.shape
    tiles = triton.cdiv(n, ONES)
    for_weight = gradient.new_zeros(batch_size, tiles, d)
    for_queries = _one_side(queries, keys, weight, lengths, gradient, for_weight)
    for_keys = _one_side(keys, queries, weight, lengths, gradient.mT, None)
    return for_queries, for_keys, for_weight.sum(dim=(0, 1))


def _one_side(
    ones: Tensor,
    others: Tensor,
    weight: Tensor,
    lengths: Tensor,
    gradient: Tensor,
    for_weight: Tensor | None,
) -> Tensor:
    batch_size, n, d = ones.shape
    found = gradient.new_empty(ones.shape)
    if found.numel():
        with on_device(found):
            gradient_kernel[(batch_size, triton.cdiv(n, ONES), triton.cdiv(d, NUMBERS))](
                ones.contiguous(),
                others.contiguous(),
                weight.contiguous(),
                lengths,
                gradient,
                found,
                found if for_weight is None else for_weight,
                n,
                others.shape[1],
                d,
                *gradient.stride(),
                WITH_WEIGHT=for_weight is not None,
                ONES=ONES,
                OTHERS=OTHERS,
                WIDTH=NUMBERS,
                **OPTIONS,
            )
    return found
