"""Which positions of a padded batch are real: a type, so that nobody adds −10,000 by hand."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor


class SequenceMask:
    """The lengths of the sequences in a padded batch, and the masks that follow from them.

    lengths (Tensor): Number of real positions in each row. Shape: (batch_size,), integers ≥ 1.
    width (int): Number of positions of the batch, padding included.
    """

    def __init__(self, lengths: Tensor, width: int) -> None:
        self.lengths = lengths
        self.width = width

    @cached_property
    def is_padded(self) -> bool:
        """Whether any row is shorter than the batch is wide."""
        return bool((self.lengths < self.width).any())

    @cached_property
    def positions(self) -> Tensor:
        """True at real positions. Shape: (batch_size, width)."""
        order = torch.arange(self.width, device=self.lengths.device)
        return order.unsqueeze(0) < self.lengths.unsqueeze(1)

    @cached_property
    def reversal(self) -> Tensor:
        """Where to read each position from, to turn every row around and leave its padding
        behind it. Its own inverse. Shape: (batch_size, width), integers.
        """
        order = torch.arange(self.width, device=self.lengths.device).unsqueeze(0)
        lengths = self.lengths.unsqueeze(1)
        return torch.where(order < lengths, lengths - 1 - order, order)

    def pairs(self, *, include_self: bool = True) -> Tensor:
        """Which position may look at which.

        include_self (bool): Whether a position may look at itself.
        RETURNS (Tensor): True where the column is a real position (and another than the row).
            Shape: (batch_size or 1, 1 or width, width), boolean.
        """
        allowed = self.positions.unsqueeze(1)
        if include_self:
            return allowed
        return allowed & ~torch.eye(self.width, dtype=torch.bool, device=allowed.device)


def masked_softmax(scores: Tensor, allowed: Tensor) -> Tensor:
    """Softmax over the last dimension, restricted to allowed entries.

    scores (Tensor): Unnormalised scores. Shape: (..., n).
    allowed (Tensor): True where an entry takes part; broadcast to the scores. Boolean.
    RETURNS (Tensor): Weights that sum to one, or, where a row allows nothing at all, zeros (and
        zero gradients), where a plain softmax over −∞ would give NaN. Shape: (..., n).
    """
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(~allowed, lowest), dim=-1)
    return weights.masked_fill(~allowed, 0.0)
