"""From sentences to spaCy's Docs."""

from collections.abc import Iterable, Iterator, Sequence

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..errors import Errors
from .sentence import Sentence

CHUNKS_KEY = "chunks"


def make_doc(vocab: Vocab, sentences: Sequence[Sentence], *, chunks_key: str = CHUNKS_KEY) -> Doc:
    """Make a Doc of sentences.

    The white space between words is not known from column files; spaCy then keeps the words as
    they are in training and evaluation, and does not tokenize the text anew.

    vocab (Vocab): The vocabulary.
    sentences (Sequence[Sentence]): The sentences. A layer is annotated on the Doc if all of them
        have it.
    chunks_key (str): The key of the chunks in `doc.spans`. The group is there, if only an empty
        one, wherever chunks are annotated: a Doc without the key is one without the annotation.
    RETURNS (Doc): Words, sentence starts, `token.tag_`, `doc.ents` and the chunks in `doc.spans`.
    """
    words = [word for sentence in sentences for word in sentence.words]
    starts = [i == 0 for sentence in sentences for i in range(len(sentence.words))]
    tags = None
    if all(sentence.tags is not None for sentence in sentences):
        tags = [tag for sentence in sentences for tag in sentence.tags or ()]
    doc = Doc(vocab, words=words, tags=tags, sent_starts=starts)
    chunks = _spans(doc, sentences, [sentence.chunks for sentence in sentences])
    if chunks is not None:
        doc.spans[chunks_key] = chunks
    ents = _spans(doc, sentences, [sentence.ents for sentence in sentences])
    if ents is not None:
        # All other tokens are then known to be outside of entities, rather than not annotated.
        doc.set_ents(ents, default="outside")
    return doc


def make_docs(
    vocab: Vocab,
    sentences: Iterable[Sentence],
    *,
    n_sents: int = 1,
    chunks_key: str = CHUNKS_KEY,
) -> Iterator[Doc]:
    """Group sentences into Docs. No Doc reaches over a document boundary.

    vocab (Vocab): The vocabulary.
    sentences (Iterable[Sentence]): The sentences.
    n_sents (int): The number of sentences in a Doc, fewer at the end of a document. 0 makes one
        Doc of each document.
    chunks_key (str): The key of the chunks in `doc.spans`.
    YIELDS (Doc): The Docs.
    RAISES (ValueError): If `n_sents` is negative.
    """
    if n_sents < 0:
        raise ValueError(Errors.P118.format(n_sents=n_sents, expected="0 or more"))
    group: list[Sentence] = []
    for sentence in sentences:
        if group and (sentence.starts_document or len(group) == n_sents):
            yield make_doc(vocab, group, chunks_key=chunks_key)
            group = []
        group.append(sentence)
    if group:
        yield make_doc(vocab, group, chunks_key=chunks_key)


def _spans(
    doc: Doc, sentences: Sequence[Sentence], layer: Sequence[list[tuple[int, int, str]] | None]
) -> list[Span] | None:
    """The spans of a layer on the Doc; None if a sentence is without it."""
    spans = []
    offset = 0
    for sentence, annotated in zip(sentences, layer, strict=True):
        if annotated is None:
            return None
        spans += [Span(doc, offset + s, offset + e, label=label) for s, e, label in annotated]
        offset += len(sentence.words)
    return spans
