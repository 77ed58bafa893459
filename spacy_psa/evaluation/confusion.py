"""Errors: which labels are predicted as which others, and the worst sentences in context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .sentences import ScoredSentence
from .units import Piece, Unit

NOTHING = ""
"""Replaces the predicted label of missed units, and the gold label of invented (spurious) units."""


@dataclass
class Confusion:
    """How often units of one label were predicted as another.

    counts (Counter[Tuple[str, str]]): The number of units for each pair of gold and predicted
        labels. The gold label is empty for invented units, the predicted label for missed units.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def labels(self, limit: int | None = None) -> list[str]:
        """List labels, most frequent first."""
        totals: Counter[str] = Counter()
        for pair, n in self.counts.items():
            for label in set(pair) - {NOTHING}:
                totals[label] += n
        ranked = sorted(totals, key=lambda label: (-totals[label], label))
        return ranked[:limit]

    def worst(self, limit: int | None = None) -> list[tuple[str, str, int]]:
        """List the most frequent errors."""
        wrong = [(*pair, n) for pair, n in self.counts.items() if pair[0] != pair[1]]
        return sorted(wrong, key=lambda mistake: (-mistake[2], mistake))[:limit]

    def gold_totals(self) -> Counter[str]:
        """The number of units of each gold label, and of invented ones."""
        totals: Counter[str] = Counter()
        for (gold, _), n in self.counts.items():
            totals[gold] += n
        return totals

    def to_dict(self) -> list[dict[str, Any]]:
        """The counts, for JSON."""
        return [
            {"gold": gold or None, "predicted": predicted or None, "count": n}
            for (gold, predicted), n in sorted(self.counts.items())
        ]


def confusion(sentences: Sequence[ScoredSentence]) -> Confusion:
    """Count confusions. Only units with the same boundaries can be confused."""
    result = Confusion()
    for sentence in sentences:
        for _, gold, predicted in matched(sentence.gold, sentence.predicted):
            result.counts[gold or NOTHING, predicted or NOTHING] += 1
    return result


def matched(
    gold: Sequence[Unit], predicted: Sequence[Unit]
) -> list[tuple[Unit, str | None, str | None]]:
    """Pair units with the same boundaries, those with the same label first: each with its gold and
    its predicted label, None where there is none."""
    same = set(gold) & set(predicted)
    found: list[tuple[Unit, str | None, str | None]]
    found = [(unit, unit.label, unit.label) for unit in same]
    left: dict[tuple[int, tuple[Piece, ...]], list[Unit]] = {}
    for unit in sorted(set(predicted) - same, reverse=True):
        left.setdefault((unit.anchor, unit.pieces), []).append(unit)
    for unit in sorted(set(gold) - same):
        others = left.get((unit.anchor, unit.pieces))
        found.append((unit, unit.label, others.pop().label if others else None))
    found += [(unit, None, unit.label) for units in left.values() for unit in units]
    return sorted(found, key=lambda one: (one[0].anchor, one[0], one[1] is None))


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


def worst_sentences(sentences: Sequence[ScoredSentence], limit: int) -> list[WrongSentence]:
    """Find the sentences with the most errors."""
    found = [(sentence, mistakes_in(sentence)) for sentence in sentences]
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


def mistakes_in(sentence: ScoredSentence) -> list[Mistake]:
    """List the errors in a sentence."""
    return [
        Mistake(
            before=" ".join(sentence.between(unit.start - CONTEXT, unit.start)),
            text=" … ".join(" ".join(sentence.between(*piece)) for piece in unit.pieces),
            after=" ".join(sentence.between(unit.pieces[-1][1], unit.pieces[-1][1] + CONTEXT)),
            gold=gold,
            predicted=predicted,
            anchor=None if unit.anchor < 0 else sentence.words[unit.anchor],
        )
        for unit, gold, predicted in matched(sentence.gold, sentence.predicted)
        if gold != predicted
    ]
