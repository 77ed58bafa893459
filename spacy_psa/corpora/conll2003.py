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

    path (Union[str, Path]): The file, optionally gzipped. Chunks and entities can be IOB1, as
        distributed, or BIO, IO or BIOES.
    scheme (Optional[str]): The label scheme of the entities; None for the one that fits most.
    problems (Optional[Problems]): How to handle problems; None to raise the first.
    YIELDS (Sentence): Sentences with tags, chunks and entities.
    RAISES (ValueError): If the file is not in this format.
    """
    layers = ("words", "tags", "chunks", "ents")
    layout = Layout(
        {layer: i for i, layer in enumerate(layers)},
        names=dict(zip(layers, COLUMNS, strict=True)),
        width=4,
        scheme=scheme,
    )
    yield from layout.read(path, problems)
