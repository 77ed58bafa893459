"""The types of the blocks that are combined in a config."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spacy.tokens import Doc
from spacy.vectors import Vectors
from thinc.api import Model
from thinc.types import Floats2d
from torch import Tensor, nn

from ..errors import Errors, check_value
from ..inference import Potentials
from ..layers.interfaces import CharacterPart, Decoder, width_of
from ..layers.mask import Chain

Tok2Vec = Model[list[Doc], list[Floats2d]]
"""A layer that embeds tokens, from spaCy or this package."""

SequenceLabeler = Model[list[Doc], Potentials]
"""The model of a sequence labeling component."""

RoleLabeler = Model[tuple[list[Doc], list[list[int]]], Potentials]
"""The model of a semantic role labeling component: from Docs, and the indices of the predicates of
each, to one chain per predicate."""

EncoderBuilder = Callable[[int, int], nn.Module]
"""(input width, number of labels) → encoder, which has a `width` and maps (batch_size, n, input
width) and a `SequenceMask` to (batch_size, n, width). Encoders are built once the widths are known,
at initialization or when a model is loaded."""

DecoderBuilder = Callable[[nn.Module, int], Decoder]
"""(encoder, number of labels) → decoder, which maps (batch_size, n, encoder's width) and a
`SequenceMask` to emissions (batch_size, n, labels), or to a dict of emissions and other token
scores named as in `Potentials`. It has `transition_scores()`, and optionally `label_vectors()`,
(labels, width), for plotting its labels. It receives the encoder so that the two can share
parameters, e.g. label embeddings."""

PartBuilder = Callable[[int], nn.Module]
"""(width) → a part inside an encoder, such as a positional bias or a gate."""

CharacterBuilder = Callable[[int], CharacterPart]
"""(number of characters) → character encoder, which has a `width` and an `embedding`, and maps
character IDs (words, longest word) and word lengths (words,) to (words, width)."""

CharacterInitializer = Callable[[Tensor, Sequence[str], Vectors], None]
"""(embeddings (characters, width), the characters, the pipeline's vectors): modifies the embeddings
in place, before training."""


def build_layer(
    layer: Callable[..., Any], input_width: int, n_labels: int, **settings: Any
) -> nn.Module:
    """Build a layer that does not depend on the labels.

    `functools.partial(build_layer, layer, **settings)` is an `EncoderBuilder` that can be pickled.

    layer (Callable[..., nn.Module]): The layer's class.
    input_width (int): Width of its input.
    n_labels (int): Number of labels; not used.
    **settings: The layer's other arguments.
    RETURNS (nn.Module): The layer.
    """
    return layer(input_width, **settings)


def build_on_encoder(
    layer: Callable[..., Any], encoder: nn.Module, n_labels: int, **settings: Any
) -> Decoder:
    """Build a decoder that depends only on the encoder's width.

    `functools.partial(build_on_encoder, layer, **settings)` is a `DecoderBuilder` that can be
    pickled.

    Without an encoder, all of its weights begin at zero, as in spaCy's own components: random
    ones would at first send large gradients into a pretrained transformer below.

    layer (Callable[..., nn.Module]): The decoder's class.
    encoder (nn.Module): The encoder below it.
    n_labels (int): Number of labels.
    **settings: The decoder's other arguments.
    RETURNS (Decoder): The decoder.
    """
    decoder = layer(width_of(encoder), n_labels, **settings)
    if isinstance(encoder, Chain) and not len(encoder.encoders):
        for weight in decoder.parameters():
            nn.init.zeros_(weight)
    built: Decoder = decoder
    return built


def check_dropout(**rates: float) -> None:
    """Check that dropout rates in a config are in [0, 1)."""
    for name, rate in rates.items():
        check_value(name, rate, lambda n: 0.0 <= n < 1.0, "at least 0 and less than 1")


def check_blocks(tok2vec: Any, encoder: Any, decoder: Any) -> None:
    """Check that the blocks of a config are of the right kind: an embedding is a layer of thinc,
    the others build PyTorch's, which types do not tell, since layers of thinc are callable, too."""
    for setting, block in (("tok2vec", tok2vec), ("encoder", encoder), ("decoder", decoder)):
        if isinstance(block, Model) != (setting == "tok2vec") and block is not None:
            found = f"a layer of thinc, '{block.name}'" if isinstance(block, Model) else "none"
            raise ValueError(Errors.P224.format(setting=setting, found=found))


def check_windows(max_length: int, overlap: int) -> None:
    """Check the sizes of windows in a config, and that the overlap is smaller than the window."""
    check_value("max_length", max_length, lambda n: True, "a number")
    check_value("overlap", overlap, lambda n: True, "a number")
    if not 0 <= overlap < max_length:
        raise ValueError(Errors.P208.format(overlap=overlap, max_length=max_length))
