"""Per-sentence counts as arrays, and scores computed from their sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .sentences import ScoredSentence
from .units import Unit

GOLD, PREDICTED, CORRECT, TOKENS, CORRECT_TOKENS, WHOLES, COMPLETE = range(7)
N_COUNTS = 7
"""The number of columns of counts: gold units, predicted units, units in both; tokens with gold
annotation, and those of them whose tag is correct; gold wholes that units are parts of, such as
propositions, and those of them whose units are all correct."""

Grouping = Callable[[ScoredSentence, Unit], str | None]
"""Returns the group of a unit, or None. It must not depend on whether the unit is gold or
predicted."""


def count(sentences: Sequence[ScoredSentence]) -> NDArray[np.int64]:
    """Count the units and tokens of each sentence."""
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
    """Count the units of each sentence by group."""
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
    """Divide, with 0 if the denominator is 0, as in conlleval, and NaN if `possible` is 0."""
    ratio = numerator / np.maximum(denominator, 1)
    return np.where(possible > 0, ratio, np.nan)


def precision(counts: NDArray) -> NDArray[np.float64]:
    """Compute the share of predicted units that are correct."""
    gold, predicted, correct = np.moveaxis(counts[..., :3], -1, 0)
    return _ratio(correct, predicted, gold + predicted)


def recall(counts: NDArray) -> NDArray[np.float64]:
    """Compute the share of gold units that are correctly predicted. See `precision`."""
    gold, predicted, correct = np.moveaxis(counts[..., :3], -1, 0)
    return _ratio(correct, gold, gold + predicted)


def f1(counts: NDArray) -> NDArray[np.float64]:
    """Compute the harmonic mean of precision and recall. See `precision`."""
    gold, predicted, correct = np.moveaxis(counts[..., :3], -1, 0)
    return _ratio(2 * correct, gold + predicted, gold + predicted)


def accuracy(counts: NDArray) -> NDArray[np.float64]:
    """Compute the share of annotated tokens whose tag is correct."""
    tokens, correct = counts[..., TOKENS], counts[..., CORRECT_TOKENS]
    return _ratio(correct, tokens, tokens)


def complete(counts: NDArray) -> NDArray[np.float64]:
    """Compute the share of gold wholes, such as propositions, whose units are all correct."""
    wholes, correct = counts[..., WHOLES], counts[..., COMPLETE]
    return _ratio(correct, wholes, wholes)


SCORES: dict[str, Callable[[NDArray], NDArray[np.float64]]] = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "accuracy": accuracy,
    "complete": complete,
}
