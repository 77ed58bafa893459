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
    """Stream the sentences of a CoNLL-2003 file: word, part of speech, chunk, named entity.

    `-DOCSTART- …` lines are read as document boundaries. The published numbers of sentences and
    tokens include these lines, so they are ours plus the number of documents.

    path (Union[str, Path]): The file, optionally gzipped. Chunks and entities can be IOB1, as
        distributed, or BIO, IO or BIOES.
    scheme (Optional[str]): The label scheme of the entities; None to read any (see `SpanColumn`).
    problems (Optional[Problems]): How to handle problems; None to raise the first.
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
