"""The annotation layers of a `Doc` that can be evaluated, each read as a set of labeled units."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ENT_IOB
from spacy.language import Language
from spacy.tokens import Doc

from ..annotation.propositions import get_frames, give_predicates, has_frames
from ..annotation.role_scores import EXCLUDED, Argument, arguments_of, pair_propositions
from ..annotation.targets import TOKEN_TARGETS, make_target
from ..annotation.tokens import TokenTarget
from ..errors import check_choice
from .units import Layer, Pairing, Unit


class RolesLayer(Layer):
    """The arguments of predicates, with all their pieces, except V.

    The rules are those of `annotation.role_scores`. The arguments of a predicate form a
    proposition. As in `psa srl-eval`, a component is given the gold sentence boundaries and the
    gold predicates, which it uses if it is configured for given predicates.
    """

    name = "roles"
    unit = "arguments"
    label = "role"
    whole = "propositions"
    main_score = "f1"
    scores = ("precision", "recall", "f1", "complete")
    groups = ("label", "length")
    is_given = True

    def is_annotated(self, doc: Doc) -> bool:
        return has_frames(doc)

    def units(self, doc: Doc) -> list[Unit]:
        frames = get_frames(doc)
        found = (_units(frame.predicate, arguments_of(frame, "The Doc")) for frame in frames)
        return sorted({unit for units in found for unit in units})

    def pair(self, gold: Doc, predicted: Doc, where: str) -> Pairing:
        pairs, skipped = pair_propositions(get_frames(gold), get_frames(predicted), where)
        return Pairing(
            gold=sorted({unit for token, one, _ in pairs for unit in _units(token, one)}),
            predicted=sorted({unit for token, _, other in pairs for unit in _units(token, other)}),
            anchors=tuple(token for token, _, _ in pairs),
            skipped=tuple(skipped),
        )

    def give(self, doc: Doc, gold: Doc) -> None:
        if gold.has_annotation("SENT_START"):
            for token, gold_token in zip(doc, gold, strict=True):
                token.is_sent_start = bool(gold_token.is_sent_start)
        give_predicates(doc, get_frames(gold))


def _units(token: int, arguments: Iterable[Argument]) -> list[Unit]:
    return [
        Unit(*argument.pieces[0], argument.role, token, argument.pieces[1:])
        for argument in arguments
        if argument.role not in EXCLUDED
    ]


class TokenLayer(Layer):
    """A token attribute: each token that has it is a unit.

    target (TokenTarget): Reads the attribute.
    """

    unit = "tokens"
    main_score = "accuracy"

    def __init__(self, target: TokenTarget) -> None:
        self.target = target
        self.name = target.name

    def is_annotated(self, doc: Doc) -> bool:
        return doc.has_annotation(self.target.field)

    def units(self, doc: Doc) -> list[Unit]:
        labels = [self.target.read(token) for token in doc]
        return [Unit(i, i + 1, label) for i, label in enumerate(labels) if label]

    def known(self, doc: Doc) -> NDArray[np.bool_]:
        return np.array([bool(self.target.read(token)) for token in doc], dtype=bool)


class EntsLayer(Layer):
    """Named entities."""

    name = "ents"
    unit = "entities"
    main_score = "f1"

    def is_annotated(self, doc: Doc) -> bool:
        return doc.has_annotation("ENT_IOB")

    def units(self, doc: Doc) -> list[Unit]:
        return [Unit(ent.start, ent.end, ent.label_) for ent in doc.ents]

    def known(self, doc: Doc) -> NDArray[np.bool_]:
        return doc.to_array(ENT_IOB) != 0


class SpansLayer(Layer):
    """A span group, such as chunks. Duplicate spans are one unit.

    spans_key (str): Its key in `doc.spans`.
    """

    unit = "spans"
    main_score = "f1"

    def __init__(self, spans_key: str) -> None:
        self.spans_key = spans_key
        self.name = f"spans['{spans_key}']"

    def is_annotated(self, doc: Doc) -> bool:
        return self.spans_key in doc.spans

    def units(self, doc: Doc) -> list[Unit]:
        found = {Unit(span.start, span.end, span.label_) for span in doc.spans[self.spans_key]}
        return sorted(found)


def _token_layer(target: str, spans_key: str) -> Layer:
    return TokenLayer(TOKEN_TARGETS[target](spans_key))


LAYERS: dict[str, Callable[[str], Layer]] = {
    **{name: partial(_token_layer, name) for name in TOKEN_TARGETS},
    "ents": lambda spans_key: EntsLayer(),
    "spans": SpansLayer,
    "roles": lambda spans_key: RolesLayer(),
}
"""The layers by target name; each is created with a key in `doc.spans`, which only spans use."""


def make_layer(target: str, spans_key: str, set_separator: str | None = None) -> Layer:
    """Make a layer.

    target (str): A name in `LAYERS`: a target of `psa_tagger`, or "roles".
    spans_key (str): The key in `doc.spans`, for the target "spans".
    set_separator (Optional[str]): The separator in label sets in the gold standard, any label of
        which is correct, e.g. "|" in "NN|JJ"; None if there are no label sets.
    RETURNS (Layer): The layer.
    RAISES (ValueError): If there is no layer with that name.
    """
    check_choice("target", target, LAYERS)
    layer = LAYERS[target](spans_key)
    if set_separator is not None:
        layer.sets = make_target(target, spans_key=spans_key, set_separator=set_separator)
    return layer


LAYERS_OF_FACTORIES: dict[str, Callable[[Any], Layer]] = {
    "psa_tagger": lambda pipe: make_layer(
        pipe.cfg["target"], pipe.cfg["spans_key"], pipe.cfg["set_separator"]
    ),
    "psa_srl": lambda pipe: RolesLayer(),
}
"""The layer that a component predicts, by the name of its factory."""


def layers_of(nlp: Language) -> dict[str, Layer]:
    """Get the layers that the components of this package predict in a pipeline.

    nlp (Language): The pipeline.
    RETURNS (Dict[str, Layer]): The layer of each component, by name, in pipeline order.
    """
    factories = {name: nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}
    return {
        name: LAYERS_OF_FACTORIES[factory](nlp.get_pipe(name))
        for name, factory in factories.items()
        if factory in LAYERS_OF_FACTORIES
    }
