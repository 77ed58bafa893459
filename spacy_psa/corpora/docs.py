"""Convert sentences to spaCy's Docs."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab

from ..errors import Errors
from .encoding import Encoder, span_groups, token_attributes, white_space
from .sentence import Sentence

CHUNKS_KEY = "chunks"
MAX_DOC_TOKENS = 2_000_000


def make_doc(vocab: Vocab, sentences: Sequence[Sentence], *, chunks_key: str = CHUNKS_KEY) -> Doc:
    """Make a Doc from sentences.

    If a format does not record the whitespace between words, it is unknown; spaCy then keeps the
    words as they are in training and evaluation and does not retokenize the text.

    vocab (Vocab): The vocabulary.
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
    for key, spans, attrs in span_groups(sentences, chunks_key):
        doc.spans[key] = SpanGroup(
            doc, name=key, attrs=attrs, spans=[Span(doc, *span) for span in spans]
        )
    return doc


def make_docs(
    vocab: Vocab,
    sentences: Iterable[Sentence],
    *,
    n_sents: int = 1,
    chunks_key: str = CHUNKS_KEY,
    path: str | Path = "The corpus",
) -> Generator[Doc, None, None]:
    """Group sentences into Docs. No Doc crosses a document boundary.

    vocab (Vocab): The vocabulary.
    sentences (Iterable[Sentence]): The sentences.
    n_sents (int): The number of sentences per Doc, fewer at the end of a document. 0 makes one Doc
        per document.
    chunks_key (str): The key of the chunks in `doc.spans`.
    path (Union[str, Path]): The source of the sentences, for messages.
    YIELDS (Doc): The Docs.
    RAISES (ValueError): If `n_sents` is negative, or a Doc would have more than 2,000,000 tokens.
    """
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
