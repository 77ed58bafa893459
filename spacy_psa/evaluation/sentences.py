"""Pair the gold standard with predictions, sentence by sentence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..annotation.targets import list_targets
from ..errors import Errors
from .units import Layer, Pairing, Unit

Tags = list[tuple[tuple[str, str, int], ...]]


@dataclass(frozen=True)
class ScoredSentence:
    """A sentence with its gold and predicted units.

    A unit belongs to the sentence of its anchor, or of its first token if it has no anchor. Token
    indices are relative to the sentence.

    doc (int): The index of its document, from 0.
    start (int): The index of its first token in the document.
    words (Tuple[str, ...]): Its words.
    gold (List[Unit]): The gold units.
    predicted (List[Unit]): The predicted units, only where gold annotation is known.
    known (NDArray): Whether each token has gold annotation. *Shape:* (words,).
    right (NDArray): Whether each token has gold annotation and its tag is correct, that is, whether
        units begin, continue or are absent as in the gold standard. *Shape:* (words,).
    anchors (Tuple[int, ...]): The tokens that gold units can belong to, including those without
        units. The units of an anchor are parts of a whole, such as a proposition.
    skipped (int): The number of anchors that are only in the predictions. Their units are excluded.
    """

    doc: int
    start: int
    words: tuple[str, ...]
    gold: list[Unit]
    predicted: list[Unit]
    known: NDArray[np.bool_]
    right: NDArray[np.bool_]
    anchors: tuple[int, ...] = ()
    skipped: int = 0

    @property
    def wrong(self) -> list[Unit]:
        """The units that are only gold or only predicted."""
        return sorted(set(self.gold) ^ set(self.predicted))

    def words_of(self, unit: Unit) -> tuple[str, ...]:
        """Read the words of a unit.

        unit (Unit): The unit.
        RETURNS (Tuple[str, ...]): Those of its words that are within the sentence.
        """
        return tuple(word for piece in unit.pieces for word in self.between(*piece))

    def between(self, start: int, end: int) -> tuple[str, ...]:
        """Read the words of a span.

        start (int): Its first token.
        end (int): The token after its last one.
        RETURNS (Tuple[str, ...]): Those of its words that are within the sentence.
        """
        return self.words[max(0, start) : max(0, end)]

    @property
    def complete(self) -> int:
        """The number of gold wholes whose units are all correct."""
        if not self.anchors:
            return 0
        wrong = {unit.anchor for unit in self.wrong}
        return sum(anchor not in wrong for anchor in self.anchors)

    def wholes(self) -> list[ScoredSentence]:
        """Split a sentence by its wholes.

        RETURNS (List[ScoredSentence]): A copy of the sentence for each of its wholes, with only the
            units of that whole; the sentence itself if units of the layer have no anchors.
        """
        if not self.anchors:
            return [self]
        return [
            replace(
                self,
                gold=[unit for unit in self.gold if unit.anchor == anchor],
                predicted=[unit for unit in self.predicted if unit.anchor == anchor],
                anchors=(anchor,),
            )
            for anchor in self.anchors
        ]


def check_same_words(
    gold: Sequence[Doc], predicted: Sequence[Doc], gold_name: str, predicted_name: str
) -> None:
    """Check that predictions and gold standard have the same documents."""
    paths = {"gold_path": gold_name, "predicted_path": predicted_name}
    if len(gold) != len(predicted):
        raise ValueError(Errors.P124.format(gold=len(gold), predicted=len(predicted), **paths))
    for index, (one, other) in enumerate(zip(gold, predicted, strict=True), 1):
        if [token.text for token in one] != [token.text for token in other]:
            raise ValueError(Errors.P125.format(index=index, **paths))


def check_annotated(docs: Sequence[Doc], layer: Layer, name: str, remedy: str = "") -> None:
    """Check that there is something to score. `remedy` is what to try first."""
    if not any(len(doc) and layer.is_annotated(doc) for doc in docs):
        found = list_targets(docs)
        names = {"n": len(docs), "path": name, "layer": layer.name, "remedy": remedy}
        raise ValueError(Errors.P261.format(**names, found=found))


def pair_sentences(
    gold: Sequence[Doc], predicted: Sequence[Doc], layer: Layer
) -> list[ScoredSentence]:
    """Pair the gold standard with predictions. Documents without gold annotation are skipped.

    gold (Sequence[Doc]): The gold standard. Its sentence boundaries are used, if any; otherwise, a
        document is one sentence.
    predicted (Sequence[Doc]): Documents with the same words and predictions.
    layer (Layer): The layer to compare.
    RETURNS (List[ScoredSentence]): The sentences, without empty ones.
    """
    sentences = []
    for index, (gold_doc, predicted_doc) in enumerate(zip(gold, predicted, strict=True)):
        if len(gold_doc) and layer.is_annotated(gold_doc):
            pairing = layer.pair(gold_doc, predicted_doc, f"Document {index + 1}")
            sentences += _split(index, gold_doc, pairing, layer)
    return sentences


def _split(index: int, doc: Doc, pairing: Pairing, layer: Layer) -> list[ScoredSentence]:
    known = layer.known(doc)
    gold = pairing.gold
    # As in spaCy's scorer, units that overlap tokens without annotation are not scored.
    predicted = [u for u in pairing.predicted if all(known[a:b].all() for a, b in u.pieces)]
    pairs = zip(_tags(gold, len(doc)), _tags(predicted, len(doc)), strict=True)
    right = known & np.array([one == other for one, other in pairs], dtype=bool)
    starts = [0]
    if doc.has_annotation("SENT_START"):
        starts = [sentence.start for sentence in doc.sents]
    words = tuple(token.text for token in doc)
    split_gold, split_predicted = _assign(gold, starts), _assign(predicted, starts)
    ends = [*starts[1:], len(doc)]
    return [
        ScoredSentence(
            doc=index,
            start=start,
            words=words[start:end],
            gold=split_gold[i],
            predicted=split_predicted[i],
            known=known[start:end],
            right=right[start:end],
            anchors=tuple(token - start for token in pairing.anchors if start <= token < end),
            skipped=sum(start <= token < end for token in pairing.skipped),
        )
        for i, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def _tags(units: Sequence[Unit], length: int) -> Tags:
    """The BIO tags of each token; several if units overlap."""
    tags: Tags = [()] * length
    for unit in sorted(units):
        for start, end in unit.pieces:
            for i in range(start, end):
                tags[i] += (("B" if i == unit.start else "I", unit.label, unit.anchor),)
    return tags


def _assign(units: Sequence[Unit], starts: Sequence[int]) -> list[list[Unit]]:
    found: list[list[Unit]] = [[] for _ in starts]
    for unit in units:
        i = bisect_right(starts, unit.first) - 1
        found[i].append(unit.moved(starts[i]))
    return found


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
