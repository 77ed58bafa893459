"""Targets for spans that do not overlap: named entities, and span groups such as chunks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.util import filter_spans

from ..errors import Errors, Warnings, warn
from ..inference import Constraints
from .alignment import AlignedSpan, align_spans, same_tokens
from .base import Target, add_bias
from .label_sets import resolved_labels
from .rules import FORBIDDEN, Rule
from .schemes import OUTSIDE, SCHEMES, split_tag, transition_mask
from .schemes import Span as Place

SCHEME = SCHEMES["BIOES"]
# The prefixes of tags of a span's first and last tokens
EDGES = frozenset("BES")
# spaCy calls the scheme BILUO: last instead of end, unit instead of single.
FROM_BILUO = {"B": "B", "I": "I", "L": "E", "U": "S"}


class SpanTarget(Target):
    """Spans, expressed as BIOES tags.

    spans_key (str): The key in `doc.spans`, for the target "spans".
    """

    has_spans = True

    def tags(self, labels: Sequence[str]) -> list[str]:
        return SCHEME.tags(labels)

    def label_problem(self, label: str) -> str | None:
        if label == OUTSIDE:
            return "for spans, it marks tokens outside all spans"
        return super().label_problem(label)

    def constraints(self, tags: Sequence[str]) -> Constraints:
        return Constraints(*transition_mask(SCHEME, tags))

    def label_of(self, tag: str) -> str:
        return split_tag(tag)[1] or OUTSIDE

    def spans_of(self, tags: Sequence[str]) -> list[Place]:
        return SCHEME.decode(tags)

    def existing_tags(self, doc: Doc, boundaries: Sequence[int]) -> list[str | None] | None:
        spans, taken = self._taken(doc)
        if not taken:
            return None
        # Spans that our tags cannot express also block their tokens
        tags = [OUTSIDE if i in taken else None for i in range(len(doc))]
        starts = set(boundaries)
        for span in filter_spans(spans):
            if starts.isdisjoint(range(span.start + 1, span.end)):
                places = [(0, len(span), span.label_)]
                tags[span.start : span.end] = SCHEME.encode(places, len(span))
        return tags

    def matching_tag_ids(self, tag: str, ids: dict[str, int], doc: Doc) -> list[int]:
        # So do spans of labels that are not ours
        return super().matching_tag_ids(tag, ids, doc) or [ids[OUTSIDE]]

    @abstractmethod
    def existing(self, doc: Doc) -> tuple[list[Span], Sequence[int]]:
        """Find the existing annotation: the spans, and the tokens that must not be in any span."""

    def applies_to_whole_span(self, rule: Rule) -> bool:
        # Tags cannot forbid one exact span without affecting longer or shorter ones
        return rule.whole and rule.label != OUTSIDE and rule.score != FORBIDDEN

    def apply_rule(self, rule: Rule, bias: NDArray[np.float32], ids: dict[str, int]) -> None:
        rows = bias[rule.start : rule.end]
        if self.applies_to_whole_span(rule):
            length = len(rows)
            tags = SCHEME.encode([(0, length, rule.label)], length)
            for row, tag in zip(rows, tags, strict=True):
                add_bias(row, [ids[tag]], rule.score / length)
        else:
            own = [i for tag, i in ids.items() if self.label_of(tag) == rule.label]
            add_bias(rows, own, rule.score)

    def keep_inside(self, bias: NDArray[np.float32], ids: dict[str, int]) -> None:
        if bias[ids[OUTSIDE]] != FORBIDDEN:
            bias[[i for tag, i in ids.items() if split_tag(tag)[0] in EDGES]] = FORBIDDEN

    def resolve(self, example: Example) -> Example:
        doc = example.reference
        spans = self.existing(doc)[0]
        parts = [self.parts(span.label_, doc) for span in spans]
        if all(len(labels) == 1 for labels in parts):
            return example
        labels = resolved_labels(example, spans, parts, self.existing(example.predicted)[0])
        copy = doc.copy()
        places = zip(spans, labels, strict=True)
        self.relabel(copy, [Span(copy, span.start, span.end, label) for span, label in places])
        return Example(example.predicted, copy, alignment=example.alignment)

    @abstractmethod
    def relabel(self, doc: Doc, spans: Sequence[Span]) -> None:
        """Replace the spans of a document by new ones of the same tokens."""

    def spans(self, doc: Doc, tags: Sequence[str | None]) -> list[Span]:
        """Decode tags to spans of a document."""
        places = SCHEME.decode([tag or OUTSIDE for tag in tags])
        return [Span(doc, start, end, label) for start, end, label in places]

    def new_spans(self, doc: Doc, tags: Sequence[str | None]) -> list[Span]:
        """Decode tags to spans of a document, without those that overlap existing annotation."""
        _, taken = self._taken(doc)
        spans = self.spans(doc, tags)
        return [span for span in spans if taken.isdisjoint(range(span.start, span.end))]

    def _taken(self, doc: Doc) -> tuple[list[Span], set[int]]:
        """The existing spans of a document, and the tokens that no other span may contain."""
        spans, outside = self.existing(doc)
        spans = [span for span in spans if len(span)]
        taken = set(outside).union(*(range(span.start, span.end) for span in spans))
        return spans, taken


class EntsTarget(SpanTarget):
    """Named entities: `doc.ents`."""

    name = "ents"
    assigns = "doc.ents"

    @property
    def score_weights(self) -> dict[str, float | None]:
        return {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None}

    def labels_of(self, doc: Doc) -> Iterable[str]:
        return (part for ent in doc.ents for part in self.parts(ent.label_, doc))

    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        read = _read_ents if same_tokens(example) else _align_ents
        tags = read(example)
        _drop_crossing(tags, boundaries, example.predicted)
        return tags

    def existing(self, doc: Doc) -> tuple[list[Span], Sequence[int]]:
        # Tokens outside of entities are not annotation: setting one entity marks all other tokens
        # as outside. Blocked tokens are annotation.
        return list(doc.ents), _blocked_tokens(doc)

    def annotate(self, doc: Doc, tags: Sequence[str | None], *, overwrite: bool) -> None:
        if overwrite:
            doc.set_ents(self.spans(doc, tags))
            return
        blocked = [doc[i : i + 1] for i in _blocked_tokens(doc)]
        doc.set_ents([*doc.ents, *self.new_spans(doc, tags)], blocked=blocked)

    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        return get_ner_prf(self.resolved(examples), **cfg)

    def relabel(self, doc: Doc, spans: Sequence[Span]) -> None:
        doc.set_ents(list(spans), default="unmodified")


class SpansTarget(SpanTarget):
    """A span group: `doc.spans[spans_key]`. A document without the key is not annotated."""

    name = "spans"
    assigns = "doc.spans"

    @property
    def layer(self) -> str:
        return f"{self.name}/{self.spans_key}"

    @property
    def score_weights(self) -> dict[str, float | None]:
        prefix = f"spans_{self.spans_key}"
        weights = {f"{prefix}_f": 1.0, f"{prefix}_p": 0.0, f"{prefix}_r": 0.0}
        return {**weights, f"{prefix}_per_type": None}

    def labels_of(self, doc: Doc) -> Iterable[str]:
        spans = doc.spans.get(self.spans_key, ())
        return (part for span in spans for part in self.parts(span.label_, doc))

    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        doc = example.predicted
        if self.spans_key not in example.reference.spans:
            return [None] * len(doc)
        # A group creates new objects each time it is read
        gold = list(example.reference.spans[self.spans_key])
        self._check(example.reference, gold)
        places, unknown = align_spans(example, gold)
        # `filter_spans` needs only starts and ends
        kept = set(cast(list[AlignedSpan], filter_spans(cast(Any, places))))
        for place in places:
            if place not in kept:
                span = Span(doc, *place)
                warn(Warnings.W301.format(**_describe(span), key=self.spans_key))
                unknown.update(range(place.start, place.end))
        tags: list[str | None] = list(SCHEME.encode(kept, len(doc)))
        for i in unknown.difference(*(range(place.start, place.end) for place in kept)):
            tags[i] = None
        _drop_crossing(tags, boundaries, doc)
        return tags

    def check(self, doc: Doc) -> None:
        self._check(doc, doc.spans.get(self.spans_key, ()))

    def _check(self, doc: Doc, spans: Iterable[Span]) -> None:
        check_spans(doc, spans, where=f"doc.spans['{self.spans_key}']")

    def existing(self, doc: Doc) -> tuple[list[Span], Sequence[int]]:
        return list(doc.spans.get(self.spans_key, ())), ()

    def annotate(self, doc: Doc, tags: Sequence[str | None], *, overwrite: bool) -> None:
        key = self.spans_key
        existing = doc.spans.get(key)
        if overwrite or existing is None:
            doc.spans[key] = SpanGroup(doc, name=key, spans=self.spans(doc, tags))
            return
        spans = self.new_spans(doc, tags)
        if spans:
            # Scores belong to individual spans, which have changed
            attrs = {name: value for name, value in existing.attrs.items() if name != "scores"}
            spans = sorted([*existing, *spans])
            doc.spans[key] = SpanGroup(doc, name=key, attrs=attrs, spans=spans)

    def attach_scores(self, doc: Doc, scores: Mapping[Place, float]) -> None:
        group = doc.spans[self.spans_key]
        # Existing spans are certain
        group.attrs["scores"] = np.array(
            [scores.get((span.start, span.end, span.label_), 1.0) for span in group],
            dtype=np.float32,
        )

    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        key, prefix = self.spans_key, "spans_"
        cfg.setdefault("attr", f"{prefix}{key}")
        cfg.setdefault("allow_overlap", True)
        cfg.setdefault("getter", lambda doc, attr: doc.spans.get(attr[len(prefix) :], []))
        cfg.setdefault("has_annotation", lambda doc: key in doc.spans)
        return Scorer.score_spans(self.resolved(examples), **cfg)

    def relabel(self, doc: Doc, spans: Sequence[Span]) -> None:
        doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=spans)


def check_spans(doc: Doc, spans: Iterable[Span], *, where: str) -> None:
    """Check that spans have labels and tokens, which spaCy does not enforce."""
    for span in spans:
        if span.label and len(span):
            continue
        problem = "has no tokens" if span.label else "has no label"
        raise ValueError(
            Errors.P433.format(
                start=span.start, end=span.end, where=where, problem=problem, text=doc.text[:60]
            )
        )


def _blocked_tokens(doc: Doc) -> list[int]:
    """Tokens blocked with `Doc.set_ents`: they begin an entity without a label."""
    iob, types = doc.to_array([ENT_IOB, ENT_TYPE]).T
    return np.flatnonzero((iob == 3) & (types == 0)).tolist()


def _read_ents(example: Example) -> list[str | None]:
    """As `_align_ents`, but much faster, if the tokens are the same."""
    doc = example.reference
    iob, is_space = doc.to_array([ENT_IOB, IS_SPACE]).T
    if not iob.any():
        return [None] * len(doc)
    spans = ((ent.start, ent.end, ent.label_) for ent in doc.ents)
    tags: list[str | None] = list(SCHEME.encode(spans, len(doc)))
    # As in spaCy, whitespace is outside of entities unless annotated otherwise, and blocked tokens
    # are unknown
    missing = np.flatnonzero(iob == 0).tolist()
    for i in [*missing, *_blocked_tokens(doc)]:
        tags[i] = OUTSIDE if is_space[i] else None
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


def _drop_crossing(tags: list[str | None], boundaries: Sequence[int], doc: Doc) -> None:
    """Make spans that cross a boundary unknown, because the chains of a CRF end there."""
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
