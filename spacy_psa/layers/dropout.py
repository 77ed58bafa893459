"""Dropout with a shared mask."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SharedDropout(nn.Dropout):
    """Dropout with the same mask at all positions along an axis (Gal and Ghahramani 2016, sections
    4.1 and 4.2).

    Along the tokens of a sentence, this is the variational dropout of recurrent networks: a feature
    is kept or dropped for all tokens. Along the features of words, it drops whole words.
    """

    def __init__(self, p: float, *, axis: int) -> None:
        super().__init__(p)
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        """Set values to zero at random, in training."""
        if not self.training or not self.p:
            return x
        return x * super().forward(torch.ones_like(x.narrow(self.axis, 0, 1)))
