"""Stacks of layers that go from token to token, and leave padding out in between."""

from __future__ import annotations

from torch import Tensor, nn

from .mask import SequenceMask


class TakesTokens:
    """A layer that maps token vectors and a mask to as many of them, with or without padding:
    (tokens, d) to (tokens, width), and (batch_size, n, d) to (batch_size, n, width)."""


def on_tokens(layer: nn.Module, tokens: Tensor, mask: SequenceMask) -> Tensor:
    """Run a layer on tokens without padding, whether it knows how to or not.

    layer (nn.Module): Maps (batch_size, n, d) and a mask to (batch_size, n, width).
    tokens (Tensor): The real positions. Shape: (tokens, d).
    mask (SequenceMask): The lengths of the sentences.
    RETURNS (Tensor): Shape: (tokens, width).
    """
    if isinstance(layer, TakesTokens):
        output: Tensor = layer(tokens, mask)
        return output
    return mask.pack(layer(mask.unpack(tokens), mask))
