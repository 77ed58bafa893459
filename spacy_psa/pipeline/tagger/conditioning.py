"""Condition scores on what is known before prediction: rules, annotation and white space."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from math import isinf

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...annotation.base import Target
from ...annotation.rules import FORBIDDEN, REQUIRED, Rule, TagRules, check_rule, rules_for
from ...errors import Errors
from ...inference import Potentials


def condition(
    potentials: Potentials,
    docs: Sequence[Doc],
    target: Target,
    tags: Sequence[str],
    *,
    rules: TagRules | None,
    keep_existing: bool,
    allow_space: bool,
) -> Potentials:
    """Condition the distribution over tag sequences on rules and existing annotation, and rule out
    spans that begin or end with white space.

    Kept annotation takes precedence over rules: rules apply only to the other tokens, and a rule
    about a span is ignored if any of the span's tokens is annotated. A rule about a span that
    crosses a sentence boundary is also ignored, unless it requires the span, which is an error.
    Both take precedence over white space: a token that they require to be in a span may begin or
    end it. All others can be outside of spans, so there is always a possible sequence. If there are
    no biases to add, the result is the same object."""
    allow_space = allow_space or not target.has_spans
    if rules is None and not keep_existing and allow_space:
        return potentials
    # Lists, since NumPy calls would take longer for a single document
    offsets = list(accumulate(map(len, docs), initial=0))
    starts = list(accumulate(potentials.lengths, initial=0))
    bias, ids = None, dict[str, int]()
    for i, doc in enumerate(docs):
        if not len(doc):
            continue
        first, stop = bisect_left(starts, offsets[i]), bisect_left(starts, offsets[i + 1])
        boundaries = [start - offsets[i] for start in starts[first:stop]]
        existing = target.existing_tags(doc, boundaries) if keep_existing else None
        found = [] if rules is None else rules_for(doc, rules)
        spaces = [] if allow_space else [token.i for token in doc if token.is_space]
        if existing is None and not found and not spaces:
            continue
        if bias is None:
            ids = {tag: number for number, tag in enumerate(tags)}
            bias = np.zeros((potentials.n_tokens, len(tags)), dtype=np.float32)
        rows = bias[offsets[i] : offsets[i + 1]]
        existing = existing or [None] * len(doc)
        free = np.array([tag is None for tag in existing])
        if found:
            _apply_rules(found, rows, doc, target, ids, np.array(boundaries), free)
        for j in spaces:
            target.keep_inside(rows[j], ids)
        for j, tag in enumerate(existing):
            like = [] if tag is None else target.matching_tag_ids(tag, ids, doc)
            if like:
                rows[j] = FORBIDDEN
                rows[j, like] = 0.0
    if bias is None:
        return potentials
    added = torch.from_numpy(bias).to(potentials.emissions)
    scores = potentials.emissions + added
    # Only labels may be left that were added after training, which have no scores yet
    unscored = scores.isneginf().all(dim=1, keepdim=True)
    return replace(potentials, emissions=torch.where(unscored, added, scores))


def _apply_rules(
    rules: Sequence[Rule],
    rows: NDArray[np.float32],
    doc: Doc,
    target: Target,
    ids: dict[str, int],
    boundaries: NDArray[np.int64],
    free: NDArray[np.bool_],
) -> None:
    """Add the biases of rules to the scores of a document's free tokens."""
    labels = dict.fromkeys(target.label_of(tag) for tag in ids)
    applied = []
    for rule in rules:
        check_rule(rule, doc, labels)
        if not target.applies_to_whole_span(rule) or _is_possible(rule, doc, boundaries, free):
            target.apply_rule(rule, rows, ids)
            applied.append(rule)
    rows[~free] = 0.0
    # If every token has a tag left, a valid sequence exists: wherever any tag of a label is left,
    # so is its S, except in required spans; if two of these overlap, some token has no tag left.
    stuck = np.flatnonzero((rows == FORBIDDEN).all(axis=1))
    if len(stuck):
        i = int(stuck[0])
        about = [r for r in applied if r.start <= i < r.end and isinf(r.score)]
        raise ValueError(
            Errors.P362.format(
                token=doc[i].text, i=i, text=doc.text[:60], rules=", ".join(map(repr, about))
            )
        )


def _is_possible(
    rule: Rule, doc: Doc, boundaries: NDArray[np.int64], free: NDArray[np.bool_]
) -> bool:
    """Check whether the span of a rule is possible at all."""
    start, end = rule.start, rule.end
    if not free[start:end].all():
        return False
    crosses = bool(((start < boundaries) & (boundaries < end)).any())
    if crosses and rule.score == REQUIRED:
        raise ValueError(
            Errors.P363.format(
                span=doc[start:end].text[:60],
                label=rule.label,
                start=start,
                end=end,
                text=doc.text[:60],
            )
        )
    return not crosses
