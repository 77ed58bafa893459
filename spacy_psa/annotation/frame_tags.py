"""Frames as sequences of BIO tags, one sequence for each predicate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from spacy.tokens import Doc, Span
from spacy.training import Alignment, Example

from ..errors import Warnings, warn
from ..inference import Constraints
from .alignment import align_span, same_tokens
from .propositions import PREDICATE_LABEL, Frame, get_frames, stored_frames
from .schemes import OUTSIDE, SCHEMES, split_tag, transition_mask
from .schemes import Span as LabeledSpan
from .span_targets import check_spans

SCHEME = SCHEMES["BIO"]


def role_tags(roles: Sequence[str]) -> list[str]:
    """List the tags that express roles: O, and B and I of each role."""
    return SCHEME.tags(roles)


def role_constraints(tags: Sequence[str]) -> Constraints:
    """Get the constraints of well-formed tag sequences."""
    return Constraints(*transition_mask(SCHEME, tags))


def space_copies(tags: Sequence[str]) -> tuple[list[int], Constraints]:
    """Find the tags that white space may have if no argument begins or ends with it: O, and copies
    of the I tags that stand between tags of the same argument. Returned are the tags that are
    copied, and the constraints on all tags followed by the copies, which rule out only arguments
    that end or begin at a copy."""
    copied = [i for i, tag in enumerate(tags) if split_tag(tag)[0] == "I"]
    n = len(tags)
    inside = np.array([tag != OUTSIDE for tag in tags] + [True] * len(copied))
    goes_on = np.zeros(n + len(copied), dtype=bool)
    goes_on[copied] = goes_on[n:] = True
    # As `read_roles` reads them, well formed or not: the first tag decides on the role
    transitions = np.ones((len(inside), len(inside)), dtype=bool)
    transitions[:, n:] = inside[:, None]
    transitions[n:] &= goes_on
    anywhere = np.arange(len(inside)) < n
    return copied, Constraints(transitions, anywhere, anywhere)


def read_roles(tags: Sequence[str]) -> list[LabeledSpan]:
    """Decode tags to arguments.

    A span begins at B and includes all following I tags, whatever their roles: its role is that of
    the B. An I at the beginning of the sentence or after O is read as B.

    tags (Sequence[str]): The tags, well formed or not.
    RETURNS (List[Span]): Start, end and role of each argument.

    Source: Tan et al. (2018), footnote 2.
    """
    spans: list[LabeledSpan] = []
    start, role = 0, ""
    for i, tag in enumerate([*tags, OUTSIDE]):
        prefix, label = split_tag(tag)
        if prefix == "I" and role:
            continue
        if role:
            spans.append((start, i, role))
        start, role = i, label
    return spans


def check_arguments(doc: Doc) -> None:
    """Check that arguments have roles and tokens."""
    for group in stored_frames(doc):
        check_spans(doc, group, where=f"doc.spans['{group.name}']")


def gold_frames(example: Example) -> list[Frame]:
    """Align the annotated frames with the predicted tokens.

    Arguments that the predicted tokens cannot express, and predicates that are not single
    predicted tokens, are left out with a warning.
    """
    check_arguments(example.reference)
    frames = get_frames(example.reference)
    if not frames or same_tokens(example):
        return frames
    aligned = []
    alignment = example.alignment  # only once, see `align_spans`
    for frame in frames:
        token = example.reference[frame.predicate]
        places = alignment.y2x[frame.predicate]
        if len(places) == 1 and example.predicted[int(places[0])].text == token.text:
            arguments = list(_aligned(example, alignment, frame.arguments))
            aligned.append(Frame(int(places[0]), frame.lemma, frame.sense, arguments))
        else:
            text = example.reference.text[:60]
            warn(Warnings.W320.format(token=token.text, index=frame.predicate, doc=text))
    return aligned


def _aligned(
    example: Example, alignment: Alignment, arguments: Iterable[LabeledSpan]
) -> Iterable[LabeledSpan]:
    for start, end, role in arguments:
        span = Span(example.reference, start, end, role)
        place = align_span(example.predicted, span, alignment.y2x[start:end])
        if place is not None:
            yield place.start, place.end, place.label
        else:
            _skipped(example.reference, span, "does not align with the predicted tokens")


def gold_tags(doc: Doc, frame: Frame, start: int, end: int) -> list[str | None]:
    """Encode the arguments of a frame, including the predicate V, as tags of its sentence.

    Only the first of several overlapping arguments is encoded, and no argument that crosses a
    sentence boundary. The others are skipped with a warning, and the tags of tokens that only they
    contain are unknown. Unknown tags are None."""
    arguments = sorted(frame.arguments)
    if not any(role == PREDICATE_LABEL for _, _, role in arguments):
        arguments.insert(0, (frame.predicate, frame.predicate + 1, PREDICATE_LABEL))
    taken = [False] * (end - start)
    kept, dropped = [], []
    for first, last, role in arguments:
        if first < start or last > end:
            _skipped(doc, Span(doc, first, last, role), "crosses a sentence boundary")
            dropped.append((max(first, start), min(last, end)))
        elif any(taken[first - start : last - start]):
            _skipped(doc, Span(doc, first, last, role), "overlaps with another argument")
            dropped.append((first, last))
        else:
            taken[first - start : last - start] = [True] * (last - first)
            kept.append((first - start, last - start, role))
    tags: list[str | None] = list(SCHEME.encode(kept, end - start))
    for first, last in dropped:
        for i in range(first - start, last - start):
            if not taken[i]:
                tags[i] = None
    return tags


def _skipped(doc: Doc, span: Span, problem: str) -> None:
    warn(
        Warnings.W321.format(
            role=span.label_,
            text=span.text[:60],
            start=span.start,
            end=span.end,
            problem=problem,
            doc=doc.text[:60],
        )
    )
