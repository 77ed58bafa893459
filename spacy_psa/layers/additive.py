"""Additive attention scores without a tanh for each pair.

The compatibility function of Bahdanau et al. (2015), equation 5 of Wei et al. (2021),

    f(i, j) = wᵀ tanh(q_i + k_j),

seems to require n²·d hyperbolic tangents. But tanh(x) = 1 − 2 / (1 + e^{2x}), and

    r = 1 / (1 + e^{2(q + k)}) = e^{−2q} / (e^{−2q} + e^{2k});

so n·d exponentials suffice. Each pair then takes an addition and a division, and the gradient
r − r² no further transcendental function. (On a GPU that Triton supports, this cost does not
matter: `fused_additive` runs everything as one kernel.) Pairs are processed in tiles that stay in
the processor's last-level cache and are recomputed in the backward pass: memory is O(n·d + n²),
never O(n²·d).

Reading what another CPU core has written is up to ten times as slow as reading what a core has
written itself. All operations on a tile are therefore split among threads in the same way, along
its first dimensions: elementwise functions, sums and batched products of small matrices, but no
single matrix-vector product, for which PyTorch uses one thread. Since a sum over queries can only
be split by sentence and key, sentences are processed in pairs, or a single one in parts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .fused_additive import can_be_fused, fused_additive_scores

# Up to here, e^{−2q}, e^{2k} and their sum are normal float32 numbers, and so are their products
# with all but small weights.
EXP_LIMIT = 40.0
# Elements in one tile. On a CPU, five megabytes of float32: a smaller tile stays closer to the
# core, but calls and waking up threads then cost more. A GPU needs fewer, larger steps.
CPU_TILE = 5 << 18
GPU_TILE = 1 << 25
PAIR = 2  # sentences; more would mean more padding, since they are cut to the longest of them
ALIGNED = 16  # elements: 64 bytes of float32, a cache line
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


def scores_in_tiles(
    queries: Tensor,
    keys: Tensor,
    weight: Tensor,
    lengths: Sequence[int] | None = None,
    *,
    overwrite: bool = False,
) -> Tensor:
    """Compute `additive_scores` with PyTorch on any device.

    queries, keys, weight, lengths, overwrite: See `additive_scores`.
    RETURNS (Tensor): The scores, in float32 if queries have less precision: exponentials and sums
        of many numbers need it. Shape: (batch_size, n, m).
    """
    if queries.element_size() >= 4:
        return _AdditiveScores.apply(queries, keys, weight, lengths, overwrite)
    with torch.autocast(queries.device.type, enabled=False):
        return _AdditiveScores.apply(
            queries.float(), keys.float(), weight.float(), lengths, overwrite
        )


class _Reciprocals:
    """r = 1 / (1 + e^{2(q + k)}) for tiles of pairs, so that tanh(q + k) = 1 − 2r."""

    def __init__(
        self, left: Tensor, right: Tensor, separable: bool, lengths: Sequence[int] | None
    ) -> None:
        self.left = left
        self.right = right
        self.separable = separable
        self.lengths = lengths if left.device.type == "cpu" else None

    @classmethod
    def of(
        cls, queries: Tensor, keys: Tensor, lengths: Sequence[int] | None, overwrite: bool
    ) -> _Reciprocals:
        """Use e^{−2q} and e^{2k}, or q and k themselves if the exponentials could be too large."""
        if not (are_small(queries) and are_small(keys)):
            return cls(queries, keys, False, lengths)
        if overwrite:
            return cls(queries.mul_(-2).exp_(), keys.mul_(2).exp_(), True, lengths)
        return cls((-2 * queries).exp_(), (2 * keys).exp_(), True, lengths)

    def tiles(self, weight: Tensor | None = None) -> Iterator[tuple[slice, slice, slice, Tensor]]:
        """Iterate over all pairs.

        weight (Optional[Tensor]): Factors of r, between −1 and 1. Shape: (d,).
        YIELDS (Tuple[slice, slice, slice, Tensor]): Rows of the batch, positions of queries and
            keys, and their r. Shape of r: (rows, queries, keys, d); it is valid until the next
            step, and may be overwritten.
        """
        d = self.left.shape[2]
        numerators = self.left
        if weight is not None and self.separable:
            numerators, weight = self.left * weight, None
        budget = CPU_TILE if self.left.device.type == "cpu" else GPU_TILE
        for rows, n, m in self._blocks(budget):
            size = rows.stop - rows.start
            keys = slice(0, m)
            left, right = self.left[rows, :n].unsqueeze(2), self.right[rows, keys].unsqueeze(1)
            numerator = left if numerators is self.left else numerators[rows, :n].unsqueeze(2)
            steps = _evenly(n, budget // max(1, size * m * d))
            more = -steps % torch.get_num_threads()
            if 0 < more < steps and self.left.device.type == "cpu":  # the same for each thread
                steps = min(n, steps + more)
            buffer = _scratch(self.left, size * steps * m * d)
            for i in range(0, n, steps):
                n_queries = min(steps, n - i)
                r = _middle(buffer, size * n_queries * m * d).view(size, n_queries, m, d)
                torch.add(left.narrow(1, i, n_queries), right, out=r)
                if self.separable:
                    torch.div(numerator.narrow(1, i, n_queries), r, out=r)
                else:
                    r.mul_(-2.0).sigmoid_()
                if weight is not None:
                    r.mul_(weight)
                yield rows, slice(i, i + n_queries), keys, r

    def _blocks(self, budget: int) -> Iterator[tuple[slice, int, int]]:
        """Rows of the batch that fit into a tile, and the numbers of queries and keys to read."""
        batch_size, n, d = self.left.shape
        m = self.right.shape[1]
        step = self._rows_at_a_time(budget)
        if self.lengths is None:
            size = step * _evenly(-(-batch_size // step), budget // max(1, step * n * m * d))
            for row in range(0, batch_size, size):
                yield slice(row, min(row + size, batch_size)), n, m
            return
        first = longest = 0
        for row in range(0, batch_size, step):
            length = max(self.lengths[row : row + step])
            longer = max(longest, length)
            stop = min(row + step, batch_size)
            if row > first and (stop - first) * longer * longer * d > budget:
                yield slice(first, row), longest, longest
                first, longer = row, length
            longest = longer
        yield slice(first, batch_size), longest, longest

    def _rows_at_a_time(self, budget: int) -> int:
        """Two, for an even number of threads, if one query of each fits into a tile."""
        batch_size, _, d = self.left.shape
        is_even = self.left.device.type == "cpu" and torch.get_num_threads() % PAIR == 0
        return (
            PAIR if is_even and batch_size > 1 and PAIR * self.right.shape[1] * d <= budget else 1
        )


def _sum_over_queries(r: Tensor) -> Tensor:
    """Sum first what one thread has written, then over the threads.

    r (Tensor): Shape: (rows, queries, keys, d).
    RETURNS (Tensor): Shape: (rows, keys, d).
    """
    size, n, m, d = r.shape
    n_threads = torch.get_num_threads() if r.device.type == "cpu" else 1
    n_parts = n_threads // gcd(n_threads, size)
    rest = n % n_parts
    if n_parts == 1 or n < n_parts or (rest and size > 1):
        return r.sum(dim=1)
    parts = r.narrow(1, 0, n - rest).view(size * n_parts, n // n_parts, m, d).sum(dim=1)
    sums = parts.view(size, n_parts, m, d).sum(dim=1)
    return sums.add_(r.narrow(1, n - rest, rest).sum(dim=1)) if rest else sums


def _evenly(n: int, most: int) -> int:
    """How many of n to take at a time, at least one and at most `most`, in even portions."""
    times = -(-n // max(1, most))
    return -(-n // max(1, times)) or 1


_buffers = threading.local()


def _scratch(like: Tensor, size: int) -> Tensor:
    """A buffer for a tile. On a CPU, each thread keeps its own, of the same size for all tiles but
    the largest: allocating memory would cost more than the work done in it. A row of a very long
    sentence is a tile of its own, too large to keep.
    """
    # A tensor of inference mode cannot be written to outside of it, and a tensor subclass that
    # wraps another (a tracer's, say) has no memory to keep.
    passing = type(like) is not Tensor or torch.is_inference_mode_enabled()
    if passing or like.device.type != "cpu" or size > 2 * CPU_TILE:
        return like.new_empty(size)
    kept = getattr(_buffers, "by_type", None)
    if kept is None:
        kept = _buffers.by_type = {}
    if like.dtype not in kept or kept[like.dtype].numel() < size:
        kept[like.dtype] = like.new_empty(max(size, CPU_TILE))
    return kept[like.dtype]


def _middle(buffer: Tensor, size: int) -> Tensor:
    """The middle `size` elements of a buffer. Two threads that split a tile in half then meet at
    the same element whatever the tile's size: neither writes where the other did before."""
    return buffer.narrow(0, (buffer.numel() - size) // (2 * ALIGNED) * ALIGNED, size)


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        keys: Tensor,
        weight: Tensor,
        lengths: Sequence[int] | None,
        overwrite: bool,
    ) -> Tensor:
        reciprocals = _Reciprocals.of(queries, keys, lengths, overwrite)
        # Only the exponentials are needed again, not their arguments
        ctx.save_for_backward(reciprocals.left, reciprocals.right, weight)
        ctx.separable, ctx.lengths = reciprocals.separable, lengths
        shape = queries.shape[0], queries.shape[1], keys.shape[1]
        # Where no pair is skipped, all of it is written below
        scores = (queries.new_empty if lengths is None else queries.new_zeros)(shape)
        # Dividing the weights by the largest keeps their products with exponentials finite
        largest = weight.abs().amax().item() if weight.numel() else 1.0
        largest = max(largest, torch.finfo(weight.dtype).tiny)
        for rows, i, j, r in reciprocals.tiles(weight / largest):
            torch.sum(r, dim=3, out=scores[rows, i, j])
        return scores.mul_(-2.0 * largest).add_(weight.sum())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        left, right, weight = ctx.saved_tensors
        # Σ_j g_ij (r − r²)_ij for queries, the same sum over i for keys, Σ_ij g_ij r_ij for w.
        for_queries = (torch.empty_like if ctx.lengths is None else torch.zeros_like)(left)
        for_keys = torch.zeros_like(right)
        for_weight = torch.zeros_like(weight)
        total = grad.new_zeros(())
        for rows, i, j, r in _Reciprocals(left, right, ctx.separable, ctx.lengths).tiles():
            g = grad[rows, i, j].contiguous()
            total += g.sum()
            by_query = torch.bmm(g.flatten(0, 1).unsqueeze(1), r.flatten(0, 1))
            for_weight += by_query.sum(dim=(0, 1))
            _times_slope(g.unsqueeze(-1), r, grad_input=r)
            torch.sum(r, dim=2, out=for_queries[rows, i])
            for_keys[rows, j].add_(_sum_over_queries(r))
        scale = 4.0 * weight
        for_weight = total - 2.0 * for_weight
        return for_queries.mul_(scale), for_keys.mul_(scale), for_weight, None, None


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
