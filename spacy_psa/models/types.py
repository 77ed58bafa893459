"""The signatures of the blocks that a config puts together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spacy.tokens import Doc
from spacy.vectors import Vectors
from thinc.api import Model
from thinc.types import Floats2d
from torch import Tensor, nn

from ..errors import Errors
from ..inference import Potentials
from ..layers.interfaces import CharacterPart, Decoder, width_of

Tok2Vec = Model[list[Doc], list[Floats2d]]
"""Any of spaCy's sublayers that embed tokens, or one of ours."""

SequenceLabeler = Model[list[Doc], Potentials]
"""The model of a component."""

RoleLabeler = Model[tuple[list[Doc], list[list[int]]], Potentials]
"""The model of a component for semantic roles: from Docs, and the indices of the predicates of
each, to one chain for each predicate."""

EncoderBuilder = Callable[[int, int], nn.Module]
"""(input width, number of labels) → encoder, which has a `width` and maps (batch_size, n, input
width) and a `SequenceMask` to (batch_size, n, width). Encoders are built when the widths are known,
at initialization or when a model is loaded."""

DecoderBuilder = Callable[[nn.Module, int], Decoder]
"""(encoder, number of labels) → decoder, which maps (batch_size, n, encoder's width) and a
`SequenceMask` to emissions (batch_size, n, labels), or to a dict of these and other scores of
tokens by the names of `Potentials`, and has `transition_scores()`; and `label_vectors()`, (labels,
width), if its labels are to be drawn. It is given the encoder, so that the two can share
parameters, e.g. the embeddings of the labels."""

PartBuilder = Callable[[int], nn.Module]
"""(width) → a part inside an encoder, such as a positional bias or a gate."""

CharacterBuilder = Callable[[int], CharacterPart]
"""(number of characters) → the part of a word's representation that its characters make. It has a
`width` and an `embedding`, and maps (words, longest word) and (words,) to (words, width)."""

CharacterInitializer = Callable[[Tensor, Sequence[str], Vectors], None]
"""(embeddings (characters, width), the characters, the pipeline's vectors): changes embeddings in
place, before training."""

LARGEST = 1 << 63


def plain(layer: Callable[..., Any], input_width: int, n_labels: int, **settings: Any) -> nn.Module:
    """Build a layer that does not depend on the labels.

    `functools.partial(plain, layer, **settings)` is an `EncoderBuilder` that can be pickled.

    layer (Callable[..., nn.Module]): The layer's class.
    input_width (int): Width of its input.
    n_labels (int): Number of labels; not used.
    **settings: The layer's other arguments.
    RETURNS (nn.Module): The layer.
    """
    return layer(input_width, **settings)


def on_top(layer: Callable[..., Any], encoder: nn.Module, n_labels: int) -> Decoder:
    """Build a decoder that needs to know nothing of the encoder but its width.

    `functools.partial(on_top, layer)` is a `DecoderBuilder` that can be pickled.

    layer (Callable[..., nn.Module]): The decoder's class.
    encoder (nn.Module): The encoder below it.
    n_labels (int): Number of labels.
    RETURNS (Decoder): The decoder.
    """
    return layer(width_of(encoder), n_labels)


def check_value(name: str, value: float, holds: bool, expected: str) -> None:
    """Check a value of a config.

    name (str): What it is called there.
    value (float): The value.
    holds (bool): Whether it is in its range.
    expected (str): The range, in words.
    RAISES (ValueError): If it is not, or if it is larger than what a file can hold.
    """
    if abs(value) >= LARGEST:
        holds, expected = False, "less than 2^63"
    if not holds:
        raise ValueError(Errors.P210.format(name=name, value=value, expected=expected))


def check_dropout(name: str, value: float) -> None:
    """Check a dropout rate of a config.

    name (str): What it is called there.
    value (float): The rate.
    RAISES (ValueError): If it is not in [0, 1).
    """
    check_value(name, value, 0.0 <= value < 1.0, "at least 0 and less than 1")
