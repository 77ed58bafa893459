"""The mask of a padded batch, as a type, so that no code adds −10,000 by hand."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .rows import JoinedRows, gather, join, scatter, spread


class Steps(NamedTuple):
    """The real positions of a padded batch in the order in which a recurrent layer reads them: the
    first of each sequence, then the second of those that have one, etc., longest sequence first.

    sizes (List[int]): The number of sequences at each step, never increasing.
    places (Tensor): The indices of the positions in the flattened batch, for the forward and the
        backward direction. Shape: (2, tokens), integers.
    last (Tensor): The index of each sequence's last position in this order. Shape: (batch_size,),
        integers.
    """

    sizes: list[int]
    places: Tensor
    last: Tensor


class SequenceMask:
    """The lengths of the sequences in a padded batch, and the masks derived from them.

    lengths (Tensor): Number of real positions in each row. Shape: (batch_size,), integers ≥ 1.
    width (int): Number of positions in each row, including padding.
    """

    def __init__(self, lengths: Tensor, width: int) -> None:
        self.lengths = lengths
        self.width = width

    @cached_property
    def is_padded(self) -> bool:
        """Whether any row has padding, or may have it: on a GPU, a look would synchronize."""
        if self.known_lengths is None:
            return True
        return min(self.known_lengths, default=self.width) < self.width

    @cached_property
    def known_lengths(self) -> list[int] | None:
        """The lengths as Python integers; None on a GPU, since reading them would synchronize."""
        return self.lengths.tolist() if self.lengths.device.type == "cpu" else None

    @cached_property
    def rows(self) -> Tensor:
        """The indices of the real positions in the flattened batch. Shape: (tokens,), integers."""
        return self.positions.flatten().nonzero().squeeze(1)

    @cached_property
    def nearest(self) -> Tensor:
        """The index of a token for each position, in the order of `rows`; at padding, that of its
        sequence's last one. Shape: (batch_size * width,), integers."""
        order = torch.arange(self.width, device=self.lengths.device)
        lengths = self.lengths.unsqueeze(1)
        return (lengths.cumsum(0) - lengths + torch.minimum(order, lengths - 1)).flatten()

    def pack(self, x: Tensor) -> Tensor:
        """Remove padding, for layers that treat positions independently.

        x (Tensor): Shape: (batch_size, width, d).
        RETURNS (Tensor): The vectors of the real positions. Shape: (tokens, d).
        """
        flat = x.flatten(0, 1)
        return gather(flat, self.rows) if self.is_padded else flat

    def unpack(self, x: Tensor) -> Tensor:
        """Restore padding, as zeros. The inverse of `pack` except for the padding.

        x (Tensor): Shape: (tokens, d).
        RETURNS (Tensor): Shape: (batch_size, width, d).
        """
        n = len(self.lengths) * self.width
        flat = scatter(x, self.rows, n) if self.is_padded else x
        return flat.view(len(self.lengths), self.width, x.shape[1])

    def spread(self, x: Tensor) -> Tensor:
        """Restore padding, as copies of each sequence's last token. This is faster than `unpack`,
        which writes padding twice, where nothing depends on padding: its gradient is ignored.

        x (Tensor): Shape: (tokens, d).
        RETURNS (Tensor): Shape: (batch_size, width, d).
        """
        flat = spread(x, self.nearest, self.rows) if self.is_padded else x
        return flat.view(self.lengths.shape[0], self.width, x.shape[1])

    def compact(self, x: Tensor) -> Tensor:
        """Remove padding where it saves time: on a CPU. A GPU takes longer to start each operation
        than to compute a batch's padding.

        x (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        RETURNS (Tensor): Shape: (tokens, d), or that of x.
        """
        return self.packed(x) if x.device.type == "cpu" else x

    def packed(self, x: Tensor) -> Tensor:
        """Remove padding, unless it has been removed already.

        x (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        RETURNS (Tensor): Shape: (tokens, d).
        """
        return x if x.dim() == 2 else self.pack(x)

    def padded(self, x: Tensor) -> Tensor:
        """Restore padding, as zeros, if it has been removed.

        x (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        RETURNS (Tensor): Shape: (batch_size, width, d).
        """
        return self.unpack(x) if x.dim() == 2 else x

    def in_form_of(self, given: Tensor, x: Tensor) -> Tensor:
        """Remove or restore padding to match another tensor.

        given (Tensor): The tensor to match. Shape: (batch_size, width, d) or (tokens, d).
        x (Tensor): Shape: (batch_size, width, e) or (tokens, e).
        RETURNS (Tensor): Shape: (batch_size, width, e) if `given` is padded, else (tokens, e).
        """
        return self.packed(x) if given.dim() == 2 else self.padded(x)

    @cached_property
    def positions(self) -> Tensor:
        """True at real positions. Shape: (batch_size, width)."""
        order = torch.arange(self.width, device=self.lengths.device)
        return order.unsqueeze(0) < self.lengths.unsqueeze(1)

    @cached_property
    def reversal(self) -> Tensor:
        """The index to read each position from, to reverse every row and keep its padding at the
        end. Its own inverse. Shape: (batch_size, width), integers.
        """
        order = torch.arange(self.width, device=self.lengths.device).unsqueeze(0)
        lengths = self.lengths.unsqueeze(1)
        return torch.where(order < lengths, lengths - 1 - order, order)

    def turn_steps(self, x: Tensor) -> Tensor:
        """Reverse every row of a time-major batch and keep its padding at the end, as `reversal`
        does. Its own inverse.

        x (Tensor): Shape: (width, batch_size, d).
        RETURNS (Tensor): The same shape.
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
        """The real positions, step by step; on a CPU."""
        # For a few words, NumPy calls take a fraction of the time of PyTorch's
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
        """The sequences, joined into rows; None if that does not save rows, or on a GPU."""
        if self.known_lengths is None or not self.is_padded:
            return None
        rows = join(self.known_lengths)
        return rows if rows.n_rows < len(self.known_lengths) else None

    def pairs(self, *, include_self: bool = True) -> Tensor:
        """The attention mask.

        include_self (bool): Whether a position may attend to itself.
        RETURNS (Tensor): True if the column is a real position (and, without `include_self`, not
            the row's own). Shape: (batch_size or 1, 1 or width, width), boolean.
        """
        return self.positions.unsqueeze(1) if include_self else self._other_pairs

    @cached_property
    def _other_pairs(self) -> Tensor:
        others = ~torch.eye(self.width, dtype=torch.bool, device=self.lengths.device)
        return self.positions.unsqueeze(1) & others


def masked_softmax(scores: Tensor, allowed: Tensor) -> Tensor:
    """Compute the softmax over the last dimension, restricted to allowed entries.

    scores (Tensor): Unnormalized scores. Shape: (..., n).
    allowed (Tensor): True for allowed entries; broadcast to the scores. Boolean.
    RETURNS (Tensor): Weights that sum to one. A row without allowed entries has zero weights and
        gradients; a plain softmax over −∞ would give NaN. Shape: (..., n).
    """
    forbidden = ~allowed
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(forbidden, lowest), dim=-1)
    return weights.masked_fill(forbidden, 0.0)
