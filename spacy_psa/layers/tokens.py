"""Run stacks of layers on tokens without padding."""

from __future__ import annotations

from torch import Tensor, nn

from .mask import SequenceMask


class Tokenwise:
    """A layer that accepts token vectors with or without padding, and a mask. It maps (tokens, d)
    to (tokens, width), and (batch_size, n, d) to (batch_size, n, width)."""


def apply_tokenwise(layer: nn.Module, tokens: Tensor, mask: SequenceMask) -> Tensor:
    """Run a layer on tokens without padding, adding padding if the layer needs it.

    layer (nn.Module): Maps (batch_size, n, d) and a mask to (batch_size, n, width).
    tokens (Tensor): Token vectors. Shape: (tokens, d), or (batch_size, n, d) with padding.
    mask (SequenceMask): The lengths of the sentences.
    RETURNS (Tensor): Shape: (tokens, width), or (batch_size, n, width).
    """
    if isinstance(layer, Tokenwise):
        output: Tensor = layer(tokens, mask)
        return output
    return mask.in_form_of(tokens, layer(mask.padded(tokens), mask))
