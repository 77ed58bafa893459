"""Which labels are taken for which others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .sentences import ScoredSentence
from .units import Piece, Unit

NOTHING = ""
"""In place of a label: nothing was predicted there (missed), or there is nothing (invented)."""


@dataclass
class Confusion:
    """How often a unit of one label was predicted to be of another.

    counts (Counter[Tuple[str, str]]): How often for each pair of a gold and a predicted label. The
        gold label is empty for what was invented, the predicted one for what was missed.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def labels(self, limit: int | None = None) -> list[str]:
        """List labels, the frequent ones first.

        limit (Optional[int]): How many at most; None for all.
        RETURNS (List[str]): The labels, without `NOTHING`.
        """
        totals: Counter[str] = Counter()
        for pair, n in self.counts.items():
            for label in set(pair) - {NOTHING}:
                totals[label] += n
        ranked = sorted(totals, key=lambda label: (-totals[label], label))
        return ranked[:limit]

    def matrix(self, labels: Sequence[str]) -> list[list[int]]:
        """Lay counts out as a matrix.

        labels (Sequence[str]): The labels of rows (gold) and columns (predicted).
        RETURNS (List[List[int]]): The counts. *Shape:* (labels, labels).
        """
        return [[self.counts[gold, predicted] for predicted in labels] for gold in labels]

    def worst(self, limit: int | None = None) -> list[tuple[str, str, int]]:
        """List the most frequent mistakes.

        limit (Optional[int]): How many at most; None for all.
        RETURNS (List[Tuple[str, str, int]]): Gold label, predicted label and count.
        """
        wrong = [(*pair, n) for pair, n in self.counts.items() if pair[0] != pair[1]]
        return sorted(wrong, key=lambda mistake: (-mistake[2], mistake))[:limit]

    def to_dict(self) -> list[dict[str, Any]]:
        """RETURNS (List[Dict[str, Any]]): The counts, ready for JSON."""
        return [
            {"gold": gold or None, "predicted": predicted or None, "count": n}
            for (gold, predicted), n in sorted(self.counts.items())
        ]


def confusion(sentences: Sequence[ScoredSentence]) -> Confusion:
    """Count confusions. Only units with the same boundaries are taken for each other.

    sentences (Sequence[ScoredSentence]): The sentences.
    RETURNS (Confusion): The counts.
    """
    result = Confusion()
    for sentence in sentences:
        for gold, predicted in matched(sentence.gold, sentence.predicted):
            result.counts[gold.label if gold else NOTHING, _label(predicted)] += 1
    return result


def matched(
    gold: Sequence[Unit], predicted: Sequence[Unit]
) -> list[tuple[Unit | None, Unit | None]]:
    """Pair units of the same boundaries, those with the same label first.

    gold (Sequence[Unit]): The gold standard of a sentence.
    predicted (Sequence[Unit]): Its predictions.
    RETURNS (List[Tuple[Optional[Unit], Optional[Unit]]]): All units in order of their tokens; None
        stands where the other side has nothing. Those of an anchor stand together.
    """
    same = set(gold) & set(predicted)
    pairs: list[tuple[Unit | None, Unit | None]] = [(unit, unit) for unit in same]
    left: dict[tuple[int, tuple[Piece, ...]], list[Unit]] = {}
    for unit in sorted(set(predicted) - same, reverse=True):
        left.setdefault((unit.anchor, unit.pieces), []).append(unit)
    for unit in sorted(set(gold) - same):
        others = left.get((unit.anchor, unit.pieces))
        pairs.append((unit, others.pop() if others else None))
    pairs += [(None, unit) for units in left.values() for unit in units]
    return sorted(pairs, key=_place)


def _place(pair: tuple[Unit | None, Unit | None]) -> tuple[int, Unit, bool]:
    gold, predicted = pair
    unit = gold or predicted
    assert unit is not None  # matched pairs are never empty on both sides
    return unit.anchor, unit, gold is None


def _label(unit: Unit | None) -> str:
    return NOTHING if unit is None else unit.label
