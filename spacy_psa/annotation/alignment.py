"""Gold spans on the predicted tokens of an example."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Span
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
    # As `get_aligned_spans_y2x`, which does not say what it leaves out. To ask it for one span at a
    # time takes time that grows with the square of a document's length.
    alignment = example.alignment.y2x
    for span in gold:
        indices = [int(i) for i in alignment[span.start : span.end]]
        if indices:
            place = GoldPlace(indices[0], indices[-1] + 1, span.label_)
            if _bare_text(doc[place.start : place.end]) == _bare_text(span):
                places.append(place)
                continue
        unknown.update(indices)
    return places, unknown


def _bare_text(span: Span) -> str:
    return span.text.lower().strip().replace(" ", "")
