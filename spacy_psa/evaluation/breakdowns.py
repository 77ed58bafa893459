"""Break scores down by a property of the units, such as the label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .conlleval import Counts
from .groups import (
    LENGTHS,
    VOCABULARY_CLASSES,
    ByLength,
    ByVocabulary,
    are_categories,
    by_complexity,
    by_label,
    labels_of,
    natural_order,
)
from .sentences import SCORES, Grouping, ScoredSentence, count_groups
from .significance import Interval, percentile_interval, resampled_sums
from .units import Layer


@dataclass(frozen=True)
class Row:
    """The scores of a group of units.

    name (str): The group.
    counts (Counts): Its gold, predicted and correct units.
    interval (Optional[Tuple[float, float]]): The interval of F1; None if undefined.
    """

    name: str
    counts: Counts
    interval: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Counts and scores, for JSON."""
        n = self.counts
        wrong = {"false_positives": n.predicted - n.correct, "false_negatives": n.gold - n.correct}
        ends = None if self.interval is None else list(self.interval)
        return {"name": self.name, **n.to_dict(), **wrong, "f1_interval": ends}


@dataclass(frozen=True)
class Breakdown:
    """Scores by a property of the units.

    title (str): The property.
    rows (List[Row]): The groups, in order.
    note (str): A note for readers.
    """

    title: str
    rows: list[Row]
    note: str = ""


@dataclass(frozen=True)
class Settings:
    """Evaluation settings.

    lengths (Sequence[int]): The lower bounds of the sentence length buckets, except 1.
    vocabulary (Optional[ByVocabulary]): Distinguishes words seen in training from others.
    vocabulary_note (str): A note on the vocabulary.
    n_resamples (int): The number of bootstrap samples.
    confidence (float): The confidence level of the bootstrap intervals.
    seed (int): The random seed of the bootstrap.
    n_errors (int): How many of the worst sentences to show.
    """

    lengths: Sequence[int] = LENGTHS
    vocabulary: ByVocabulary | None = None
    vocabulary_note: str = ""
    n_resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    n_errors: int = 10


def break_down(
    sentences: Sequence[ScoredSentence],
    group_of: Grouping,
    settings: Settings,
    order: Callable[[list[str]], list[str]] = natural_order,
) -> list[Row]:
    """Score groups of units."""
    names, counts = count_groups(sentences, group_of)
    sums = resampled_sums(counts, settings.n_resamples, settings.seed)
    found = {
        name: Row(
            name,
            read_counts(counts[:, i].sum(0)),
            percentile_interval(SCORES["f1"](sums[:, i]), settings.confidence),
        )
        for i, name in enumerate(names)
    }
    return [found.get(name, Row(name, Counts(), None)) for name in order(names)]


def read_counts(sums: NDArray[np.int64]) -> Counts:
    """The first three columns of the summed counts."""
    gold, predicted, correct = (int(n) for n in sums[:3])
    return Counts(gold, predicted, correct)


def _by_label(sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings) -> Breakdown:
    return Breakdown(f"By {layer.label}", break_down(sentences, by_label, settings))


def _by_length(sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings) -> Breakdown:
    by_length = ByLength(settings.lengths)
    rows = break_down(sentences, by_length, settings, lambda names: by_length.names)
    return Breakdown("By sentence length (tokens)", rows)


def _by_vocabulary(
    sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings
) -> Breakdown | None:
    if settings.vocabulary is None:
        return None
    rows = break_down(
        sentences, settings.vocabulary, settings, lambda names: list(VOCABULARY_CLASSES)
    )
    return Breakdown("By vocabulary", rows, settings.vocabulary_note)


def _by_complexity(
    sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings
) -> Breakdown | None:
    if not are_categories(labels_of(sentences)):
        return None
    return Breakdown(
        "By complexity (basic categories)",
        break_down(sentences, by_complexity, settings),
        "Recall is the accuracy on gold categories of this complexity.",
    )


BREAKDOWNS: dict[str, Callable[[Sequence[ScoredSentence], Layer, Settings], Breakdown | None]] = {
    "label": _by_label,
    "length": _by_length,
    "vocabulary": _by_vocabulary,
    "complexity": _by_complexity,
}
"""Functions that make a breakdown, or return None if it does not apply to the sentences."""


def break_down_all(
    sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings
) -> dict[str, Breakdown]:
    """Make all breakdowns that apply to a layer."""
    found = {name: BREAKDOWNS[name](sentences, layer, settings) for name in layer.groups}
    return {name: breakdown for name, breakdown in found.items() if breakdown is not None}
