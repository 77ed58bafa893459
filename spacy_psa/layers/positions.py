"""Absolute position encodings, added to token vectors: sinusoidal or learned."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .initialization import uniform_embedding_
from .mask import SequenceMask


def sinusoids(n: int, width: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Compute the timing signal: sin(t / 10000^{2i/d}) for feature 2i, the cosine for 2i + 1. In
    half precision, only the result is rounded. Shape: (n, width).
    """
    precise = torch.promote_types(dtype, torch.float32)
    even = torch.arange(0, width, 2, device=device, dtype=precise)
    rates = torch.exp(even * (-math.log(10000.0) / width))
    angles = torch.arange(n, device=device, dtype=precise).unsqueeze(1) * rates
    signal = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
    return signal[:, :width].to(dtype)


class SinusoidalPositions(nn.Module):
    """Add the timing signal to token vectors. It has no parameters and no maximum length.

    width (int): Width of the token vectors, input and output.

    Where the paper is silent or we differ:

    - Positions t count from 0; if the width is odd, the last feature is a sine.

    Source: Vaswani et al. (2017), section 3.5; Tan et al. (2018), equations 11 and 12.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Add the positions to token vectors.

        x (Tensor): Token vectors. Shape: (batch_size, n, width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, width).
        """
        return x + sinusoids(x.shape[1], self.width, x.device, x.dtype)


class PositionEmbedding(nn.Module):
    """Add a learned position embedding to each token vector.

    The default table is long enough for the windows of 512 tokens that
    `spacy_psa.SequenceLabeler.v1` cuts by default.

    Where the papers are silent or we differ:

    - Positions beyond the table share its last row: a trained pipeline can label longer sentences,
      though less well.
    - They start uniform, with variance 1 / d. Tan et al. draw 'other parameters' from a normal
      distribution of this variance.

    width (int): Width of the token vectors, input and output.
    max_length (int): Number of positions with embeddings of their own.

    Source: Tan et al. (2018), 'Position Encoding' and table 3.
    """

    def __init__(self, width: int, *, max_length: int = 512) -> None:
        super().__init__()
        self.width = width
        self.weight = nn.Parameter(uniform_embedding_(torch.empty(max_length, width)))

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Add the positions to token vectors.

        x (Tensor): Token vectors. Shape: (batch_size, n, width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, width).
        """
        rows = torch.arange(x.shape[1], device=x.device).clamp_(max=self.weight.shape[0] - 1)
        return x + nn.functional.embedding(rows, self.weight)
