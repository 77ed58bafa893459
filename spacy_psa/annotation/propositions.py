"""Predicates and their arguments on a Doc, stored in spaCy's span groups."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

from ..errors import Errors
from .schemes import Span as LabeledSpan

FRAMES_KEY = "frames"
PREDICATE_LABEL = "V"
CONTINUATION = "C-"
_KEY = re.compile(rf"{FRAMES_KEY}/([0-9]{{4,}})")
_ATTRIBUTES = {"predicate", "lemma", "sense"}

Group = tuple[str, list[LabeledSpan], dict[str, Any]]
"""A span group: its key in `doc.spans`, which is also its name, its spans, and its attributes."""


class Frame(NamedTuple):
    """A predicate with its arguments, as annotated in the corpus: nothing is dropped or joined.

    predicate (int): The index of the predicate's (first) token in the sentence.
    lemma (Optional[str]): Its lemma; None if the corpus does not have it.
    sense (Optional[str]): Its sense, such as "01"; None if the corpus does not have it.
    arguments (List[Span]): Start, end and label of each argument, in order. The labels are those of
        the corpus, including "V", "C-A1" and "R-A0".
    """

    predicate: int
    lemma: str | None
    sense: str | None
    arguments: list[LabeledSpan]


def set_frames(doc: Doc, frames: Sequence[Frame]) -> None:
    """Set the frames of a Doc, replacing existing ones.

    Each frame becomes a group (`doc.spans["frames/0000"]` and so on). Its spans are the arguments,
    and its `attrs` hold predicate, lemma and sense. The group `doc.spans["frames"]` has one span
    for each predicate, so that a Doc without predicates differs from one without annotation.

    doc (Doc): The Doc.
    frames (Sequence[Frame]): The frames, with token indices of the Doc.
    RAISES (IndexError): If a span is not within the Doc.
    """
    clear_frames(doc)
    add_groups(doc, frame_groups(frames))


def add_groups(doc: Doc, groups: Iterable[Group]) -> None:
    """Add span groups to a Doc."""
    for key, spans, attrs in groups:
        doc.spans[key] = SpanGroup(
            doc, name=key, attrs=attrs, spans=[Span(doc, *span) for span in spans]
        )


def frame_groups(frames: Sequence[Frame]) -> Iterator[Group]:
    """Create the contents of the span groups that store frames."""
    predicates = []
    for n, frame in enumerate(frames):
        attrs = {"predicate": frame.predicate, "lemma": frame.lemma, "sense": frame.sense}
        yield f"{FRAMES_KEY}/{n:04d}", frame.arguments, attrs
        label = ".".join(part for part in (frame.lemma, frame.sense) if part) or PREDICATE_LABEL
        predicates.append((frame.predicate, frame.predicate + 1, label))
    yield FRAMES_KEY, predicates, {}


def get_frames(doc: Doc) -> list[Frame]:
    """Read the frames of a Doc.

    doc (Doc): The Doc.
    RETURNS (List[Frame]): The frames, with token indices of the Doc, in the order in which they
        were set; also empty if `has_frames` is False.
    RAISES (ValueError): If the groups have lost their attributes, as in `Doc.from_docs`.
    """
    return [
        Frame(
            predicate=group.attrs["predicate"],
            lemma=group.attrs["lemma"],
            sense=group.attrs["sense"],
            arguments=[(span.start, span.end, span.label_) for span in group],
        )
        for group in stored_frames(doc)
    ]


def stored_frames(doc: Doc) -> list[SpanGroup]:
    """Find the groups that `set_frames` created. It is an error if one has lost its attributes, as
    in `Doc.from_docs`."""
    groups = []
    for key in _frame_keys(doc):
        group = doc.spans[key]
        if not group.attrs.keys() >= _ATTRIBUTES:
            raise ValueError(Errors.P460.format(key=key, text=doc.text[:60]))
        groups.append(group)
    return groups


def move_spans(spans: Iterable[LabeledSpan], offset: int) -> list[LabeledSpan]:
    """Add an offset to the tokens of spans."""
    return [(start + offset, end + offset, label) for start, end, label in spans]


def move_frame(frame: Frame, offset: int) -> Frame:
    """Add an offset to the tokens of a frame."""
    if offset == 0:
        return frame
    arguments = move_spans(frame.arguments, offset)
    return Frame(frame.predicate + offset, frame.lemma, frame.sense, arguments)


def join_continuations(labels: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Join the pieces of discontinuous arguments, as the CoNLL-2005 evaluation script does."""
    joined: list[tuple[str, list[int]]] = []
    last: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        role = label.removeprefix(CONTINUATION)
        if role != label and role in last:
            last[role].append(place)
            continue
        last[role] = [place]
        joined.append((role, last[role]))
    return joined


def has_frames(doc: Doc) -> bool:
    """Check whether frames are annotated, even if there are none of them."""
    return FRAMES_KEY in doc.spans


def clear_frames(doc: Doc) -> None:
    """Remove the frame annotation from a Doc.

    doc (Doc): The Doc.
    """
    for key in _frame_keys(doc):
        del doc.spans[key]
    if FRAMES_KEY in doc.spans:
        del doc.spans[FRAMES_KEY]


def _frame_keys(doc: Doc) -> list[str]:
    # Span groups of other components may have similar names
    numbers = {key: _KEY.fullmatch(key) for key in doc.spans}
    found = {key: int(match[1]) for key, match in numbers.items() if match}
    # By number: with more than 10,000 frames, keys have more digits
    return sorted(found, key=lambda key: found[key])


def give_predicates(doc: Doc, frames: list[Frame], example: Example | None = None) -> None:
    """Copy the predicates of frames to a Doc, without their arguments. If the frames are from the
    reference of an example, predicates that align with no token of their own are left out."""
    given = []
    taken = set[int]()
    # Only once, see `align_spans`
    alignment = example.alignment.y2x if example is not None and frames else None
    for frame in frames:
        token = frame.predicate
        if alignment is not None:
            places = alignment[token]
            if len(places) == 0 or int(places[0]) in taken:
                continue
            token = int(places[0])
            taken.add(token)
        given.append(Frame(token, frame.lemma, frame.sense, []))
    set_frames(doc, given)
