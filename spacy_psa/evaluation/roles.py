"""Semantic roles as a layer: arguments of predicates, counted as in the CoNLL-2005 evaluator."""

from __future__ import annotations

from collections.abc import Iterable

from spacy.tokens import Doc

from ..annotation.propositions import get_frames, give_predicates, has_frames
from ..pipeline.role_scores import EXCLUDED, Argument, arguments_of, pair_propositions
from .units import Layer, Pairing, Unit


class RolesLayer(Layer):
    """The arguments of predicates, with all their pieces, except V.

    The rules are those of `pipeline.role_scores`. The arguments of a predicate form a proposition.
    As in `psa srl-eval`, a component is given the gold sentence boundaries and the gold predicates,
    which it uses if it is configured for given predicates.
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
