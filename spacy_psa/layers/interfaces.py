"""What a layer must provide to be part of another, in addition to PyTorch's interface.

No layer inherits from these protocols: any `nn.Module` with the attributes will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, cast

from torch import Tensor, nn

if TYPE_CHECKING:
    from .mask import SequenceMask


class Gate(Protocol):
    """Mixes tokens with their contexts."""

    def __call__(self, x: Tensor, context: Tensor) -> Tensor: ...

    def gate(self, x: Tensor, context: Tensor) -> Tensor:
        """The share of the token itself in the mixture, in (0, 1). Shape: (..., d or 1)."""
        ...


class CharacterPart(Protocol):
    """Represents words by their characters."""

    width: int
    training: bool
    embedding: nn.Embedding

    def __call__(self, characters: Tensor, lengths: Tensor) -> Tensor: ...

    def modules(self) -> Iterator[nn.Module]: ...


class Decoder(Protocol):
    """Scores labels."""

    def __call__(self, x: Tensor, mask: SequenceMask) -> Tensor | dict[str, Tensor]: ...

    def transition_scores(self) -> dict[str, Tensor]:
        """The potentials that do not depend on the tokens, named as in `Potentials`."""
        ...


def width_of(layer: nn.Module) -> int:
    """Read the width of a layer's output: in PyTorch's type annotations, any attribute of a module
    may be a tensor or another module."""
    return cast(int, layer.width)
