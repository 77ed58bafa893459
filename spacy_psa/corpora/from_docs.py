"""Convert spaCy's Docs to sentences."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from spacy.tokens import Doc
from spacy.tokens import Span as SpacySpan

from ..annotation.propositions import Frame, get_frames, has_frames
from ..annotation.schemes import Span
from ..errors import Errors
from .docs import CHUNKS_KEY
from .encoding import DOCUMENT_KEY, SPEAKERS_KEY
from .sentence import Sentence


def make_sentences(docs: Iterable[Doc], *, chunks_key: str = CHUNKS_KEY) -> Iterator[Sentence]:
    """Convert Docs to sentences, the inverse of `make_docs`.

    docs (Iterable[Doc]): The Docs. A Doc without sentence boundaries is one sentence.
    chunks_key (str): The key of the chunks in `doc.spans`.
    YIELDS (Sentence): The sentences; `line` is the number of the sentence, from 1. A layer is None
        if no token of the sentence is annotated, or the Doc does not have it.
    RAISES (ValueError): If a span or an argument crosses a sentence boundary.
    """
    number = 0
    for doc in docs:
        if len(doc) == 0:
            continue
        sents = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
        starts = [sent.start for sent in sents]
        document, begins = None, False
        if doc.spans.get(DOCUMENT_KEY):
            document = doc.spans[DOCUMENT_KEY][0].label_ or None
            begins = bool(doc.spans[DOCUMENT_KEY].attrs.get("starts"))
        ents = _by_sentence(doc.ents, starts) if doc.has_annotation("ENT_IOB") else None
        chunks = _by_sentence(doc.spans[chunks_key], starts) if chunks_key in doc.spans else None
        speakers = {span.start: span.label_ for span in doc.spans.get(SPEAKERS_KEY, ())}
        frames: list[list[Frame]] | None = None
        if has_frames(doc):
            frames = [[] for _ in sents]
            for frame in get_frames(doc):
                frames[bisect_right(starts, frame.predicate) - 1].append(frame)
        for i, sent in enumerate(sents):
            number += 1
            offset = sent.start
            sentence = Sentence(
                words=[token.text for token in sent],
                tags=_annotated([token.tag_ for token in sent]),
                pos=_annotated([token.pos_ for token in sent]),
                morphs=_annotated([(str(t.morph) or "_") if t.has_morph() else "" for t in sent]),
                lemmas=_annotated([token.lemma_ for token in sent]),
                spaces=None
                if doc.has_unknown_spaces
                else [bool(token.whitespace_) for token in sent],
                ents=None if ents is None else _shifted(ents[i], offset),
                chunks=None if chunks is None else _shifted(chunks[i], offset),
                frames=None
                if frames is None
                else [
                    Frame(f.predicate - offset, f.lemma, f.sense, _shifted(f.arguments, offset))
                    for f in frames[i]
                ],
                speakers=speakers.get(offset),
                document=document,
                starts_document=begins and i == 0,
                line=number,
            )
            _check_ends(sentence)
            yield sentence


def _annotated(values: list[str]) -> list[str] | None:
    return values if any(values) else None


def _shifted(spans: Iterable[Span], offset: int) -> list[Span]:
    return [(start - offset, end - offset, label) for start, end, label in spans]


def _by_sentence(spans: Iterable[SpacySpan], starts: Sequence[int]) -> list[list[Span]]:
    groups: list[list[Span]] = [[] for _ in starts]
    for span in spans:
        place = bisect_right(starts, span.start) - 1
        groups[place].append((span.start, span.end, span.label_))
    return groups


def _check_ends(sentence: Sentence) -> None:
    n_words = len(sentence.words)
    arguments = [span for frame in sentence.frames or () for span in frame.arguments]
    for start, end, label in (*(sentence.ents or ()), *(sentence.chunks or ()), *arguments):
        if start < 0 or end > n_words:
            problem = f"the span {label} ({start}-{end}) crosses a sentence boundary"
            text = " ".join(sentence.words)
            text = text if len(text) <= 60 else text[:59] + "…"
            raise ValueError(
                Errors.P165.format(
                    index=sentence.line, text=text, form="sentences", problem=problem
                )
            )
