"""Which positions of a padded batch are real: a type, so that nobody adds −10,000 by hand."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .rows import JoinedRows, gather, join, scatter


class Steps(NamedTuple):
    """The real positions of a padded batch in the order in which a recurrent layer reads them: the
    first of each sequence, then the second of those that have one, the longest sequence first.

    sizes (List[int]): How many sequences have each step. They do not grow.
    places (Tensor): Where the positions are in the flattened batch, for who reads forwards and for
        who reads backwards. Shape: (2, tokens), integers.
    last (Tensor): Where the last one of each sequence is in this order. Shape: (batch_size,),
        integers.
    """

    sizes: list[int]
    places: Tensor
    last: Tensor


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
    def known_lengths(self) -> list[int] | None:
        """The lengths as numbers; None on a GPU, which would have to be waited for."""
        return self.lengths.tolist() if self.lengths.device.type == "cpu" else None

    @cached_property
    def rows(self) -> Tensor:
        """The places of the real positions in the flattened batch. Shape: (tokens,), integers."""
        return self.positions.flatten().nonzero().squeeze(1)

    def pack(self, x: Tensor) -> Tensor:
        """Leave padding out, for layers that treat each position by itself.

        x (Tensor): Shape: (batch_size, width, d).
        RETURNS (Tensor): The vectors of the real positions. Shape: (tokens, d).
        """
        flat = x.flatten(0, 1)
        return gather(flat, self.rows) if self.is_padded else flat

    def unpack(self, x: Tensor) -> Tensor:
        """Put real positions back among zeros. The inverse of `pack`, but for the padding.

        x (Tensor): Shape: (tokens, d).
        RETURNS (Tensor): Shape: (batch_size, width, d).
        """
        n = len(self.lengths) * self.width
        flat = scatter(x, self.rows, n) if self.is_padded else x
        return flat.view(len(self.lengths), self.width, x.shape[1])

    def packed(self, x: Tensor) -> Tensor:
        """Leave padding out, if that has not been done.

        x (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        RETURNS (Tensor): Shape: (tokens, d).
        """
        return x if x.dim() == 2 else self.pack(x)

    def padded(self, x: Tensor) -> Tensor:
        """Put real positions back among zeros, if they are not there.

        x (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        RETURNS (Tensor): Shape: (batch_size, width, d).
        """
        return self.unpack(x) if x.dim() == 2 else x

    def in_form_of(self, given: Tensor, x: Tensor) -> Tensor:
        """Leave padding out where it was left out of what was given, and put it back elsewhere.

        given (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        x (Tensor): Shape: (batch_size, width, e) or (tokens, e).
        RETURNS (Tensor): Shape: (batch_size, width, e) if the former has such a shape, else
            (tokens, e).
        """
        return self.packed(x) if given.dim() == 2 else self.padded(x)

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

    def turn_steps(self, x: Tensor) -> Tensor:
        """Turn every row around and leave its padding behind it, as `reversal` does. Its own
        inverse.

        x (Tensor): One step of all rows after the other. Shape: (width, batch_size, d).
        RETURNS (Tensor): Of the same shape.
        """
        if not self.is_padded:
            return x.flip(0)
        return gather(x.flatten(0, 1), self._turned_steps).view(x.shape)

    @cached_property
    def _turned_steps(self) -> Tensor:
        row = torch.arange(len(self.lengths), device=self.lengths.device)
        return (self.reversal.t() * len(self.lengths) + row).flatten()

    @cached_property
    def steps(self) -> Steps:
        """The real positions, one step of all rows after the other; on a CPU."""
        # By NumPy, whose calls take a fraction of the time of PyTorch's on a few words
        lengths = self.lengths.numpy()
        longest_first = np.argsort(-lengths, kind="stable")
        n_steps = lengths[longest_first[0]] if len(lengths) else 0
        sizes = len(lengths) - np.bincount(lengths, minlength=n_steps + 1)[:n_steps].cumsum()
        before = sizes.cumsum() - sizes
        step = np.arange(n_steps).repeat(sizes)
        row = longest_first[np.arange(len(step)) - before[step]]
        begin = row * self.width
        places = np.stack([begin + step, begin + lengths[row] - 1 - step])
        last = np.empty_like(longest_first)
        last[longest_first] = np.arange(len(lengths))
        last += before[lengths - 1]
        return Steps(sizes.tolist(), torch.from_numpy(places), torch.from_numpy(last))

    @cached_property
    def joined(self) -> JoinedRows | None:
        """The sequences, one behind the other; None if that takes no fewer rows, or on a GPU."""
        if self.known_lengths is None or not self.is_padded:
            return None
        rows = join(self.known_lengths)
        return rows if rows.n_rows < len(self.known_lengths) else None

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
