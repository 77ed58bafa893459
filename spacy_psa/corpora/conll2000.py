"""The format of the CoNLL-2000 shared task: chunking.

SOURCE: Tjong Kim Sang and Buchholz (2000), 'Introduction to the CoNLL-2000 Shared Task: Chunking'.
"""

from collections.abc import Iterator
from pathlib import Path

from .layouts import Layout
from .problems import Problems
from .sentence import Sentence

COLUMNS = ("word", "POS", "chunk")


def read_conll2000(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-2000 file: word, part of speech, chunk."""
    layers = ("words", "tags", "chunks")
    layout = Layout(
        {layer: i for i, layer in enumerate(layers)},
        names=dict(zip(layers, COLUMNS, strict=True)),
        width=3,
        scheme=scheme,
        boundary=None,
    )
    yield from layout.read(path, problems)
