"""Counts of each sentence as arrays, and the scores of their sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .sentences import ScoredSentence
from .units import Unit

GOLD, PREDICTED, CORRECT, TOKENS, CORRECT_TOKENS, WHOLES, COMPLETE = range(7)
N_COUNTS = 7
"""Columns of counts: units in the gold standard, units predicted, units in both; tokens that the
gold standard annotates, and those of them whose tag is right; wholes of the gold standard that
units are parts of, such as propositions, and those of them whose units are all right."""

Grouping = Callable[[ScoredSentence, Unit], str | None]
"""The group of a unit, None for no group. It must not depend on which side the unit is from."""


def count(sentences: Sequence[ScoredSentence]) -> NDArray[np.int64]:
    """Count the units and tokens of each sentence.

    sentences (Sequence[ScoredSentence]): The sentences.
    RETURNS (NDArray): *Shape:* (sentences, 7), see `N_COUNTS`.
    """
    counts = np.zeros((len(sentences), N_COUNTS), dtype=np.int64)
    for row, sentence in zip(counts, sentences, strict=True):
        gold, predicted = set(sentence.gold), set(sentence.predicted)
        row[:] = (
            len(gold),
            len(predicted),
            len(gold & predicted),
            sentence.known.sum(),
            sentence.right.sum(),
            len(sentence.anchors),
            sentence.complete,
        )
    return counts


def count_groups(
    sentences: Sequence[ScoredSentence], group_of: Grouping
) -> tuple[list[str], NDArray[np.int64]]:
    """Count the units of each sentence, group by group.

    sentences (Sequence[ScoredSentence]): The sentences.
    group_of (Grouping): The group of a unit.
    RETURNS (Tuple[List[str], NDArray]): The groups in alphabetical order, and the units of each in
        the gold standard, predicted, and in both. *Shape:* (sentences, groups, 3).
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for i, sentence in enumerate(sentences):
        gold, predicted = set(sentence.gold), set(sentence.predicted)
        for unit in gold | predicted:
            group = group_of(sentence, unit)
            if group is None:
                continue
            places = found.setdefault(group, [])
            places += [(i, GOLD)] * (unit in gold) + [(i, PREDICTED)] * (unit in predicted)
            places += [(i, CORRECT)] * (unit in gold and unit in predicted)
    names = sorted(found)
    counts = np.zeros((len(sentences), len(names), 3), dtype=np.int64)
    for j, name in enumerate(names):
        rows, columns = np.array(found[name]).T
        np.add.at(counts[:, j], (rows, columns), 1)
    return names, counts


def _ratio(numerator: NDArray, denominator: NDArray, possible: NDArray) -> NDArray[np.float64]:
    """0 where there is nothing to divide by, as in conlleval; NaN where nothing is possible."""
    ratio = numerator / np.maximum(denominator, 1)
    return np.where(possible > 0, ratio, np.nan)


def precision(counts: NDArray) -> NDArray[np.float64]:
    """Correct units among those predicted.

    counts (NDArray): *Shape:* (..., 3 or more), see `N_COUNTS`.
    RETURNS (NDArray): *Shape:* (...), NaN where there are no units at all.
    """
    gold, predicted, correct = np.moveaxis(counts[..., :3], -1, 0)
    return _ratio(correct, predicted, gold + predicted)


def recall(counts: NDArray) -> NDArray[np.float64]:
    """Correct units among those of the gold standard. See `precision`."""
    gold, predicted, correct = np.moveaxis(counts[..., :3], -1, 0)
    return _ratio(correct, gold, gold + predicted)


def f1(counts: NDArray) -> NDArray[np.float64]:
    """The harmonic mean of precision and recall. See `precision`."""
    gold, predicted, correct = np.moveaxis(counts[..., :3], -1, 0)
    return _ratio(2 * correct, gold + predicted, gold + predicted)


def accuracy(counts: NDArray) -> NDArray[np.float64]:
    """Tokens whose tag is right among those that are annotated.

    counts (NDArray): *Shape:* (..., 7), see `N_COUNTS`.
    RETURNS (NDArray): *Shape:* (...), NaN where there are none.
    """
    tokens, correct = counts[..., TOKENS], counts[..., CORRECT_TOKENS]
    return _ratio(correct, tokens, tokens)


def complete(counts: NDArray) -> NDArray[np.float64]:
    """Wholes, such as propositions, whose units are all right among those of the gold standard.

    counts (NDArray): *Shape:* (..., 7), see `N_COUNTS`.
    RETURNS (NDArray): *Shape:* (...), NaN where there are none.
    """
    wholes, correct = counts[..., WHOLES], counts[..., COMPLETE]
    return _ratio(correct, wholes, wholes)


SCORES: dict[str, Callable[[NDArray], NDArray[np.float64]]] = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "accuracy": accuracy,
    "complete": complete,
}
