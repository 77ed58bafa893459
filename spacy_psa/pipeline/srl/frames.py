"""The user's view of frames: `doc._.frames`, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from spacy.tokens import Doc, Span, SpanGroup, Token

from ...annotation.propositions import (
    PREDICATE_LABEL,
    Frame,
    join_continuations,
    set_frames,
    stored_frames,
)
from ...terminal import text_table

REFERENCE = "R-"


@dataclass(frozen=True)
class FramePrediction:
    """A predicted frame.

    frame (Frame): The predicate and its arguments.
    probability (Optional[float]): The probability of the whole label sequence.
    probabilities (Optional[List[float]]): The probabilities of the arguments, in order.
    """

    frame: Frame
    probability: float | None = None
    probabilities: list[float] | None = None


@dataclass(frozen=True)
class RoleArgument:
    """An argument, in one or more pieces.

    role (str): The role, without `C-` and `R-`.
    spans (Tuple[Span, ...]): Its pieces, in order, with their raw labels.
    is_reference (bool): Whether it refers to the argument with this role, e.g. a relative pronoun
        labeled `R-A0`.
    probability (Optional[float]): The probability of its first piece, if known.
    """

    role: str
    spans: tuple[Span, ...]
    is_reference: bool
    probability: float | None

    @property
    def text(self) -> str:
        """RETURNS (str): Its text, with an ellipsis between the pieces."""
        return " … ".join(span.text for span in self.spans)


class PredicateFrame:
    """A predicate with its arguments: a view of a span group in `doc.spans`.

    group (SpanGroup): The span group `doc.spans["frames/…"]`.
    """

    def __init__(self, group: SpanGroup) -> None:
        # A group does not keep its Doc alive.
        self.doc: Doc = group.doc
        self.group = group

    @property
    def key(self) -> str:
        """RETURNS (str): The key in `doc.spans`, e.g. for displaCy."""
        return self.group.name

    @property
    def predicate(self) -> Token:
        """RETURNS (Token): The predicate."""
        return self.doc[self.group.attrs["predicate"]]

    @property
    def lemma(self) -> str | None:
        """RETURNS (Optional[str]): Its lemma, if known."""
        return self.group.attrs["lemma"]

    @property
    def sense(self) -> str | None:
        """RETURNS (Optional[str]): Its sense, if known."""
        return self.group.attrs["sense"]

    @property
    def probability(self) -> float | None:
        """RETURNS (Optional[float]): The probability of the whole label sequence, if known."""
        return self.group.attrs.get("probability")

    @property
    def spans(self) -> list[Span]:
        """RETURNS (List[Span]): The labeled spans, including V, C- and R-."""
        return list(self.group)

    @property
    def arguments(self) -> list[RoleArgument]:
        """RETURNS (List[RoleArgument]): The arguments, without V, in order. A C- piece belongs to
        the last preceding argument with its role; if there is none, it is its own argument.
        """
        probabilities = self.group.attrs.get("probabilities")
        if probabilities is None or len(probabilities) != len(self.group):
            # None were predicted, or the spans are no longer those that were
            probabilities = [None] * len(self.group)
        order = sorted(range(len(self.group)), key=lambda i: self.group[i].start)
        found = []
        for role, pieces in join_continuations([self.group[i].label_ for i in order]):
            if role == PREDICATE_LABEL:
                continue
            places = [order[i] for i in pieces]
            spans = tuple(self.group[i] for i in places)
            is_reference = role.startswith(REFERENCE)
            role = role.removeprefix(REFERENCE)
            found.append(RoleArgument(role, spans, is_reference, probabilities[places[0]]))
        return found

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{REFERENCE * a.is_reference}{a.role}: {a.text!r}" for a in self.arguments
        )
        return f"<{self.predicate.text}({parts})>"


def annotate_frames(doc: Doc, predictions: Sequence[FramePrediction]) -> None:
    """Write predictions to a Doc, replacing its frames. Probabilities are stored in the `attrs` of
    the span groups."""
    set_frames(doc, [prediction.frame for prediction in predictions])
    for group, prediction in zip(stored_frames(doc), predictions, strict=True):
        if prediction.probability is not None:
            group.attrs["probability"] = prediction.probability
        if prediction.probabilities is not None:
            group.attrs["probabilities"] = prediction.probabilities


def frames_of(doc: Doc) -> list[PredicateFrame]:
    """Get the frames of a Doc: `doc._.frames`.

    doc (Doc): The Doc.
    RETURNS (List[PredicateFrame]): Its frames, in the order in which they were set.
    RAISES (ValueError): If a frame has lost its predicate.
    """
    return [PredicateFrame(group) for group in stored_frames(doc)]


def format_frames(doc: Doc) -> str:
    """Format a table for each sentence with frames: one line per token and one column per
    predicate, with the role at an argument's first token and a bar down to its last. It does not
    have tokens of other sentences, in which there are arguments if `psa_srl` was run before the
    sentences were known.

    doc (Doc): The Doc.
    RETURNS (str): The tables.
    """
    ends = [len(doc)]
    if doc.has_annotation("SENT_START"):
        ends = [sentence.end for sentence in doc.sents]

    def sentence_end(frame: PredicateFrame) -> int:
        return next(end for end in ends if frame.predicate.i < end)

    tables = []
    starts = dict(zip(ends, [0, *ends], strict=False))
    frames = sorted(frames_of(doc), key=lambda frame: frame.predicate.i)
    for end, group in groupby(frames, key=sentence_end):
        columns = list(_columns(group, starts[end], end))
        words = [token.text for token in doc[starts[end] : end]]
        rows = list(zip(words, *(marks for _, marks in columns), strict=True))
        tables.append(text_table(rows, ("", *(title for title, _ in columns))))
    return "".join(tables)


def _columns(
    frames: Iterator[PredicateFrame], start: int, end: int
) -> Iterator[tuple[str, list[str]]]:
    for frame in frames:
        name = frame.lemma or frame.predicate.text
        marks = [""] * (end - start)
        for span in frame.spans:
            for i in range(max(span.start, start), min(span.end, end)):
                marks[i - start] = "│" if i < span.end - 1 else "└"
            if start <= span.start < end:
                marks[span.start - start] = span.label_
        yield ".".join(part for part in (name, frame.sense) if part), marks


def register_extension() -> None:
    """Register `doc._.frames` with spaCy."""
    Doc.set_extension("frames", getter=frames_of, force=True)


register_extension()
