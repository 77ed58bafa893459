"""Alignment of gold spans with the predicted tokens of an example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc, Span
from spacy.training import Example


def same_tokens(example: Example) -> bool:
    """Check for identical tokens, the usual case in training, since alignment is slow."""
    return np.array_equal(example.predicted.to_array(ORTH), example.reference.to_array(ORTH))


class AlignedSpan(NamedTuple):
    """A span without its document, which is much faster to sort and compare than a `Span`."""

    start: int
    end: int
    label: str


def align_spans(example: Example, gold: Iterable[Span]) -> tuple[list[AlignedSpan], set[int]]:
    """Align gold spans with the predicted tokens: the aligned spans, and the predicted tokens that
    overlap with gold spans that cannot be aligned."""
    if same_tokens(example):
        return [AlignedSpan(span.start, span.end, span.label_) for span in gold], set()
    doc = example.predicted
    places: list[AlignedSpan] = []
    unknown: set[int] = set()
    # Only once: on each access to its alignment, an example goes through both documents
    alignment = example.alignment.y2x
    for span in gold:
        indices = alignment[span.start : span.end].tolist()
        place = align_span(doc, span, indices)
        if place is not None:
            places.append(place)
        else:
            unknown.update(indices)
    return places, unknown


def align_span(doc: Doc, gold: Span, indices: Sequence[int]) -> AlignedSpan | None:
    """Align a gold span with the predicted tokens.

    As `Example.get_aligned_spans_y2x`, which does not report the spans it leaves out, and takes
    time quadratic in the length of the document if called for one span at a time. None if the
    tokens cannot express it."""
    if not len(indices):
        return None
    place = AlignedSpan(int(indices[0]), int(indices[-1]) + 1, gold.label_)
    return place if _bare_text(doc[place.start : place.end]) == _bare_text(gold) else None


def _bare_text(span: Span) -> str:
    return span.text.lower().strip().replace(" ", "")
