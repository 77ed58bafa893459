"""Additive attention scores without the tanh over all pairs.

The compatibility function of Bahdanau et al. (2015), equation 5 of Wei et al. (2021),

    f(i, j) = wᵀ tanh(q_i + k_j),

looks like n²·d hyperbolic tangents. But tanh(x) = 1 − 2 / (1 + e^{2x}), and e^{2(q + k)} is a
product of e^{2q} and e^{2k}; so n·d exponentials suffice, and what remains for each pair is a
multiplication, an addition and a reciprocal r, from which the gradient r − r² follows without
another transcendental function. Pairs are worked off in tiles that stay in the cache, and are
computed anew in the backward pass: memory is O(n·d + n²), never O(n²·d).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# e^{2x} and e^{-2x} are finite and not zero in float32 up to here, so that no product of two of
# them can be infinity times zero.
EXP_LIMIT = 43.0
# Numbers in one tile: about the level-2 cache of a CPU core; a GPU wants fewer, larger steps.
CPU_TILE = 1 << 17
GPU_TILE = 1 << 25


def additive_scores(queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Score every pair of positions: f(i, j) = wᵀ tanh(q_i + k_j).

    queries (Tensor): Projected inputs, the bias included. Shape: (batch_size, n, d).
    keys (Tensor): Projected inputs. Shape: (batch_size, m, d).
    weight (Tensor): The vector w. Shape: (d,).
    RETURNS (Tensor): The scores. Shape: (batch_size, n, m).

    Source: Wei et al. (2021), equation 5.
    """
    return _AdditiveScores.apply(queries, keys, weight)


class _Reciprocals:
    """r = 1 / (1 + e^{2(q + k)}) for tiles of pairs, so that tanh(q + k) = 1 − 2r."""

    def __init__(self, queries: Tensor, keys: Tensor) -> None:
        # NaN compares false: it takes the careful path and comes out as NaN. (The maximum of the
        # two could lose it, and with it whatever large numbers stand beside it.)
        self.separable = _abs_max(queries) <= EXP_LIMIT and _abs_max(keys) <= EXP_LIMIT
        self.left = torch.exp(2 * queries) if self.separable else queries
        self.right = torch.exp(2 * keys) if self.separable else keys

    def tiles(self) -> Iterator[tuple[slice, slice, Tensor]]:
        """Go through all pairs.

        YIELDS (Tuple[slice, slice, Tensor]): Rows of the batch, query positions, and r for them
            and all keys. Shape of r: (rows, positions, m, d); it is valid until the next step.
        """
        batch_size, n, d = self.left.shape
        m = self.right.shape[1]
        budget = CPU_TILE if self.left.device.type == "cpu" else GPU_TILE
        rows = max(1, min(batch_size, budget // max(1, m * d)))
        steps = max(1, min(n, budget // max(1, rows * m * d)))
        buffer = self.left.new_empty(rows * steps * m * d)
        for b in range(0, batch_size, rows):
            right = self.right[b : b + rows].unsqueeze(1)
            for i in range(0, n, steps):
                left = self.left[b : b + rows, i : i + steps].unsqueeze(2)
                shape = (left.shape[0], left.shape[1], m, d)
                r = buffer[: left.shape[0] * left.shape[1] * m * d].view(shape)
                if self.separable:
                    torch.mul(left, right, out=r)
                    r.add_(1.0).reciprocal_()
                else:
                    torch.add(left, right, out=r)
                    r.mul_(-2.0).sigmoid_()
                yield slice(b, b + rows), slice(i, i + steps), r


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, weight)
        scores = queries.new_empty(queries.shape[0], queries.shape[1], keys.shape[1])
        for rows, steps, r in _Reciprocals(queries, keys).tiles():
            scores[rows, steps] = r @ weight
        return scores.mul_(-2.0).add_(weight.sum())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, weight = ctx.saved_tensors
        grad = grad.contiguous()
        # Σ_j g_ij (r − r²)_ij for queries, the same over i for keys, and Σ_ij g_ij r_ij for w.
        for_queries = torch.empty_like(queries)
        for_keys = torch.zeros_like(keys)
        for_weight = torch.zeros_like(weight)
        slope = None
        for rows, steps, r in _Reciprocals(queries, keys).tiles():
            g = grad[rows, steps]
            for_weight += torch.mv(r.view(-1, r.shape[-1]).t(), g.reshape(-1))
            if slope is None:
                slope = torch.empty(r.numel(), dtype=r.dtype, device=r.device)
            s = slope[: r.numel()].view(r.shape)
            torch.addcmul(r, r, r, value=-1.0, out=s)
            s.mul_(g.unsqueeze(-1))
            for_queries[rows, steps] = s.sum(dim=2)
            for_keys[rows] += s.sum(dim=1)
        scale = 4.0 * weight
        return for_queries * scale, for_keys * scale, grad.sum() - 2.0 * for_weight


def _abs_max(x: Tensor) -> float:
    return float(x.abs().max()) if x.numel() else 0.0
