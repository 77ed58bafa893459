"""The format of the English data of the CoNLL-2003 shared task: named entities.

SOURCE: Tjong Kim Sang and De Meulder (2003), 'Introduction to the CoNLL-2003 Shared Task:
Language-Independent Named Entity Recognition'.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from .columns import Row, read_columns
from .sentence import Sentence, spans_of_column

COLUMNS = ("word", "POS", "chunk", "NER")
DOCUMENT_BOUNDARY = "-DOCSTART-"


def read_conll2003(path: str | Path) -> Iterator[Sentence]:
    """Stream the sentences of a file of CoNLL-2003: word, part of speech, chunk, named entity.

    The lines `-DOCSTART- …` are taken as document boundaries. The published numbers of sentences
    and tokens count them in: they are ours plus the number of documents.

    path (Union[str, Path]): The file, plain or compressed by gzip. Chunks and entities may be
        IOB1, as distributed, or BIO, IO or BIOES.
    YIELDS (Sentence): Sentences with tags, chunks and entities.
    RAISES (ValueError): If the file is not in this format.
    """
    starts_document = False
    for lines in read_columns(path, COLUMNS):
        # In some copies no blank line parts the boundary from the sentence after it.
        for is_boundary, group in groupby(lines, _is_boundary):
            rows = list(group)
            if is_boundary:
                starts_document = True
                continue
            yield Sentence(
                words=[row.columns[0] for row in rows],
                tags=[row.columns[1] for row in rows],
                chunks=spans_of_column(rows, 2, path, COLUMNS),
                ents=spans_of_column(rows, 3, path, COLUMNS),
                starts_document=starts_document,
                line=rows[0].line,
            )
            starts_document = False


def _is_boundary(row: Row) -> bool:
    return row.columns[0] == DOCUMENT_BOUNDARY
