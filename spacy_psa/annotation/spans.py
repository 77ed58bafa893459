"""Spans that do not overlap: named entities, and groups of spans such as chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from spacy.attrs import ENT_IOB, ORTH
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.util import filter_spans

from ..errors import Warnings, warn
from ..inference import Constraints
from .base import Target
from .schemes import SCHEMES, transition_mask

SCHEME = SCHEMES["BIOES"]
# spaCy calls the scheme BILUO: last instead of end, unit instead of single.
FROM_BILUO = {"B": "B", "I": "I", "L": "E", "U": "S"}


class SpanTarget(Target):
    """Spans, expressed as BIOES tags.

    spans_key (str): The key of the spans in `doc.spans`, if they are there.
    """

    def __init__(self, spans_key: str) -> None:
        self.spans_key = spans_key

    def tags(self, labels: Sequence[str]) -> list[str]:
        return SCHEME.tags(labels)

    def constraints(self, tags: Sequence[str]) -> Constraints:
        return Constraints(*transition_mask(SCHEME, tags))

    def spans(self, doc: Doc, tags: Sequence[str]) -> list[Span]:
        """Turn tags into spans of a document."""
        return [Span(doc, start, end, label) for start, end, label in SCHEME.decode(tags)]


class EntsTarget(SpanTarget):
    """Named entities: `doc.ents`."""

    name = "ents"
    assigns = "doc.ents"

    @property
    def score_weights(self) -> dict[str, float]:
        return {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0}

    def labels_of(self, doc: Doc) -> Iterable[str]:
        return (ent.label_ for ent in doc.ents)

    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        read = _read_ents if _same_tokens(example) else _align_ents
        tags = read(example)
        _drop_crossing(tags, boundaries, example.predicted)
        return tags

    def annotate(self, doc: Doc, tags: Sequence[str], *, overwrite: bool) -> None:
        spans = self.spans(doc, tags)
        if doc.ents and not overwrite:
            taken = {token.i for ent in doc.ents for token in ent}
            spans = [span for span in spans if not taken.intersection(range(span.start, span.end))]
            spans = [*doc.ents, *spans]
        doc.set_ents(spans)

    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        return get_ner_prf(examples, **cfg)


class SpansTarget(SpanTarget):
    """A group of spans: `doc.spans[spans_key]`. A document without the key is not annotated."""

    name = "spans"
    assigns = "doc.spans"

    @property
    def score_weights(self) -> dict[str, float]:
        prefix = f"spans_{self.spans_key}"
        return {f"{prefix}_f": 1.0, f"{prefix}_p": 0.0, f"{prefix}_r": 0.0}

    def labels_of(self, doc: Doc) -> Iterable[str]:
        return (span.label_ for span in doc.spans.get(self.spans_key, ()))

    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        doc = example.predicted
        if self.spans_key not in example.reference.spans:
            return [None] * len(doc)
        spans, unknown = _aligned_spans(example, example.reference.spans[self.spans_key])
        kept = sorted(filter_spans(spans))
        for span in spans:
            if span not in kept:
                warn(Warnings.W301.format(**_describe(span), key=self.spans_key))
                unknown.update(range(span.start, span.end))
        tags: list[str | None] = list(
            SCHEME.encode(((span.start, span.end, span.label_) for span in kept), len(doc))
        )
        for i in unknown.difference(*(range(span.start, span.end) for span in kept)):
            tags[i] = None
        _drop_crossing(tags, boundaries, doc)
        return tags

    def annotate(self, doc: Doc, tags: Sequence[str], *, overwrite: bool) -> None:
        spans = self.spans(doc, tags)
        existing = doc.spans.get(self.spans_key)
        if existing and not overwrite:
            taken = {i for span in existing for i in range(span.start, span.end)}
            spans = [span for span in spans if not taken.intersection(range(span.start, span.end))]
            spans = sorted([*existing, *spans])
        doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=spans)

    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        key, prefix = self.spans_key, "spans_"
        cfg.setdefault("attr", f"{prefix}{key}")
        cfg.setdefault("allow_overlap", True)
        cfg.setdefault("getter", lambda doc, attr: doc.spans.get(attr[len(prefix) :], []))
        cfg.setdefault("has_annotation", lambda doc: key in doc.spans)
        return Scorer.score_spans(examples, **cfg)


def _same_tokens(example: Example) -> bool:
    """Whether nothing needs to be aligned, as is usual in training; alignment is slow."""
    return np.array_equal(example.predicted.to_array(ORTH), example.reference.to_array(ORTH))


def _read_ents(example: Example) -> list[str | None]:
    doc = example.reference
    spans = ((ent.start, ent.end, ent.label_) for ent in doc.ents)
    tags: list[str | None] = list(SCHEME.encode(spans, len(doc)))
    for i in np.flatnonzero(doc.to_array(ENT_IOB) == 0):
        tags[i] = None
    return tags


def _align_ents(example: Example) -> list[str | None]:
    tags: list[str | None] = []
    for tag in example.get_aligned_ner():
        if tag is None or tag == "-":
            tags.append(None)
        elif tag == "O":
            tags.append(tag)
        else:
            prefix, label = tag.split("-", 1)
            tags.append(f"{FROM_BILUO[prefix]}-{label}")
    return tags


def _aligned_spans(example: Example, gold: Iterable[Span]) -> tuple[list[Span], set[int]]:
    """Bring gold spans over to the predicted tokens.

    RETURNS (Tuple[List[Span], Set[int]]): The spans, and the tokens touched by gold spans that
        the predicted tokens cannot express.
    """
    doc = example.predicted
    same = _same_tokens(example)
    spans: list[Span] = []
    unknown: set[int] = set()
    for span in gold:
        if same:
            spans.append(Span(doc, span.start, span.end, span.label_))
            continue
        aligned = example.get_aligned_spans_y2x([span], allow_overlap=True)
        if aligned:
            spans.extend(aligned)
        else:
            unknown.update(int(i) for i in example.alignment.y2x[span.start : span.end])
    return spans, unknown


def _drop_crossing(tags: list[str | None], boundaries: Sequence[int], doc: Doc) -> None:
    """Make spans unknown that cross a boundary: the chains of a CRF end there."""
    for boundary in boundaries:
        if not 0 < boundary < len(tags):
            continue
        tag = tags[boundary]
        if tag is None or tag[0] not in "IE":
            continue
        start, end = boundary, boundary
        while start > 0 and (tags[start] or "")[:1] not in ("B", ""):
            start -= 1
        while end < len(tags) - 1 and (tags[end] or "")[:1] not in ("E", ""):
            end += 1
        warn(Warnings.W302.format(**_describe(Span(doc, start, end + 1, tag[2:]))))
        tags[start : end + 1] = [None] * (end + 1 - start)


def _describe(span: Span) -> dict[str, Any]:
    return {
        "text": span.text[:60],
        "label": span.label_,
        "start": span.start,
        "end": span.end,
        "doc": span.doc.text[:60],
    }
