"""What is right or wrong as a whole, and what reads it from a `Doc`: the base of all layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import Errors

Piece = tuple[int, int]


class Unit(NamedTuple):
    """What is right or wrong as a whole: a labeled token or span.

    start (int): Its first token.
    end (int): The token after its last one; of a unit of several pieces, after its first piece.
    label (str): Its label.
    anchor (int): The token that it belongs to, e.g. the predicate of an argument; -1 for none.
    rest (Tuple[Tuple[int, int], ...]): Start and end of its other pieces, in order.
    """

    start: int
    end: int
    label: str
    anchor: int = -1
    rest: tuple[Piece, ...] = ()

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """RETURNS (Tuple[Tuple[int, int], ...]): Start and end of each of its pieces."""
        return ((self.start, self.end), *self.rest)

    @property
    def first(self) -> int:
        """RETURNS (int): The token that says in which sentence it is: its anchor if it has one."""
        return self.start if self.anchor < 0 else self.anchor

    def moved(self, offset: int) -> Unit:
        """RETURNS (Unit): The unit with tokens counted from another one."""
        anchor = self.anchor if self.anchor < 0 else self.anchor - offset
        rest = tuple((start - offset, end - offset) for start, end in self.rest)
        return Unit(self.start - offset, self.end - offset, self.label, anchor, rest)


class Pairing(NamedTuple):
    """What gold standard and predictions say of a document.

    gold (List[Unit]): The gold standard, each unit once.
    predicted (List[Unit]): The predictions that count, each unit once.
    anchors (Sequence[int]): The tokens that units of the gold standard can belong to, also those
        that none belongs to.
    skipped (Sequence[int]): Such tokens of the predictions that the gold standard does not have:
        what belongs to them does not count.
    """

    gold: list[Unit]
    predicted: list[Unit]
    anchors: tuple[int, ...] = ()
    skipped: tuple[int, ...] = ()


class Layer(ABC):
    """A layer of annotation.

    To evaluate another one, write a subclass, and let `LAYERS_OF_FACTORIES` make it of the
    component that predicts it.

    name (str): What users call it.
    unit (str): What its units are called, in the plural.
    label (str): What their labels are called.
    whole (str): What units with an anchor are parts of, in the plural; empty if none has one.
    main_score (str): The score that counts: one of `scores`.
    scores (Tuple[str, ...]): The names in `counts.SCORES` that make sense.
    groups (Tuple[str, ...]): The ways to group units that make sense, see `report.BREAKDOWNS`.
    is_given (bool): Whether the task gives something beside the words, see `give`.
    """

    name: str
    unit: ClassVar[str]
    label: ClassVar[str] = "label"
    whole: ClassVar[str] = ""
    main_score: ClassVar[str]
    scores: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1", "accuracy")
    groups: ClassVar[tuple[str, ...]] = ("label", "length", "vocabulary", "complexity")
    is_given: ClassVar[bool] = False

    @abstractmethod
    def is_annotated(self, doc: Doc) -> bool:
        """Whether a document has the layer, be it without any unit.

        doc (Doc): The document.
        RETURNS (bool): Whether it has.
        """

    @abstractmethod
    def units(self, doc: Doc) -> list[Unit]:
        """Read the units of a document.

        doc (Doc): The document.
        RETURNS (List[Unit]): The units, each once, in order.
        """

    def known(self, doc: Doc) -> NDArray[np.bool_]:
        """Say where the gold standard is annotated: elsewhere nothing can be right or wrong.

        doc (Doc): A gold-standard document that has the layer.
        RETURNS (NDArray): Whether each token is annotated. *Shape:* (tokens,).
        """
        return np.ones(len(doc), dtype=bool)

    def pair(self, gold: Doc, predicted: Doc, where: str) -> Pairing:
        """Read both sides of a document.

        gold (Doc): A gold-standard document that has the layer.
        predicted (Doc): The same words with predictions, or without any.
        where (str): What to call the document in messages, e.g. "Document 3".
        RETURNS (Pairing): The units that count.
        """
        found = self.units(predicted) if self.is_annotated(predicted) else []
        return Pairing(self.units(gold), found)

    def give(self, doc: Doc, gold: Doc) -> None:
        """Give a document what the task gives to a component of ours beside the words: nothing,
        unless `is_given`.

        doc (Doc): The document to predict on: words alone.
        gold (Doc): The gold standard.
        """
        return None

    def check_score(self, score: str) -> None:
        """Check that a score makes sense.

        score (str): A name in `counts.SCORES`.
        RAISES (ValueError): If it does not.
        """
        if score not in self.scores:
            options = ", ".join(self.scores)
            raise ValueError(Errors.P270.format(score=score, layer=self.name, options=options))
