"""A sequence of encoders."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from .interfaces import width_of
from .mask import PackedLayer, SequenceMask, apply_packed


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
