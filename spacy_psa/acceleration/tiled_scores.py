"""Additive attention scores without a tanh for each pair.

The compatibility function wᵀ tanh(q_i + k_j) seems to require n²·d hyperbolic tangents. But
tanh(x) = 1 − 2r, with

    r = 1 / (1 + e^{2(q + k)}) = 1 / (1 + e^{2q} e^{2k}),

so n·d exponentials suffice. Each pair then takes a multiplication, an addition and a division, and
the gradient r − r² no further transcendental function. Pairs are processed in tiles that stay in
the processor's last-level cache and are recomputed in the backward pass, unless one tile is all
there is, which is kept: memory is O(n·d + n²), never O(n²·d).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .tiles import Tile, sum_over_queries, tiles

# Up to here, e^{2q} and e^{2k} are normal float32 numbers. Where their product is infinite, r is 0.
EXP_LIMIT = 40.0
# grad · r · (1 − r) in one pass over memory.
_times_slope = torch.ops.aten.sigmoid_backward.grad_input


def tiled_scores(
    queries: Tensor, keys: Tensor, weight: Tensor, lengths: Sequence[int] | None = None
) -> Tensor:
    """Score every pair of positions: f(i, j) = wᵀ tanh(q_i + k_j). See `Ops.additive_scores`.

    queries (Tensor): Projected inputs, including the bias. Shape: (batch_size, n, d).
    keys (Tensor): Projected inputs. Shape: (batch_size, m, d).
    weight (Tensor): The vector w. Shape: (d,).
    lengths (Optional[Sequence[int]]): How many positions of each row are real, if queries and keys
        belong to the same padded sequences. Pairs with padding are then skipped: their scores are
        finite and have zero gradients, but are meaningless.
    RETURNS (Tensor): The scores, in the type of the queries; in mixed precision, in float32. Shape:
        (batch_size, n, m).
    """
    dtype = queries.dtype
    if queries.element_size() < 4:  # exponentials and sums of many numbers need more
        queries, keys, weight = queries.float(), keys.float(), weight.float()
    is_trained = torch.is_grad_enabled() and any(
        tensor.requires_grad for tensor in (queries, keys, weight)
    )
    is_mixed = torch.is_autocast_enabled(queries.device.type)
    with torch.autocast(queries.device.type, enabled=False):
        scores: Tensor = _TiledScores.apply(queries, keys, weight, lengths, is_trained)
    return scores if is_mixed else scores.to(dtype)


class _Reciprocals:
    """r = 1 / (1 + e^{2(q + k)}) of pairs, so that tanh(q + k) = 1 − 2r.

    left (Tensor): e^{2q}, or q. Shape: (batch_size, n, d).
    right (Tensor): e^{2k}, or k. Shape: (batch_size, m, d).
    is_separable (bool): Whether they are exponentials.
    """

    def __init__(self, left: Tensor, right: Tensor, is_separable: bool) -> None:
        self.left = left.unsqueeze(2)
        self.right = right.unsqueeze(1)
        self.one = left.new_ones(()) if is_separable else None

    def of(self, tile: Tile, memory: Tensor, weight: Tensor | None = None) -> Tensor:
        """Compute r (rows, queries, keys, d), or r times the weights (d,) in the same number of
        passes."""
        shape = *tile.shape, self.left.shape[3]
        r = memory[: prod(shape)].view(shape)
        left, right = self.left[tile.rows, tile.queries], self.right[tile.rows, :, tile.keys]
        if self.one is None:
            torch.add(left, right, out=r).mul_(-2.0).sigmoid_()
            if weight is not None:
                r.mul_(weight)
            return r
        torch.addcmul(self.one, left, right, out=r)
        if weight is None:
            r.reciprocal_()
        else:
            torch.div(weight, r, out=r)
        return r


class _TiledScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        keys: Tensor,
        weight: Tensor,
        lengths: Sequence[int] | None,
        is_trained: bool,
    ) -> Tensor:
        left, right, is_separable = queries, keys, are_small(queries) and are_small(keys)
        if is_separable:
            left, right = (2 * left).exp_(), (2 * right).exp_()
        # Only the exponentials are needed again, not their arguments
        ctx.save_for_backward(left, right, weight)
        ctx.is_separable, ctx.tiles, ctx.kept = is_separable, tiles(left, right, lengths), None
        shape = left.shape[0], left.shape[1], right.shape[1]
        ctx.is_whole = len(ctx.tiles) == 1 and ctx.tiles[0].shape == shape
        reciprocals = _Reciprocals(left, right, is_separable)
        memory = _memory(left, ctx.tiles)
        if is_trained and ctx.is_whole:
            ctx.kept = reciprocals.of(ctx.tiles[0], memory)
            return _weighted_sum(ctx.kept, weight)
        scores = queries.new_empty(shape) if ctx.is_whole else queries.new_zeros(shape)
        for tile in ctx.tiles:
            torch.sum(reciprocals.of(tile, memory, weight), dim=3, out=scores[tile])
        return scores.mul_(-2.0).add_(weight.sum())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        left, right, weight = ctx.saved_tensors
        # It may be called again, with retain_graph, but what is kept will be overwritten
        r, ctx.kept = ctx.kept, None
        reciprocals = _Reciprocals(left, right, ctx.is_separable)
        if ctx.is_whole:
            if r is None:
                r = reciprocals.of(ctx.tiles[0], _memory(left, ctx.tiles))
            total, for_weight, for_queries, for_keys = _sums(grad.contiguous(), r)
        else:
            memory = _memory(left, ctx.tiles)
            total, for_weight = grad.new_zeros(()), torch.zeros_like(weight)
            for_queries, for_keys = torch.zeros_like(left), torch.zeros_like(right)
            for tile in ctx.tiles:
                rows, i, j = tile
                r = reciprocals.of(tile, memory)
                sums = _sums(grad[tile].contiguous(), r, for_queries[rows, i])
                total += sums[0]
                for_weight += sums[1]
                for_keys[rows, j].add_(sums[3])
        scale = 4.0 * weight
        for_weight = total - 2.0 * for_weight
        gradients = for_queries.mul_(scale), for_keys.mul_(scale), for_weight
        return *gradients, None, None


def _memory(like: Tensor, tiles: Sequence[Tile]) -> Tensor:
    """RETURNS (Tensor): Memory for the largest of the tiles."""
    return like.new_empty(max((prod(tile.shape) for tile in tiles), default=0) * like.shape[-1])


def _weighted_sum(r: Tensor, weight: Tensor) -> Tensor:
    """Compute scores (rows, queries, keys), 1 − 2r times the weights, from r (rows, queries, keys,
    d)."""
    parts = _parts(r)
    weights = weight.expand(len(parts), 1, -1)
    sums = torch.baddbmm(weight.sum(), weights, parts.transpose(1, 2), alpha=-2.0)
    return sums.view(r.shape[:3])


def _sums(
    grad: Tensor, r: Tensor, for_queries: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute what gradients need of a tile.

    grad (Tensor): The gradient g of the scores. Shape: (rows, queries, keys).
    r (Tensor): Overwritten. Shape: (rows, queries, keys, d).
    RETURNS (Tuple[Tensor, Tensor, Tensor, Tensor]): Σ_ij g_ij; Σ_ij g_ij r_ij for the weights;
        Σ_j g_ij (r − r²)_ij for queries, and the same sum over i for keys. Shapes: (), (d,),
        (rows, queries, d), (rows, keys, d).
    """
    parts = _parts(r)
    with torch.autocast(r.device.type, enabled=False):  # in which backward() may have been called
        for_weight = torch.bmm(grad.view(len(parts), 1, -1), parts)
    _times_slope(grad.unsqueeze(-1), r, grad_input=r)
    for_queries = torch.sum(r, dim=2, out=for_queries)
    return grad.sum(), for_weight.sum(dim=(0, 1)), for_queries, sum_over_queries(r)


def _parts(r: Tensor) -> Tensor:
    """Divide the pairs of a tile for a batched product: by sentence if each thread gets as many,
    else by query. Shape: (parts, pairs, d)."""
    rows, queries, keys, d = r.shape
    if rows % torch.get_num_threads() == 0:
        return r.view(rows, queries * keys, d)
    return r.view(rows * queries, keys, d)


def are_small(x: Tensor) -> bool:
    """Check whether e^{2x} and e^{−2x} are representable."""
    if not x.numel():
        return True
    # If there is a NaN, both extremes are NaN and compare false: it takes the careful path.
    least, most = torch.aminmax(x)
    return least.item() >= -EXP_LIMIT and most.item() <= EXP_LIMIT
