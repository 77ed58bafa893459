"""Additive attention scores without a tanh for each pair.

The compatibility function of Bahdanau et al. (2015), equation 5 of Wei et al. (2021),

    f(i, j) = wᵀ tanh(q_i + k_j),

seems to require n²·d hyperbolic tangents. But tanh(x) = 1 − 2r, with

    r = 1 / (1 + e^{2(q + k)}) = 1 / (1 + e^{2q} e^{2k}),

so n·d exponentials suffice. Each pair then takes a multiplication, an addition and a division, and
the gradient r − r² no further transcendental function. (On a GPU that Triton supports, this cost
does not matter: `fused_additive` runs everything as one kernel.) Pairs are processed in tiles that
stay in the processor's last-level cache and are recomputed in the backward pass, unless one tile is
all there is, which is kept: memory is O(n·d + n²), never O(n²·d).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .autocast import without_autocast
from .fused_additive import can_be_fused, fused_additive_scores
from .mask import SequenceMask
from .tiles import Buffer, Tile, sum_over_queries, tiles

# Up to here, e^{2q} and e^{2k} are normal float32 numbers. Where their product is infinite, r is 0.
EXP_LIMIT = 40.0
# grad · r · (1 − r) in one pass over memory.
_times_slope = torch.ops.aten.sigmoid_backward.grad_input


def additive_scores(
    queries: Tensor,
    keys: Tensor,
    weight: Tensor,
    lengths: Sequence[int] | Tensor | None = None,
    *,
    overwrite: bool = False,
) -> Tensor:
    """Score every pair of positions: f(i, j) = wᵀ tanh(q_i + k_j).

    queries (Tensor): Projected inputs, including the bias. Shape: (batch_size, n, d).
    keys (Tensor): Projected inputs. Shape: (batch_size, m, d).
    weight (Tensor): The vector w. Shape: (d,).
    lengths (Optional[Union[Sequence[int], Tensor]]): How many positions of each row are real, if
        queries and keys belong to the same padded sequences. Pairs with padding are then skipped:
        their scores are finite and have zero gradients, but are meaningless. A tensor on the same
        GPU is read only there, without synchronization; it has no effect if PyTorch computes the
        scores.
    overwrite (bool): Whether queries and keys may be overwritten if there is no gradient:
        allocating memory takes longer than computing the exponentials. The two must not share
        memory.
    RETURNS (Tensor): The scores, in the type of the queries; in mixed precision, in float32. Shape:
        (batch_size, n, m).

    Source: Wei et al. (2021), equation 5.
    """
    overwrite = overwrite and not torch.is_grad_enabled()
    if can_be_fused(queries.device):
        scores = fused_additive_scores(queries, keys, weight, lengths)
    else:
        known = None if isinstance(lengths, Tensor) else lengths
        scores = scores_in_tiles(queries, keys, weight, known, overwrite=overwrite)
    if torch.is_autocast_enabled(queries.device.type):
        return scores
    return scores.to(queries.dtype)


def token_scores(
    queries: Tensor,
    keys: Tensor,
    weight: Tensor,
    mask: SequenceMask,
    *,
    overwrite: bool = False,
    has_small: bool | None = None,
) -> Tensor:
    """Compute `additive_scores` of tokens, with or without padding.

    queries (Tensor): Projected tokens, including the bias. Shape: (tokens, d), or
        (batch_size, n, d) with padding.
    keys (Tensor): Projected tokens. The same shape.
    weight (Tensor): The vector w. Shape: (d,).
    mask (SequenceMask): The lengths of the sentences.
    overwrite (bool): See `additive_scores`.
    has_small (Optional[bool]): Whether queries and keys are small: see `are_small`, which is called
        if this is not known.
    RETURNS (Tensor): See `additive_scores`. Those with padding are finite and have no meaning.
        Shape: (batch_size, n, n).
    """
    if queries.dim() == 3 or mask.known_lengths is None or can_be_fused(queries.device):
        padded = mask.padded(queries), mask.padded(keys)
        return additive_scores(*padded, weight, mask.lengths, overwrite=overwrite)
    scores = scores_in_tiles(
        queries,
        keys,
        weight,
        mask.known_lengths,
        overwrite=overwrite and not torch.is_grad_enabled(),
        mask=mask,
        has_small=has_small,
    )
    return scores if torch.is_autocast_enabled(queries.device.type) else scores.to(queries.dtype)


def scores_in_tiles(
    queries: Tensor,
    keys: Tensor,
    weight: Tensor,
    lengths: Sequence[int] | None = None,
    *,
    overwrite: bool = False,
    mask: SequenceMask | None = None,
    has_small: bool | None = None,
) -> Tensor:
    """Compute `additive_scores`, or `token_scores` if there is a mask, with PyTorch on any device.

    queries, keys, weight, lengths, overwrite: See `additive_scores`.
    mask, has_small: See `token_scores`.
    RETURNS (Tensor): The scores, in float32 if queries have less precision: exponentials and sums
        of many numbers need it. Shape: (batch_size, n, m).
    """
    if queries.element_size() < 4:
        queries, keys, weight = queries.float(), keys.float(), weight.float()
    has_gradient = torch.is_grad_enabled() and any(
        tensor.requires_grad for tensor in (queries, keys, weight)
    )
    with without_autocast(queries.device):
        scores: Tensor = _AdditiveScores.apply(
            queries, keys, weight, lengths, overwrite, has_gradient, mask, has_small
        )
    return scores


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

    def write(self, tile: Tile, r: Tensor, weight: Tensor | None = None) -> None:
        """Compute r, or r times the weights in the same number of passes.

        tile (Tile): The pairs.
        r (Tensor): Where to write the result. Shape: (rows, queries, keys, d).
        weight (Optional[Tensor]): The weights. Shape: (d,).
        """
        left, right = self.left[tile.rows, tile.queries], self.right[tile.rows, :, tile.keys]
        if self.one is None:
            torch.add(left, right, out=r).mul_(-2.0).sigmoid_()
            if weight is not None:
                r.mul_(weight)
            return
        torch.addcmul(self.one, left, right, out=r)
        if weight is None:
            r.reciprocal_()
        else:
            torch.div(weight, r, out=r)


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        keys: Tensor,
        weight: Tensor,
        lengths: Sequence[int] | None,
        overwrite: bool,
        has_gradient: bool,
        mask: SequenceMask | None,
        has_small: bool | None,
    ) -> Tensor:
        left, right, is_separable = queries, keys, has_small
        if is_separable is None:
            is_separable = are_small(queries) and are_small(keys)
        if is_separable:
            left, right = (left.mul_(2), right.mul_(2)) if overwrite else (2 * left, 2 * right)
            left.exp_()
            right.exp_()
        if mask is not None:
            left, right = mask.spread(left), mask.spread(right)
        # Only the exponentials are needed again, not their arguments
        ctx.save_for_backward(left, right, weight)
        ctx.is_separable, ctx.tiles, ctx.buffer = is_separable, tiles(left, right, lengths), None
        ctx.mask, shape = mask, (left.shape[0], left.shape[1], right.shape[1])
        ctx.is_whole = len(ctx.tiles) == 1 and ctx.tiles[0].shape == shape
        reciprocals, buffer = _Reciprocals(left, right, is_separable), Buffer(left, ctx.tiles)
        if has_gradient and ctx.is_whole and left.device.type == "cpu":
            ctx.buffer, r = buffer, buffer.view(ctx.tiles[0], left.shape[2])
            reciprocals.write(ctx.tiles[0], r)
            return _weighted_sum(r, weight)
        scores = queries.new_empty(shape) if ctx.is_whole else queries.new_zeros(shape)
        for tile in ctx.tiles:
            r = buffer.view(tile, left.shape[2])
            reciprocals.write(tile, r, weight)
            torch.sum(r, dim=3, out=scores[tile])
        buffer.give_back()
        return scores.mul_(-2.0).add_(weight.sum())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        left, right, weight = ctx.saved_tensors
        # It may be called again, with retain_graph, but what is kept will be overwritten
        kept, ctx.buffer = ctx.buffer, None
        buffer = Buffer(left, ctx.tiles) if kept is None else kept
        if ctx.is_whole:
            r = buffer.view(ctx.tiles[0], left.shape[2])
            if kept is None:
                _Reciprocals(left, right, ctx.is_separable).write(ctx.tiles[0], r)
            total, for_weight, for_queries, for_keys = _sums(grad.contiguous(), r)
        else:
            reciprocals = _Reciprocals(left, right, ctx.is_separable)
            total, for_weight = grad.new_zeros(()), torch.zeros_like(weight)
            for_queries, for_keys = torch.zeros_like(left), torch.zeros_like(right)
            for tile in ctx.tiles:
                rows, i, j = tile
                r = buffer.view(tile, left.shape[2])
                reciprocals.write(tile, r)
                sums = _sums(grad[tile].contiguous(), r, for_queries[rows, i])
                total += sums[0]
                for_weight += sums[1]
                for_keys[rows, j].add_(sums[3])
        buffer.give_back()
        if ctx.mask is not None:  # There are no gradients at padding
            for_queries, for_keys = ctx.mask.pack(for_queries), ctx.mask.pack(for_keys)
        scale = 4.0 * weight
        for_weight = total - 2.0 * for_weight
        gradients = for_queries.mul_(scale), for_keys.mul_(scale), for_weight
        return *gradients, None, None, None, None, None


def _weighted_sum(r: Tensor, weight: Tensor) -> Tensor:
    """Compute scores.

    r (Tensor): Shape: (rows, queries, keys, d).
    weight (Tensor): Shape: (d,).
    RETURNS (Tensor): 1 − 2r times the weights. Shape: (rows, queries, keys).
    """
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
    for_queries (Optional[Tensor]): Where to write the sum for queries.
    RETURNS (Tuple[Tensor, Tensor, Tensor, Tensor]): Σ_ij g_ij; Σ_ij g_ij r_ij for the weights;
        Σ_j g_ij (r − r²)_ij for queries, and the same sum over i for keys. Shapes: (), (d,),
        (rows, queries, d), (rows, keys, d).
    """
    parts = _parts(r)
    with without_autocast(r.device):  # in which backward() may have been called
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
    """Check whether e^{2x} and e^{−2x} are representable.

    x (Tensor): Any shape.
    RETURNS (bool): Whether they are for all elements.
    """
    if not x.numel():
        return True
    # If there is a NaN, both extremes are NaN and compare false: it takes the careful path.
    least, most = torch.aminmax(x)
    return least.item() >= -EXP_LIMIT and most.item() <= EXP_LIMIT
