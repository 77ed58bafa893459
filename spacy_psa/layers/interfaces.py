"""What a layer has to offer to be a part of another one, beside what PyTorch asks of it.

Nobody inherits from these: any `nn.Module` that has the attributes will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, cast

from torch import Tensor, nn

from .mask import SequenceMask


class Gate(Protocol):
    """Mixes tokens with their contexts."""

    def __call__(self, x: Tensor, context: Tensor) -> Tensor: ...

    def gate(self, x: Tensor, context: Tensor) -> Tensor:
        """How much comes from the token itself, in (0, 1). Shape: (..., d or 1)."""
        ...


class CharacterPart(Protocol):
    """Makes a word's part from its characters."""

    width: int
    embedding: nn.Embedding

    def __call__(self, characters: Tensor, lengths: Tensor) -> Tensor: ...

    def modules(self) -> Iterator[nn.Module]: ...


class Decoder(Protocol):
    """Scores labels."""

    def __call__(self, x: Tensor, mask: SequenceMask) -> Tensor | dict[str, Tensor]: ...

    def transition_scores(self) -> dict[str, Tensor]:
        """The potentials that do not depend on the tokens, by the names of `Potentials`."""
        ...


class _Wide(Protocol):
    width: int


def width_of(layer: nn.Module) -> int:
    """Read the width of what a layer makes. To PyTorch's types, any attribute of a module may be a
    tensor or another module.

    layer (nn.Module): The layer.
    RETURNS (int): Its `width`.
    RAISES (AttributeError): If it has none.
    """
    return cast(_Wide, layer).width
