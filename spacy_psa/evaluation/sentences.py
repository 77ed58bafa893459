"""Gold standard and predictions side by side, sentence by sentence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import Errors
from .units import Layer, Pairing, Unit

Tags = list[tuple[tuple[str, str, int], ...]]


@dataclass(frozen=True)
class ScoredSentence:
    """A sentence with its gold standard and the predictions for it.

    Units belong to the sentence of their anchor, or if they have none to that in which they begin;
    tokens are counted from its first one.

    doc (int): Which document it is in, from 0.
    start (int): Its first token in the document.
    words (Tuple[str, ...]): Its words.
    gold (List[Unit]): The gold standard.
    predicted (List[Unit]): The predictions, where the gold standard is annotated.
    known (NDArray): Whether the gold standard is annotated. *Shape:* (words,).
    right (NDArray): Whether it is, and the token's tag is right: that a unit begins, goes on or
        is not here. *Shape:* (words,).
    anchors (Tuple[int, ...]): The tokens that units of the gold standard can belong to, also those
        that none belongs to. The units of one are parts of a whole, such as a proposition.
    skipped (int): How many such tokens are in the predictions alone. What belongs to them is left
        out.
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
        """RETURNS (List[Unit]): What is in one of gold standard and predictions alone."""
        return sorted(set(self.gold) ^ set(self.predicted))

    def words_of(self, unit: Unit) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The words of a unit, as far as the sentence goes."""
        return tuple(word for piece in unit.pieces for word in self.between(*piece))

    def between(self, start: int, end: int) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The words of a span, as far as the sentence goes."""
        return self.words[max(0, start) : max(0, end)]

    @property
    def complete(self) -> int:
        """RETURNS (int): How many wholes of the gold standard have all their units right."""
        if not self.anchors:
            return 0
        wrong = {unit.anchor for unit in self.wrong}
        return sum(anchor not in wrong for anchor in self.anchors)

    def wholes(self) -> list[ScoredSentence]:
        """Take a sentence apart.

        RETURNS (List[ScoredSentence]): The sentence once for each of its wholes, with nothing but
            the units of that one; just the sentence if units of the layer have no anchors.
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
    """Make sure that predictions are for the documents of the gold standard.

    gold (Sequence[Doc]): The gold standard.
    predicted (Sequence[Doc]): The predictions.
    gold_name (str): Where the gold standard is from, for messages.
    predicted_name (str): Where the predictions are from.
    RAISES (ValueError): If there are more or fewer documents, or their words are others.
    """
    paths = {"gold_path": gold_name, "predicted_path": predicted_name}
    if len(gold) != len(predicted):
        raise ValueError(Errors.P124.format(gold=len(gold), predicted=len(predicted), **paths))
    for index, (one, other) in enumerate(zip(gold, predicted, strict=True), 1):
        if [token.text for token in one] != [token.text for token in other]:
            raise ValueError(Errors.P125.format(index=index, **paths))


def check_annotated(docs: Sequence[Doc], layer: Layer, name: str) -> None:
    """Make sure that there is something to score.

    docs (Sequence[Doc]): The gold standard, or predictions.
    layer (Layer): What is to be scored.
    name (str): Where the documents are from, for messages.
    RAISES (ValueError): If none of them has the layer.
    """
    if not any(len(doc) and layer.is_annotated(doc) for doc in docs):
        keys = ", ".join(sorted({key for doc in docs for key in doc.spans})) or "there are none"
        raise ValueError(Errors.P261.format(n=len(docs), path=name, layer=layer.name, keys=keys))


def pair_sentences(
    gold: Sequence[Doc], predicted: Sequence[Doc], layer: Layer
) -> list[ScoredSentence]:
    """Put predictions beside the gold standard. Documents that it does not annotate are left out.

    gold (Sequence[Doc]): The gold standard. Its sentence boundaries are used, where it has any;
        else a document is one sentence.
    predicted (Sequence[Doc]): Documents of the same words with predictions.
    layer (Layer): What is compared.
    RETURNS (List[ScoredSentence]): The sentences, empty ones left out.
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
    # As in spaCy's scorer: what touches a token without annotation is neither right nor wrong.
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
    """What BIO says of each token, also if units overlap."""
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
