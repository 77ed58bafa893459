"""Annotated sentences, the format-independent output of all readers."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, compress
from typing import Any

from ..annotation.propositions import Frame
from ..annotation.schemes import Span
from ..errors import Errors
from ..printable import shortened
from .problems import Problems

LAYERS = ("tags", "pos", "morphs", "lemmas", "chunks", "ents", "frames", "speakers")


@dataclass(frozen=True)
class Sentence:
    """A sentence. Missing annotation is None, as opposed to [] for annotation without spans.

    If only some tokens are annotated, the others have "" in `tags`, `pos`, `morphs` and `lemmas`. A
    token that is annotated as having no morphological features has "_".

    words (List[str]): The words.
    tags (Optional[List[str]]): The language-specific part-of-speech tags, or other fine-grained
        tags.
    chunks (Optional[List[Span]]): The chunks: start, end, label.
    ents (Optional[List[Span]]): The named entities. Tokens that may be in one have a span with the
        label "".
    starts_document (bool): Whether a document starts with this sentence.
    line (int): The line of the first word in the file.
    pos (Optional[List[str]]): The universal parts of speech.
    morphs (Optional[List[str]]): The morphological features, e.g. "Case=Nom|Number=Sing".
    lemmas (Optional[List[str]]): The lemmas.
    frames (Optional[List[Frame]]): The predicates with their arguments.
    spaces (Optional[List[bool]]): Whether whitespace follows each word; None if unknown.
    speakers (Optional[str]): The speaker of the sentence.
    document (Optional[str]): The name of its document, including that of the part, if any.
    sent_id (Optional[str]): The ID of the sentence.
    is_sentence (bool): Whether it is one; False for a text whose sentence boundaries are unknown.
    """

    words: list[str]
    tags: list[str] | None = None
    chunks: list[Span] | None = None
    ents: list[Span] | None = None
    starts_document: bool = False
    line: int = 0
    pos: list[str] | None = None
    morphs: list[str] | None = None
    lemmas: list[str] | None = None
    frames: list[Frame] | None = None
    spaces: list[bool] | None = None
    speakers: str | None = None
    document: str | None = None
    sent_id: str | None = None
    is_sentence: bool = True

    def only(self, layers: Collection[str]) -> "Sentence":
        """Keep only some layers."""
        dropped: dict[str, Any] = {
            name: None for name in LAYERS if name not in layers and getattr(self, name) is not None
        }
        return replace(self, **dropped) if dropped else self


def unwritable(sentence: Sentence, form: str, problem: str) -> ValueError:
    """Create the error for a sentence that cannot be written in a form."""
    text = shortened(" ".join(sentence.words), 60)
    return ValueError(
        Errors.P165.format(index=sentence.line, text=text, form=form, problem=problem)
    )


# Others, such as a no-break space, separate no columns.
_BLANK = re.compile(r"\s*[ \t\n\v\f\r]\s*")


def leave_out_blanks(sentences: Iterable[Sentence], problems: Problems) -> Iterator[Sentence]:
    """Leave out tokens of white space. Spans keep their other tokens, and end where they did."""
    starts_document = False
    last: Sentence | None = None
    for sentence in sentences:
        starts_document = starts_document or sentence.starts_document
        keep = [_BLANK.fullmatch(word) is None for word in sentence.words]
        if last is not None:
            if last.spaces and not keep[0]:
                last = replace(last, spaces=[*last.spaces[:-1], True])
            yield last
            last = None
        if not all(keep):
            word = sentence.words[keep.index(False)]
            first = f"in sentence {sentence.line}: {word!r}"
            problems.note("tokens of white space, left out", keep.count(False), first=first)
            sentence = _compressed(sentence, keep, problems)
        if sentence.words:
            last, starts_document = replace(sentence, starts_document=starts_document), False
    if last is not None:
        yield last


def _compressed(sentence: Sentence, keep: list[bool], problems: Problems) -> Sentence:
    at = list(accumulate(keep, initial=0))

    def moved(spans: list[Span]) -> list[Span]:
        found = [(at[start], at[end], label) for start, end, label in spans]
        kept = [span for span in found if span[0] < span[1]]
        if len(kept) < len(found):
            problems.note("spans of white space, left out", len(found) - len(kept))
        return kept

    values: dict[str, Any] = {}
    for name in ("tags", "pos", "morphs", "lemmas"):
        layer = list(compress(getattr(sentence, name) or (), keep))
        values[name] = layer if any(layer) else None
    frames = sentence.frames
    if frames is not None:
        lost = sum(not keep[frame.predicate] for frame in frames)
        if lost:
            problems.note("predicates of white space, left out", lost)
        frames = [
            Frame(at[frame.predicate], frame.lemma, frame.sense, moved(frame.arguments))
            for frame in frames
            if keep[frame.predicate]
        ]
    spaces = sentence.spaces
    if spaces is not None:
        followed = [not is_kept for is_kept in keep[1:]] + [False]
        spaces = [a or b for a, b in zip(spaces, followed, strict=True)]
        spaces = list(compress(spaces, keep))
    return replace(
        sentence,
        words=list(compress(sentence.words, keep)),
        chunks=sentence.chunks and moved(sentence.chunks),
        ents=sentence.ents and moved(sentence.ents),
        frames=frames,
        spaces=spaces,
        **values,
    )
