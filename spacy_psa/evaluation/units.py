"""The units of evaluation, and the base class of the layers that read them from a `Doc`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.base import Target
from ..errors import Errors

Piece = tuple[int, int]


class Unit(NamedTuple):
    """A unit of evaluation, which is correct or incorrect as a whole: a labeled token or span.

    start (int): Its first token.
    end (int): The token after its last one, or after its first piece if it has several pieces.
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
        """Start and end of each of its pieces."""
        return ((self.start, self.end), *self.rest)

    @property
    def first(self) -> int:
        """The token that determines its sentence: its anchor, or its first token."""
        return self.start if self.anchor < 0 else self.anchor

    def moved(self, offset: int) -> Unit:
        """Count tokens from another one.

        offset (int): The token that becomes the first.
        RETURNS (Unit): The unit with token indices relative to it.
        """
        anchor = self.anchor if self.anchor < 0 else self.anchor - offset
        rest = tuple((start - offset, end - offset) for start, end in self.rest)
        return Unit(self.start - offset, self.end - offset, self.label, anchor, rest)


class Pairing(NamedTuple):
    """The gold and predicted units of a document.

    gold (List[Unit]): The gold units, each once.
    predicted (List[Unit]): The predicted units that count, each once.
    anchors (Sequence[int]): The tokens that gold units can belong to, including those without
        units.
    skipped (Sequence[int]): The anchors that are only in the predictions, whose units do not count.
    """

    gold: list[Unit]
    predicted: list[Unit]
    anchors: tuple[int, ...] = ()
    skipped: tuple[int, ...] = ()


class Layer(ABC):
    """An annotation layer.

    To evaluate another layer, write a subclass and add a function to `LAYERS_OF_FACTORIES` that
    creates it from the component that predicts it.

    name (str): The name that users see.
    unit (str): The name of its units, in the plural.
    label (str): The name of their labels.
    whole (str): The name of the wholes that units with an anchor are parts of, in the plural; empty
        if units have no anchors.
    main_score (str): The main score: one of `scores`.
    scores (Tuple[str, ...]): The names in `sentences.SCORES` that apply.
    groups (Tuple[str, ...]): The names in `breakdowns.BREAKDOWNS` that apply.
    is_given (bool): Whether the task provides more than the words, see `give`.
    sets (Optional[Target]): Reads sets of labels in the gold standard, of which any label counts as
        correct; None if labels are no sets.
    """

    name: str
    unit: ClassVar[str]
    label: ClassVar[str] = "label"
    whole: ClassVar[str] = ""
    main_score: ClassVar[str]
    scores: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1", "accuracy")
    groups: ClassVar[tuple[str, ...]] = ("label", "length", "vocabulary", "complexity")
    is_given: ClassVar[bool] = False
    sets: Target | None = None

    @abstractmethod
    def is_annotated(self, doc: Doc) -> bool:
        """Check whether a document has the layer, even without any units.

        doc (Doc): The document.
        RETURNS (bool): Whether it does.
        """

    @abstractmethod
    def units(self, doc: Doc) -> list[Unit]:
        """Read the units of a document.

        doc (Doc): The document.
        RETURNS (List[Unit]): The units, each once, in order.
        """

    def known(self, doc: Doc) -> NDArray[np.bool_]:
        """Get the tokens with gold annotation; other tokens are not scored.

        doc (Doc): A gold-standard document that has the layer.
        RETURNS (NDArray): Whether each token is annotated. *Shape:* (tokens,).
        """
        return np.ones(len(doc), dtype=bool)

    def pair(self, gold: Doc, predicted: Doc, where: str) -> Pairing:
        """Read the gold and predicted units of a document.

        gold (Doc): A gold-standard document that has the layer.
        predicted (Doc): The same words, with or without predictions.
        where (str): The name of the document in messages, e.g. "Document 3".
        RETURNS (Pairing): The units that count.
        """
        if self.sets is not None:
            gold = self.sets.resolve(Example(predicted, gold)).reference
        found = self.units(predicted) if self.is_annotated(predicted) else []
        return Pairing(self.units(gold), found)

    def give(self, doc: Doc, gold: Doc) -> None:
        """Copy the gold annotation that the task provides to a component of this package; nothing,
        unless `is_given`.

        doc (Doc): The document to predict on, with only words.
        gold (Doc): The gold standard.
        """
        return None

    def check_score(self, score: str) -> None:
        """Check that a score applies to the layer.

        score (str): A name in `sentences.SCORES`.
        RAISES (ValueError): If it does not.
        """
        if score not in self.scores:
            options = ", ".join(self.scores)
            raise ValueError(Errors.P270.format(score=score, layer=self.name, options=options))
