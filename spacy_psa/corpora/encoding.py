"""Encode sentences as spaCy stores them: numeric token attributes and span groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spacy.attrs import ENT_IOB, ENT_TYPE, LEMMA, MORPH, POS, SENT_START, TAG
from spacy.parts_of_speech import IDS as UPOS_IDS
from spacy.vocab import Vocab

from ..annotation.propositions import Frame, frame_groups
from ..annotation.schemes import Span
from .sentence import Sentence

SPEAKERS_KEY = "speakers"
DOCUMENT_KEY = "document"
# Values of SENT_START (unsigned, like all attributes) and of ENT_IOB.
_START, _NO_START, _UNKNOWN_START = 1, 2**64 - 1, 0
_INSIDE, _OUTSIDE, _BEGIN = 1, 2, 3


@dataclass(frozen=True)
class Encoder:
    """Map annotation to numbers.

    string (Callable[[str], int]): Adds a string to the vocabulary and returns its hash.
    features (Callable[[str], int]): The same for morphological features, such as "Case=Nom". "_" is
        an analysis without features, "" is no analysis.
    """

    string: Callable[[str], int]
    features: Callable[[str], int]

    @classmethod
    def of_vocab(cls, vocab: Vocab) -> "Encoder":
        """Create an encoder for a vocabulary."""
        add = vocab.morphology.add
        # spaCy reads "" as an analysis without features.
        return cls(vocab.strings.add, lambda features: add(features) if features else 0)


# A span group: its key in `doc.spans`, which is also its name, its spans, and its attributes.
Group = tuple[str, list[Span], dict[str, Any]]


def token_attributes(sentences: Sequence[Sentence], encoder: Encoder) -> dict[int, list[int]]:
    """Encode the annotation of tokens."""
    attributes = {SENT_START: [x for sentence in sentences for x in _sentence_starts(sentence)]}
    for layer, attribute, encode in (
        ("tags", TAG, encoder.string),
        ("pos", POS, UPOS_IDS.__getitem__),
        ("morphs", MORPH, encoder.features),
        ("lemmas", LEMMA, encoder.string),
    ):
        values = _values(sentences, layer)
        if values is not None:
            attributes[attribute] = [*map(encode, values)]
    ents = _spans(sentences, "ents")
    if ents is not None:
        # All other tokens are annotated as outside of entities, rather than unannotated.
        iob = [_OUTSIDE] * len(attributes[SENT_START])
        types = [0] * len(iob)
        for start, end, label in ents:
            iob[start:end] = [_BEGIN] + [_INSIDE] * (end - start - 1)
            types[start:end] = [encoder.string(label)] * (end - start)
        attributes |= {ENT_IOB: iob, ENT_TYPE: types}
    return attributes


def span_groups(sentences: Sequence[Sentence], chunks_key: str) -> Iterator[Group]:
    """Make the span groups of a Doc."""
    chunks = _spans(sentences, "chunks")
    if chunks is not None:
        yield chunks_key, chunks, {}
    if all(sentence.frames is not None for sentence in sentences):
        yield from frame_groups(
            [
                _moved(frame, offset)
                for offset, sentence in _with_offsets(sentences)
                for frame in sentence.frames or ()
            ]
        )
    speakers = [
        (offset, offset + len(sentence.words), sentence.speakers)
        for offset, sentence in _with_offsets(sentences)
        if sentence.speakers is not None
    ]
    if speakers:
        yield SPEAKERS_KEY, speakers, {}
    if sentences and (sentences[0].document is not None or sentences[0].starts_document):
        whole = (0, sum(len(sentence.words) for sentence in sentences), sentences[0].document or "")
        yield DOCUMENT_KEY, [whole], {"starts": sentences[0].starts_document}


def white_space(sentences: Sequence[Sentence]) -> list[bool] | None:
    """Get whether whitespace follows each word."""
    if any(sentence.spaces is None for sentence in sentences):
        return None
    return [space for sentence in sentences for space in sentence.spaces or ()]


def _sentence_starts(sentence: Sentence) -> list[int]:
    n_words = len(sentence.words)
    if not sentence.is_sentence:
        return [_UNKNOWN_START] * n_words
    return [_START] + [_NO_START] * (n_words - 1)


def _with_offsets(sentences: Sequence[Sentence]) -> Iterator[tuple[int, Sentence]]:
    """Each sentence with the number of tokens before it."""
    offset = 0
    for sentence in sentences:
        yield offset, sentence
        offset += len(sentence.words)


def _values(sentences: Sequence[Sentence], layer: str) -> list[str] | None:
    """One value per token, "" if it is not annotated; None if no sentence has the layer."""
    found = [getattr(sentence, layer) for sentence in sentences]
    if len(found) == 1:
        return found[0]
    if all(values is None for values in found):
        return None
    return [
        value
        for values, sentence in zip(found, sentences, strict=True)
        for value in (values if values is not None else [""] * len(sentence.words))
    ]


def _spans(sentences: Sequence[Sentence], layer: str) -> list[Span] | None:
    """The spans of a layer, in tokens of the Doc; None if any sentence lacks the layer."""
    if len(sentences) == 1:
        return getattr(sentences[0], layer)
    if any(getattr(sentence, layer) is None for sentence in sentences):
        return None
    return [
        (offset + start, offset + end, label)
        for offset, sentence in _with_offsets(sentences)
        for start, end, label in getattr(sentence, layer)
    ]


def _moved(frame: Frame, offset: int) -> Frame:
    if offset == 0:
        return frame
    arguments = [(start + offset, end + offset, label) for start, end, label in frame.arguments]
    return Frame(frame.predicate + offset, frame.lemma, frame.sense, arguments)
