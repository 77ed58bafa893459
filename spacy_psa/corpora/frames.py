"""Predicates and their arguments on a Doc, in span groups that spaCy stores."""

from collections.abc import Sequence

from spacy.tokens import Doc, Span, SpanGroup

from .sentence import Frame

FRAMES_KEY = "frames"
PREDICATE_LABEL = "V"


def set_frames(doc: Doc, frames: Sequence[Frame]) -> None:
    """Put frames on a Doc, in place of those it has.

    Each frame becomes a group `doc.spans["frames/0000"]` and so on, whose spans are the arguments
    and whose `attrs` have predicate, lemma and sense. The group `doc.spans["frames"]` has one span
    for each predicate, so that a Doc without predicates differs from one without annotation.

    doc (Doc): The Doc.
    frames (Sequence[Frame]): The frames; all indices are those of tokens of the Doc.
    RAISES (IndexError): If a span does not lie within the Doc.
    """
    clear_frames(doc)
    predicates = []
    for n, frame in enumerate(frames):
        key = f"{FRAMES_KEY}/{n:04d}"
        doc.spans[key] = SpanGroup(
            doc,
            name=key,
            attrs={"predicate": frame.predicate, "lemma": frame.lemma, "sense": frame.sense},
            spans=[Span(doc, start, end, label=label) for start, end, label in frame.arguments],
        )
        label = ".".join(part for part in (frame.lemma, frame.sense) if part) or PREDICATE_LABEL
        predicates.append(Span(doc, frame.predicate, frame.predicate + 1, label=label))
    doc.spans[FRAMES_KEY] = SpanGroup(doc, name=FRAMES_KEY, spans=predicates)


def get_frames(doc: Doc) -> list[Frame]:
    """Read the frames of a Doc.

    doc (Doc): The Doc.
    RETURNS (List[Frame]): The frames, with indices of tokens of the Doc, in the order in which they
        were set; empty also where `has_frames` is False.
    """
    return [
        Frame(
            predicate=group.attrs["predicate"],
            lemma=group.attrs["lemma"],
            sense=group.attrs["sense"],
            arguments=[(span.start, span.end, span.label_) for span in group],
        )
        for group in (doc.spans[key] for key in _frame_keys(doc))
    ]


def has_frames(doc: Doc) -> bool:
    """Tell whether frames are annotated.

    doc (Doc): The Doc.
    RETURNS (bool): Whether they are, be it that there are none.
    """
    return FRAMES_KEY in doc.spans


def clear_frames(doc: Doc) -> None:
    """Take the annotation of frames off a Doc.

    doc (Doc): The Doc.
    """
    for key in _frame_keys(doc):
        del doc.spans[key]
    if FRAMES_KEY in doc.spans:
        del doc.spans[FRAMES_KEY]


def _frame_keys(doc: Doc) -> list[str]:
    keys = (key for key in doc.spans if key.startswith(f"{FRAMES_KEY}/"))
    # By number: with more than 10,000 frames the keys have more digits.
    return sorted(keys, key=lambda key: int(key.rpartition("/")[2]))
