"""Files of words and tags in columns: any order, and those of CoNLL-2000, 2002 and 2003.

SOURCE: Tjong Kim Sang and Buchholz (2000), 'Introduction to the CoNLL-2000 Shared Task: Chunking';
Tjong Kim Sang (2002) and Tjong Kim Sang and De Meulder (2003), 'Introduction to the CoNLL-2002
(CoNLL-2003) Shared Task: Language-Independent Named Entity Recognition'.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from .columns import read_columns, width_error
from .layouts import DOCUMENT_BOUNDARY, Layout, unsuitable
from .lines import rereading
from .problems import Problems
from .sentence import Sentence

LAYERS = ("ents", "chunks", "tags")


def read_iob(
    path: str | Path,
    *,
    word_column: int = 0,
    tag_column: int = -1,
    pos_column: int | None = None,
    chunk_column: int | None = None,
    lemma_column: int | None = None,
    space_column: int | None = None,
    layer: str = "ents",
    scheme: str | None = None,
    label: str | None = None,
    prefixes: bool = True,
    separator: str | None = None,
    comment: str | None = None,
    header: bool = False,
    joined_by: str | None = None,
    document_boundary: str | None = DOCUMENT_BOUNDARY,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a file of words and tags in columns."""
    if layer not in LAYERS or (layer == "tags" and pos_column is not None):
        known = ", ".join(LAYERS)
        raise unsuitable(f"layer='{layer}': choose one of {known}; with a pos_column, not tags")
    if separator == "":
        raise unsuitable("separator='': leave it out for spaces and tabs")
    if layer == "chunks" and chunk_column is not None:
        raise unsuitable("layer='chunks' with a chunk_column")
    columns = {
        "words": word_column,
        "tags": pos_column,
        "lemmas": lemma_column,
        "spaces": space_column,
        "chunks": chunk_column,
        layer: tag_column,
    }
    layout = Layout(
        {name: index for name, index in columns.items() if index is not None},
        names={"tags": "POS"} if layer != "tags" else {},
        scheme=scheme,
        label=label,
        prefixes=prefixes,
        separator=separator,
        comment=comment,
        header=header,
        joined_by=joined_by,
        boundary=document_boundary,
    )
    yield from layout.read(path, problems)


@rereading
def read_conll2002(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-2002 file: word and named entity (Spanish), or word, part of
    speech and named entity (Dutch).
    """
    rows = chain.from_iterable(read_columns(path))
    first = next((row for row in rows if row.columns[0] != DOCUMENT_BOUNDARY), None)
    width = len(first.columns) if first else 2
    if first and width not in (2, 3):
        raise ValueError(width_error(path, first, "2 or 3", ("word", "POS", "NER"), None))
    pos_column = 1 if width == 3 else None
    yield from read_iob(path, pos_column=pos_column, scheme=scheme, problems=problems)


def read_tagged(
    path: str | Path,
    *,
    word_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    comment: str | None = None,
    header: bool = False,
    joined_by: str | None = None,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a file of words and their tags, such as parts of speech."""
    yield from read_iob(
        path,
        word_column=word_column,
        tag_column=tag_column,
        layer="tags",
        separator=separator,
        comment=comment,
        header=header,
        joined_by=joined_by,
        document_boundary=None,
        problems=problems,
    )


def read_conll2000(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-2000 file: word, part of speech, chunk. There are no document
    boundaries.
    """
    layout = _in_order("words", "tags", "chunks", scheme=scheme, boundary=None)
    yield from layout.read(path, problems)


def read_conll2003(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-2003 file: word, part of speech, chunk, named entity.

    `-DOCSTART- …` lines are read as document boundaries. The published numbers of sentences and
    tokens include these lines, so they are ours plus the number of documents.
    """
    layout = _in_order("words", "tags", "chunks", "ents", scheme=scheme)
    yield from layout.read(path, problems)


def _in_order(*layers: str, **options: Any) -> Layout:
    return Layout(
        {layer: i for i, layer in enumerate(layers)},
        names={"words": "word", "tags": "POS", "chunks": "chunk", "ents": "NER"},
        width=len(layers),
        **options,
    )
