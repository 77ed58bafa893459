"""Sentences with chunks as spans, entities and tags."""

import zlib
from pathlib import Path

import spacy
from spacy.tokens import Doc, Span
from spacy.training import Corpus, offsets_to_biluo_tags

SPANS_KEY = "chunks"


def read(path: Path, limit: int = 0) -> list[Doc]:
    """Read sentences with chunks, and add the chunks as entities and tags.

    path (Path): A `.spacy` file with `doc.spans["chunks"]`.
    limit (int): The maximum number of documents; 0 for all.
    RETURNS (List[Doc]): The sentences.
    """
    nlp = spacy.blank("en")
    docs = [example.reference for example in Corpus(path, limit=limit)(nlp)]
    for doc in docs:
        doc.ents = [Span(doc, s.start, s.end, s.label_) for s in doc.spans[SPANS_KEY]]
        tag_chunks(doc)
    return docs


def tag_chunks(doc: Doc) -> None:
    """Write the chunks of a sentence to `token.tag_`, in BILUO.

    doc (Doc): A sentence with `doc.spans["chunks"]`, modified in place.
    """
    spans = [(s.start_char, s.end_char, s.label_) for s in doc.spans[SPANS_KEY]]
    for token, tag in zip(doc, offsets_to_biluo_tags(doc, spans), strict=True):
        token.tag_ = tag


def tag_words(doc: Doc, n_labels: int) -> None:
    """Replace the tags of a sentence with a larger tag set, by hashing pairs of tag and word.

    doc (Doc): A sentence with tags, modified in place.
    n_labels (int): The maximum size of the tag set.
    """
    for token in doc:
        number = zlib.crc32(f"{token.tag_} {token.lower_}".encode()) % n_labels
        token.tag_ = f"T{number}"
