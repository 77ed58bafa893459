"""From sentences to spaCy's Docs."""

from collections.abc import Iterable, Iterator, Sequence
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
    """Make a Doc of sentences.

    Where a format does not tell the white space between words, it is unknown; spaCy then keeps the
    words as they are in training and evaluation, and does not tokenize the text anew.

    vocab (Vocab): The vocabulary.
    sentences (Sequence[Sentence]): The sentences. Spans and frames are annotated on the Doc if all
        of them have the layer; tags, pos, morphs and lemmas on the tokens that have them.
    chunks_key (str): The key of the chunks in `doc.spans`. The group is there, if only an empty
        one, wherever chunks are annotated: a Doc without the key is one without the annotation.
    RETURNS (Doc): Words, white space, sentence starts, `token.tag_`, `token.pos_`, `token.morph`,
        `token.lemma_`, `doc.ents`, the chunks in `doc.spans`, the frames as in `set_frames`, and
        in `doc.spans["speakers"]` each sentence whose speaker is known. If documents are known,
        `doc.spans["document"]` has one span with the name (or "") of that of the first sentence,
        and in `attrs["starts"]` whether it begins here.
    """
    words = [word for sentence in sentences for word in sentence.words]
    doc = Doc(vocab, words=words, spaces=white_space(sentences))
    # The constructor takes annotation as well, in more than twice the time.
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
) -> Iterator[Doc]:
    """Group sentences into Docs. No Doc reaches over a document boundary.

    vocab (Vocab): The vocabulary.
    sentences (Iterable[Sentence]): The sentences.
    n_sents (int): The number of sentences in a Doc, fewer at the end of a document. 0 makes one
        Doc of each document.
    chunks_key (str): The key of the chunks in `doc.spans`.
    path (Union[str, Path]): Where the sentences are from, for messages.
    YIELDS (Doc): The Docs.
    RAISES (ValueError): If `n_sents` is negative, or a Doc would have more than 2,000,000 tokens.
    """
    for group in group_sentences(sentences, n_sents=n_sents, path=path):
        yield make_doc(vocab, group, chunks_key=chunks_key)


def group_sentences(
    sentences: Iterable[Sentence], *, n_sents: int = 1, path: str | Path = "The corpus"
) -> Iterator[list[Sentence]]:
    """Group sentences, never over a document boundary.

    sentences (Iterable[Sentence]): The sentences.
    n_sents (int): The number of sentences in a group, fewer at the end of a document; 0 for whole
        documents.
    path (Union[str, Path]): Where the sentences are from, for messages.
    YIELDS (List[Sentence]): The groups.
    RAISES (ValueError): If `n_sents` is negative, or a group has more than 2,000,000 tokens.
    """
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
