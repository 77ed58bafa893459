"""Confusion matrices: which labels are predicted as which others."""

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

    def matrix(self, labels: Sequence[str]) -> list[list[int]]:
        """Arrange counts as a confusion matrix."""
        return [[self.counts[gold, predicted] for predicted in labels] for gold in labels]

    def worst(self, limit: int | None = None) -> list[tuple[str, str, int]]:
        """List the most frequent errors."""
        wrong = [(*pair, n) for pair, n in self.counts.items() if pair[0] != pair[1]]
        return sorted(wrong, key=lambda mistake: (-mistake[2], mistake))[:limit]

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
        for gold, predicted in matched(sentence.gold, sentence.predicted):
            result.counts[gold.label if gold else NOTHING, _label(predicted)] += 1
    return result


def matched(
    gold: Sequence[Unit], predicted: Sequence[Unit]
) -> list[tuple[Unit | None, Unit | None]]:
    """Pair units with the same boundaries, those with the same label first."""
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
