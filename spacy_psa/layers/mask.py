"""The mask of a padded batch, as a type, so that no code adds −10,000 by hand, and layers that read
padded or packed batches."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import torch
from torch import Tensor, nn

from .interfaces import width_of
from .ops import ops_for


class SequenceMask:
    """The lengths of the sequences in a padded batch, and the masks derived from them.

    Vectors have two forms: padded, (batch_size, width, d), and packed, (tokens, d), the real
    positions alone. Layers take both where padding would only cost time.

    lengths (Tensor): Number of real positions in each row. Shape: (batch_size,), integers ≥ 1.
    width (int): Number of positions in each row, including padding.
    """

    def __init__(self, lengths: Tensor, width: int) -> None:
        self.lengths, self.width = lengths, width

    @cached_property
    def is_padded(self) -> bool:
        """Whether any row has padding, or may have it: see `Ops.has_padding`."""
        return ops_for(self.lengths).has_padding(self)

    @cached_property
    def known_lengths(self) -> tuple[int, ...]:
        """The lengths as Python integers. On a GPU, reading them synchronizes."""
        return tuple(self.lengths.tolist())

    @cached_property
    def rows(self) -> Tensor:
        """The indices of the real positions in the flattened batch. Shape: (tokens,), integers."""
        return self.positions.flatten().nonzero().squeeze(1)

    def pack(self, x: Tensor) -> Tensor:
        """Remove padding, unless it has been removed already.

        x (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        RETURNS (Tensor): The vectors of the real positions. Shape: (tokens, d).
        """
        if x.dim() == 2:
            return x
        flat = x.flatten(0, 1)
        return flat.index_select(0, self.rows) if self.is_padded else flat

    def unpack(self, x: Tensor) -> Tensor:
        """Restore padding, as zeros, if it has been removed. The inverse of `pack` except for the
        padding.

        x (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        RETURNS (Tensor): Shape: (batch_size, width, d).
        """
        if x.dim() != 2:
            return x
        n = len(self.lengths) * self.width
        flat = x.new_zeros(n, x.shape[1]).index_copy_(0, self.rows, x) if self.is_padded else x
        return flat.view(len(self.lengths), self.width, x.shape[1])

    def compact(self, x: Tensor) -> Tensor:
        """As `pack`, but only where that saves time: see `Ops.without_padding`.

        x (Tensor): Shape: (batch_size, width, d) or (tokens, d).
        RETURNS (Tensor): Shape: (tokens, d), or that of x.
        """
        return ops_for(x).without_padding(x, self)

    def in_form_of(self, given: Tensor, x: Tensor) -> Tensor:
        """Pack or unpack to match another tensor.

        given (Tensor): The tensor to match. Shape: (batch_size, width, d) or (tokens, d).
        x (Tensor): Shape: (batch_size, width, e) or (tokens, e).
        RETURNS (Tensor): Shape: (batch_size, width, e) if `given` is padded, else (tokens, e).
        """
        return self.pack(x) if given.dim() == 2 else self.unpack(x)

    @cached_property
    def positions(self) -> Tensor:
        """True at real positions. Shape: (batch_size, width)."""
        order = torch.arange(self.width, device=self.lengths.device)
        return order.unsqueeze(0) < self.lengths.unsqueeze(1)

    @cached_property
    def reversal(self) -> Tensor:
        """The index to read each position from, to reverse every row and keep its padding at the
        end. Its own inverse. Shape: (batch_size, width), integers."""
        order = torch.arange(self.width, device=self.lengths.device).unsqueeze(0)
        lengths = self.lengths.unsqueeze(1)
        return torch.where(order < lengths, lengths - 1 - order, order)

    def reversed(self, x: Tensor) -> Tensor:
        """Reverse every row, as `reversal` does.

        x (Tensor): Shape: (batch_size, width, d).
        RETURNS (Tensor): The same shape.
        """
        if not self.is_padded:
            return x.flip(1)
        row = torch.arange(self.lengths.shape[0], device=x.device).unsqueeze(1)
        places = (row * self.width + self.reversal).flatten()
        return x.flatten(0, 1).index_select(0, places).view(x.shape)

    def last(self, x: Tensor) -> Tensor:
        """Read the last position of every row.

        x (Tensor): Shape: (batch_size, width, d).
        RETURNS (Tensor): Shape: (batch_size, d).
        """
        row = torch.arange(self.lengths.shape[0], device=x.device)
        return x.flatten(0, 1).index_select(0, row * self.width + self.lengths - 1)

    def pairs(self, *, include_self: bool = True) -> Tensor:
        """The attention mask.

        include_self (bool): Whether a position may attend to itself.
        RETURNS (Tensor): True if the column is a real position (and, without `include_self`, not
            the row's own). Shape: (batch_size or 1, 1 or width, width), boolean.
        """
        real = self.positions.unsqueeze(1)
        return real if include_self else real & ~torch.eye(self.width, device=real.device).bool()


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


class PackedLayer:
    """A layer that accepts token vectors with or without padding, and a mask. It maps (tokens, d)
    to (tokens, width), and (batch_size, n, d) to (batch_size, n, width)."""


def apply_packed(layer: nn.Module, tokens: Tensor, mask: SequenceMask) -> Tensor:
    """Run a layer on tokens without padding, adding padding if the layer needs it.

    layer (nn.Module): Maps (batch_size, n, d) and a mask to (batch_size, n, width).
    tokens (Tensor): Token vectors. Shape: (tokens, d), or (batch_size, n, d) with padding.
    mask (SequenceMask): The lengths of the sentences.
    RETURNS (Tensor): Shape: (tokens, width), or (batch_size, n, width).
    """
    if isinstance(layer, PackedLayer):
        output: Tensor = layer(tokens, mask)
        return output
    return mask.in_form_of(tokens, layer(mask.unpack(tokens), mask))


class Chain(PackedLayer, nn.Module):
    """Pass a padded batch through encoders in sequence.

    Every encoder maps (batch_size, n, its input width) and a mask to (batch_size, n, `width`).

    input_width (int): Width of the input, and of the output if there are no encoders.
    encoders (Iterable[nn.Module]): The encoders.
    """

    def __init__(self, input_width: int, encoders: Iterable[nn.Module]) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(encoders)
        self.width = width_of(self.encoders[-1]) if len(self.encoders) else input_width

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode tokens.

        x (Tensor): Token vectors. Shape: (batch_size, n, input_width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, width).
        """
        if not len(self.encoders):
            return x
        tokens = mask.compact(x)
        for encoder in self.encoders:
            tokens = apply_packed(encoder, tokens, mask)
        return mask.in_form_of(x, tokens)
