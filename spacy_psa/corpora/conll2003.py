"""The format of the English data of the CoNLL-2003 shared task: named entities.

SOURCE: Tjong Kim Sang and De Meulder (2003), 'Introduction to the CoNLL-2003 Shared Task:
Language-Independent Named Entity Recognition'.
"""

from collections.abc import Iterator
from pathlib import Path

from .columns import read_columns, split_documents
from .problems import Problems
from .sentence import Sentence
from .spans import SpanColumn

COLUMNS = ("word", "POS", "chunk", "NER")
DOCUMENT_BOUNDARY = "-DOCSTART-"


def read_conll2003(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a file of CoNLL-2003: word, part of speech, chunk, named entity.

    The lines `-DOCSTART- …` are taken as document boundaries. The published numbers of sentences
    and tokens count them in: they are ours plus the number of documents.

    path (Union[str, Path]): The file, plain or compressed by gzip. Chunks and entities may be
        IOB1, as distributed, or BIO, IO or BIOES.
    scheme (Optional[str]): The scheme of the entities; None to read any (see `SpanColumn`).
    problems (Optional[Problems]): What to do about problems; None to raise the first.
    YIELDS (Sentence): Sentences with tags, chunks and entities.
    RAISES (ValueError): If the file is not in this format.
    """
    problems = problems or Problems()
    chunks = SpanColumn(path, 2, COLUMNS, problems=problems)
    ents = SpanColumn(path, 3, COLUMNS, scheme, problems)
    lines = read_columns(path, COLUMNS, boundary=DOCUMENT_BOUNDARY, problems=problems)
    for rows, starts_document in split_documents(lines, DOCUMENT_BOUNDARY):
        yield Sentence(
            words=[row.columns[0] for row in rows],
            tags=[row.columns[1] for row in rows],
            chunks=chunks.read(rows),
            ents=ents.read(rows),
            starts_document=starts_document,
            line=rows[0].line,
        )
