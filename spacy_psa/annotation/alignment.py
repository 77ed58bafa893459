"""Gold spans on the predicted tokens of an example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc, Span
from spacy.training import Example


def same_tokens(example: Example) -> bool:
    """Whether nothing needs to be aligned, as is usual in training; alignment is slow."""
    return np.array_equal(example.predicted.to_array(ORTH), example.reference.to_array(ORTH))


class GoldPlace(NamedTuple):
    """A span without its document: sorted and compared much faster than one."""

    start: int
    end: int
    label: str


def aligned_places(example: Example, gold: Iterable[Span]) -> tuple[list[GoldPlace], set[int]]:
    """Bring gold spans over to the predicted tokens.

    RETURNS (Tuple[List[GoldPlace], Set[int]]): Where they are there, and the tokens touched by gold
        spans that the predicted tokens cannot express.
    """
    if same_tokens(example):
        return [GoldPlace(span.start, span.end, span.label_) for span in gold], set()
    doc = example.predicted
    places: list[GoldPlace] = []
    unknown: set[int] = set()
    # Once: whenever it is asked for its alignment, an example goes through both documents
    alignment = example.alignment.y2x
    for span in gold:
        indices = alignment[span.start : span.end].tolist()
        place = aligned_place(doc, span, indices)
        if place is not None:
            places.append(place)
        else:
            unknown.update(indices)
    return places, unknown


def aligned_place(doc: Doc, gold: Span, indices: Sequence[int]) -> GoldPlace | None:
    """Bring a gold span over to the predicted tokens.

    As `Example.get_aligned_spans_y2x`, which does not say what it leaves out, and takes time that
    grows with the square of a document's length if it is asked for one span at a time.

    doc (Doc): The predicted document.
    gold (Span): The span.
    indices (Sequence[int]): The tokens of the document that are aligned with its tokens.
    RETURNS (Optional[GoldPlace]): Where it is there; None if the tokens cannot express it.
    """
    if not len(indices):
        return None
    place = GoldPlace(int(indices[0]), int(indices[-1]) + 1, gold.label_)
    return place if _bare_text(doc[place.start : place.end]) == _bare_text(gold) else None


def _bare_text(span: Span) -> str:
    return span.text.lower().strip().replace(" ", "")
