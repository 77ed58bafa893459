"""The operations on a GPU, by Triton kernels where they run."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ...inference.engines.triton import kernels_run_on
from ...inference.engines.triton.backend import have_kernels, padded_marginals
from ...layers.mask import SequenceMask
from ...layers.ops import Ops
from ..tiled_scores import tiled_scores


class CUDAOps(Ops):
    """What is faster on a GPU. Nothing looks at the lengths of sentences, which would synchronize
    and prevent CUDA graphs; padding stays, since starting an operation takes longer than computing
    a batch's padding."""

    def additive_scores(
        self, queries: Tensor, keys: Tensor, weight: Tensor, mask: SequenceMask
    ) -> Tensor:
        """See `Ops`."""
        padded = mask.unpack(queries), mask.unpack(keys)
        if kernels_run_on(queries.device):
            scores = fused_scores(*padded, weight, mask.lengths)
            return scores if torch.is_autocast_enabled("cuda") else scores.to(queries.dtype)
        return tiled_scores(*padded, weight)

    def marginals(
        self, emissions: Tensor, mask: SequenceMask, transitions: dict[str, Tensor]
    ) -> Tensor:
        """See `Ops`."""
        if emissions.dim() == 3 and have_kernels(emissions):
            return padded_marginals(emissions, mask.lengths, **transitions)
        return super().marginals(emissions, mask, transitions)


def fused_scores(queries: Tensor, keys: Tensor, weight: Tensor, lengths: Tensor) -> Tensor:
    """Score every pair of positions, f(i, j) = wᵀ tanh(q_i + k_j), storing nothing but the scores:
    (batch_size, n, m), in the type of the queries but at least float32, zero beyond the lengths.
    See `tiled_scores`.

    Source: Wei et al. (2021), equation 5.
    """
    # The kernel assumes that they are contiguous, one for each sentence
    lengths = lengths.contiguous().view(len(queries))
    scores: Tensor = _FusedScores.apply(queries, keys, weight, lengths)
    return scores


class _FusedScores(torch.autograd.Function):
    """The scores; the backward pass recomputes every tanh."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, weight: Tensor, lengths: Tensor) -> Tensor:
        from .score_launchers import additive_scores_of

        ctx.save_for_backward(queries, keys, weight, lengths)
        dtype = torch.promote_types(queries.dtype, torch.float32)
        return additive_scores_of(queries, keys, weight, lengths, dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        from .score_launchers import additive_gradients_of

        queries, keys, weight, lengths = ctx.saved_tensors
        for_queries, for_keys, for_weight = additive_gradients_of(
            queries, keys, weight, lengths, grad
        )
        return (
            for_queries.to(queries.dtype),
            for_keys.to(keys.dtype),
            for_weight.to(weight.dtype),
            None,
        )
