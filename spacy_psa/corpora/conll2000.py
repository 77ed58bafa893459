"""The format of the CoNLL-2000 shared task: chunking.

SOURCE: Tjong Kim Sang and Buchholz (2000), 'Introduction to the CoNLL-2000 Shared Task: Chunking'.
"""

from collections.abc import Iterator
from pathlib import Path

from .columns import read_columns
from .sentence import Sentence, spans_of_column

COLUMNS = ("word", "POS", "chunk")


def read_conll2000(path: str | Path) -> Iterator[Sentence]:
    """Stream the sentences of a file of CoNLL-2000: word, part of speech, chunk.

    path (Union[str, Path]): The file, plain or compressed by gzip.
    YIELDS (Sentence): Sentences with tags and chunks. There are no document boundaries.
    RAISES (ValueError): If the file is not in this format.
    """
    for rows in read_columns(path, COLUMNS):
        yield Sentence(
            words=[row.columns[0] for row in rows],
            tags=[row.columns[1] for row in rows],
            chunks=spans_of_column(rows, 2, path, COLUMNS),
            line=rows[0].line,
        )
