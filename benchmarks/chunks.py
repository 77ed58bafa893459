"""Sentences with their chunks, as spans, as entities and as tags."""

import zlib
from pathlib import Path

import spacy
from spacy.tokens import Doc, Span
from spacy.training import Corpus, offsets_to_biluo_tags

SPANS_KEY = "chunks"


def read(path: Path, limit: int = 0) -> list[Doc]:
    """Read sentences with their chunks, also as entities and as tags.

    path (Path): A file of Docs with `doc.spans["chunks"]`.
    limit (int): Documents at most; 0 for all.
    RETURNS (List[Doc]): The sentences.
    """
    nlp = spacy.blank("en")
    docs = [example.reference for example in Corpus(path, limit=limit)(nlp)]
    for doc in docs:
        doc.ents = [Span(doc, s.start, s.end, s.label_) for s in doc.spans[SPANS_KEY]]
        tag_chunks(doc)
    return docs


def tag_chunks(doc: Doc) -> None:
    """Write the chunks of a sentence as tags.

    doc (Doc): A sentence with `doc.spans["chunks"]`; its `token.tag_` become BILUO.
    """
    spans = [(s.start_char, s.end_char, s.label_) for s in doc.spans[SPANS_KEY]]
    for token, tag in zip(doc, offsets_to_biluo_tags(doc, spans), strict=True):
        token.tag_ = tag


def tag_words(doc: Doc, n_labels: int) -> None:
    """Replace the tags of a sentence by as many as wanted, each for some pairs of tag and word.

    doc (Doc): A sentence with tags.
    n_labels (int): How many tags there are in all, at most.
    """
    for token in doc:
        number = zlib.crc32(f"{token.tag_} {token.lower_}".encode()) % n_labels
        token.tag_ = f"T{number}"
