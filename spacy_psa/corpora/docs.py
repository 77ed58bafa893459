"""From sentences to spaCy's Docs."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab

from ..errors import Errors
from .frames import set_frames
from .sentence import Frame, Sentence

CHUNKS_KEY = "chunks"
SPEAKERS_KEY = "speakers"
DOCUMENT_KEY = "document"
MAX_DOC_TOKENS = 2_000_000
# The layers of one value a token, to Sentence and to the constructor of Doc.
_TOKEN_LAYERS = ("tags", "pos", "morphs", "lemmas")


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
    spaces = None
    if all(sentence.spaces is not None for sentence in sentences):
        spaces = [space for sentence in sentences for space in sentence.spaces or ()]
    layers = {name: _token_layer(sentences, name) for name in _TOKEN_LAYERS}
    doc = Doc(
        vocab,
        words=words,
        spaces=spaces,
        sent_starts=[i == 0 for sentence in sentences for i in range(len(sentence.words))],
        **layers,
    )
    for i, features in enumerate(layers["morphs"] or ()):
        if not features:
            # The constructor takes "" for an analysis without features.
            doc[i].set_morph(None)
    chunks = _spans(doc, sentences, [sentence.chunks for sentence in sentences])
    if chunks is not None:
        doc.spans[chunks_key] = chunks
    ents = _spans(doc, sentences, [sentence.ents for sentence in sentences])
    if ents is not None:
        # All other tokens are then known to be outside of entities, rather than not annotated.
        doc.set_ents(ents, default="outside")
    frames = _frames(sentences)
    if frames is not None:
        set_frames(doc, frames)
    speakers = [
        Span(doc, offset, offset + len(sentence.words), label=sentence.speakers)
        for offset, sentence in _with_offsets(sentences)
        if sentence.speakers is not None
    ]
    if speakers:
        doc.spans[SPEAKERS_KEY] = speakers
    if sentences and (sentences[0].document is not None or sentences[0].starts_document):
        doc.spans[DOCUMENT_KEY] = SpanGroup(
            doc,
            name=DOCUMENT_KEY,
            attrs={"starts": sentences[0].starts_document},
            spans=[Span(doc, 0, len(doc), label=sentences[0].document or "")],
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
    if n_sents < 0:
        raise ValueError(Errors.P118.format(n_sents=n_sents, expected="0 or more"))
    group: list[Sentence] = []
    n_tokens = 0
    for sentence in sentences:
        if group and (sentence.starts_document or len(group) == n_sents):
            yield make_doc(vocab, group, chunks_key=chunks_key)
            group, n_tokens = [], 0
        group.append(sentence)
        n_tokens += len(sentence.words)
        if n_tokens > MAX_DOC_TOKENS:
            line = group[0].line
            raise ValueError(Errors.P147.format(path=path, line=line, limit=MAX_DOC_TOKENS))
    if group:
        yield make_doc(vocab, group, chunks_key=chunks_key)


def _with_offsets(sentences: Sequence[Sentence]) -> Iterator[tuple[int, Sentence]]:
    """Each sentence with the number of tokens before it."""
    offset = 0
    for sentence in sentences:
        yield offset, sentence
        offset += len(sentence.words)


def _token_layer(sentences: Sequence[Sentence], layer: str) -> list[str] | None:
    """One value a token, "" where it is not annotated; None if no sentence has the layer."""
    if all(getattr(sentence, layer) is None for sentence in sentences):
        return None
    values: list[str] = []
    for sentence in sentences:
        annotated = getattr(sentence, layer)
        values += annotated if annotated is not None else [""] * len(sentence.words)
    return values


def _spans(
    doc: Doc, sentences: Sequence[Sentence], layer: Sequence[list[tuple[int, int, str]] | None]
) -> list[Span] | None:
    """The spans of a layer on the Doc; None if a sentence is without it."""
    if any(annotated is None for annotated in layer):
        return None
    return [
        Span(doc, offset + start, offset + end, label=label)
        for (offset, _), annotated in zip(_with_offsets(sentences), layer, strict=True)
        for start, end, label in annotated or ()
    ]


def _frames(sentences: Sequence[Sentence]) -> list[Frame] | None:
    """The frames of all sentences, with indices in the Doc; None if a sentence is without them."""
    if any(sentence.frames is None for sentence in sentences):
        return None
    return [
        Frame(
            frame.predicate + offset,
            frame.lemma,
            frame.sense,
            [(start + offset, end + offset, label) for start, end, label in frame.arguments],
        )
        for offset, sentence in _with_offsets(sentences)
        for frame in sentence.frames or ()
    ]
