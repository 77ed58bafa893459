"""Convert sentences to spaCy's Docs, and back."""

from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from spacy.tokens import Doc
from spacy.tokens import Span as SpacySpan
from spacy.vocab import Vocab

from ..annotation.propositions import (
    Frame,
    add_groups,
    get_frames,
    has_frames,
    move_frame,
    move_spans,
)
from ..annotation.schemes import Span
from ..annotation.targets import DOCUMENT_KEY, SPEAKERS_KEY
from ..errors import Errors
from .docbins import CHUNKS_KEY, Encoder, span_groups, token_attributes, white_space
from .sentence import Sentence, unwritable

MAX_DOC_TOKENS = 2_000_000


def make_doc(vocab: Vocab, sentences: Sequence[Sentence], *, chunks_key: str = CHUNKS_KEY) -> Doc:
    """Make a Doc from sentences.

    If a format does not record the whitespace between words, it is unknown; spaCy then keeps the
    words as they are in training and evaluation and does not retokenize the text.

    sentences (Sequence[Sentence]): The sentences. Spans and frames are set on the Doc if all
        sentences have the layer; tags, pos, morphs and lemmas are set on the tokens that have them.
    chunks_key (str): The key of the chunks in `doc.spans`. If chunks are annotated, the group
        exists even if it is empty: a Doc without the key has no chunk annotation.
    RETURNS (Doc): A Doc with words, whitespace, sentence starts, `token.tag_`, `token.pos_`,
        `token.morph`, `token.lemma_`, `doc.ents`, the chunks in `doc.spans`, the frames as in
        `set_frames`, and in `doc.spans["speakers"]` each sentence whose speaker is known. If
        documents are known, `doc.spans["document"]` has one span labeled with the document name of
        the first sentence (or ""), and `attrs["starts"]` says whether the document begins here.
    """
    words = [word for sentence in sentences for word in sentence.words]
    doc = Doc(vocab, words=words, spaces=white_space(sentences))
    # The constructor also accepts annotation, but takes more than twice as long.
    attributes = token_attributes(sentences, Encoder.of_vocab(vocab))
    doc.from_array(list(attributes), np.array(list(attributes.values()), dtype=np.uint64).T)
    add_groups(doc, span_groups(sentences, chunks_key))
    return doc


def make_docs(
    vocab: Vocab,
    sentences: Iterable[Sentence],
    *,
    n_sents: int = 1,
    chunks_key: str = CHUNKS_KEY,
    path: str | Path = "The corpus",
) -> Generator[Doc, None, None]:
    """Group sentences into Docs, `n_sents` in each, or fewer at the end of a document; with 0, a
    Doc is a document. No Doc crosses a document boundary, or has more than 2,000,000 tokens."""
    for group in group_sentences(sentences, n_sents=n_sents, path=path):
        yield make_doc(vocab, group, chunks_key=chunks_key)


def group_sentences(
    sentences: Iterable[Sentence], *, n_sents: int = 1, path: str | Path = "The corpus"
) -> Iterator[list[Sentence]]:
    """Group sentences, never across a document boundary."""
    if n_sents < 0:
        raise ValueError(Errors.P118.format(n_sents=n_sents, expected="0 or more"))
    group: list[Sentence] = []
    n_tokens = 0
    for sentence in sentences:
        if group and (sentence.starts_document or len(group) == n_sents):
            yield group
            group, n_tokens = [], 0
        group.append(sentence)
        n_tokens += len(sentence.words)
        if n_tokens > MAX_DOC_TOKENS:
            line = group[0].line
            raise ValueError(Errors.P147.format(path=path, line=line, limit=MAX_DOC_TOKENS))
    if group:
        yield group


def make_sentences(docs: Iterable[Doc], *, chunks_key: str = CHUNKS_KEY) -> Iterator[Sentence]:
    """Convert Docs to sentences, the inverse of `make_docs`; `line` is the number of the sentence,
    from 1. A Doc without sentence boundaries is one sentence. A layer is None if no token of the
    sentence is annotated, or the Doc does not have it. In a Doc that `Doc.from_docs` has merged, a
    document begins where another name does."""
    number = 0
    document: str | None = None
    for doc in docs:
        if len(doc) == 0:
            continue
        sents = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
        starts = [sent.start for sent in sents]
        group = doc.spans.get(DOCUMENT_KEY, ())
        names = {span.start: span.label_ or None for span in group}
        # None in merged Docs, whose groups have lost their attributes
        begins = doc.spans[DOCUMENT_KEY].attrs.get("starts") if names else False
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
            name = names.get(offset, document if i else None)
            starts_document = name != document if i or begins is None else bool(begins)
            document = name
            sentence = Sentence(
                words=[token.text for token in sent],
                tags=_annotated([token.tag_ for token in sent]),
                pos=_annotated([token.pos_ for token in sent]),
                morphs=_annotated([(str(t.morph) or "_") if t.has_morph() else "" for t in sent]),
                lemmas=_annotated([token.lemma_ for token in sent]),
                spaces=None
                if doc.has_unknown_spaces
                else [bool(token.whitespace_) for token in sent],
                ents=None if ents is None else move_spans(ents[i], -offset),
                chunks=None if chunks is None else move_spans(chunks[i], -offset),
                frames=None if frames is None else [move_frame(f, -offset) for f in frames[i]],
                speakers=speakers.get(offset),
                document=document,
                starts_document=starts_document,
                line=number,
            )
            _check_ends(sentence)
            yield sentence


def _annotated(values: list[str]) -> list[str] | None:
    return values if any(values) else None


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
            raise unwritable(sentence, "sentences", problem)
