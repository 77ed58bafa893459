"""The format of the English data of the CoNLL-2003 shared task: named entities.

SOURCE: Tjong Kim Sang and De Meulder (2003), 'Introduction to the CoNLL-2003 Shared Task:
Language-Independent Named Entity Recognition'.
"""

from collections.abc import Iterator
from pathlib import Path

from .layouts import Layout
from .problems import Problems
from .sentence import Sentence

COLUMNS = ("word", "POS", "chunk", "NER")


def read_conll2003(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-2003 file: word, part of speech, chunk, named entity.

    `-DOCSTART- …` lines are read as document boundaries. The published numbers of sentences and
    tokens include these lines, so they are ours plus the number of documents.
    """
    layers = ("words", "tags", "chunks", "ents")
    layout = Layout(
        {layer: i for i, layer in enumerate(layers)},
        names=dict(zip(layers, COLUMNS, strict=True)),
        width=4,
        scheme=scheme,
    )
    yield from layout.read(path, problems)
