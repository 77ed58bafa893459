"""The operations on a GPU, by Triton kernels where they run."""

from __future__ import annotations

import torch
from torch import Tensor

from ...inference.engines.triton import kernels_run_on
from ...inference.engines.triton.backend import have_kernels, padded_marginals
from ...layers.mask import SequenceMask
from ...layers.ops import Ops
from ..tiled_scores import tiled_scores
from .fused_scores import fused_scores


class CUDAOps(Ops):
    """What is faster on a GPU. Nothing looks at the lengths of sentences, which would synchronize
    and prevent CUDA graphs; padding stays, since starting an operation takes longer than computing
    a batch's padding."""

    def additive_scores(
        self, queries: Tensor, keys: Tensor, weight: Tensor, mask: SequenceMask
    ) -> Tensor:
        """See `Ops`."""
        padded = mask.padded(queries), mask.padded(keys)
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
