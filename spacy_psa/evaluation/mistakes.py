"""The sentences with the most errors, and the errors in context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .confusion import matched
from .sentences import ScoredSentence
from .units import Unit

CONTEXT = 4  # words on each side


@dataclass(frozen=True)
class Mistake:
    """A unit that was missed, invented or mislabeled.

    before (str): Some words before it.
    text (str): Its words, with an ellipsis between its pieces.
    after (str): Some words after it.
    gold (Optional[str]): Its gold label; None if it is not in the gold standard.
    predicted (Optional[str]): Its predicted label; None if it was not predicted.
    anchor (Optional[str]): The word that it belongs to, e.g. the predicate; None if there is none.
    """

    before: str
    text: str
    after: str
    gold: str | None
    predicted: str | None
    anchor: str | None = None


@dataclass(frozen=True)
class WrongSentence:
    """A sentence with errors.

    doc (int): The number of its document in the data, from 1.
    token (int): The index of its first token in the document, from 0.
    text (str): Its words.
    units (int): The number of its gold units.
    mistakes (List[Mistake]): The errors.
    """

    doc: int
    token: int
    text: str
    units: int
    mistakes: list[Mistake]

    def to_dict(self) -> dict[str, Any]:
        """The sentence, for JSON."""
        return asdict(self)


def worst_sentences(
    sentences: Sequence[ScoredSentence], limit: int, *, context: int = CONTEXT
) -> list[WrongSentence]:
    """Find the sentences with the most errors."""
    found = [(sentence, mistakes_in(sentence, context=context)) for sentence in sentences]
    wrong = sorted((pair for pair in found if pair[1]), key=lambda pair: -len(pair[1]))
    return [
        WrongSentence(
            doc=sentence.doc + 1,
            token=sentence.start,
            text=" ".join(sentence.words),
            units=len(sentence.gold),
            mistakes=mistakes,
        )
        for sentence, mistakes in wrong[:limit]
    ]


def mistakes_in(sentence: ScoredSentence, *, context: int = CONTEXT) -> list[Mistake]:
    """List the errors in a sentence."""
    return [
        Mistake(
            before=" ".join(sentence.between(unit.start - context, unit.start)),
            text=" … ".join(" ".join(sentence.between(*piece)) for piece in unit.pieces),
            after=" ".join(sentence.between(unit.pieces[-1][1], unit.pieces[-1][1] + context)),
            gold=None if gold is None else gold.label,
            predicted=None if predicted is None else predicted.label,
            anchor=None if unit.anchor < 0 else sentence.words[unit.anchor],
        )
        for gold, predicted in matched(sentence.gold, sentence.predicted)
        if gold != predicted
        for unit in [_either(gold, predicted)]
    ]


def _either(one: Unit | None, other: Unit | None) -> Unit:
    unit = one or other
    assert unit is not None  # matched pairs are never empty on both sides
    return unit
