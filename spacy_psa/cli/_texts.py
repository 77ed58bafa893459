"""Read texts for prediction, from text files, JSON lines, .spacy files or standard input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import Errors
from ._util import read_docs

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

STANDARD_INPUT = "-"
UNDECODED = re.compile("[\ud800-\udfff]")

Record = dict[str, Any]
"""The JSON object of a text, which may have other data, e.g. its source."""


def read_texts(source: str, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    """Read texts. Texts without words are skipped."""
    if source == STANDARD_INPUT:
        name, docs = "standard input", _read_standard_input(Path(source), nlp)
    else:
        name = source
        ending = Path(source.removesuffix(".gz")).suffix if source.endswith(".gz") else None
        read = READERS.get(ending or Path(source).suffix)
        # A DocBin is already compressed
        if read is None or ending == ".spacy":
            raise ValueError(Errors.P354.format(path=source, endings=", ".join(READERS)))
        docs = read(Path(source), nlp)
    n = 0
    for doc, record in docs:
        if any(not token.is_space for token in doc):
            n += 1
            yield doc, record
    if not n:
        raise ValueError(Errors.P353.format(path=name))


def replace_undecoded(text: str) -> str:
    """Replace undecodable bytes of the command line, which Python represents as surrogates."""
    return UNDECODED.sub("\ufffd", text)


def _read_lines(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    from ..corpora.lines import read_lines

    for _, line in read_lines(path):
        yield nlp.make_doc(line.strip()), {}


def _read_json(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    from ..corpora.offset_tasks import malformed, read_records

    for number, record in read_records(path):
        if not isinstance(record.get("text"), str):
            raise malformed(path, number, 'there is no text under the key "text"')
        yield nlp.make_doc(record["text"]), record


def _read_docbin(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    from ._predictions import words_alone

    for doc in words_alone(read_docs(path, nlp.vocab), nlp.vocab):
        yield doc, {}


def _read_standard_input(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    for number, line in enumerate(typer.get_binary_stream("stdin"), 1):
        try:
            text = line.decode("utf8")
        except UnicodeDecodeError as err:
            where = {"path": "standard input", "line": number, "byte": err.start + 1}
            raise ValueError(Errors.P113.format(**where)) from err
        yield nlp.make_doc(text.strip()), {}


READERS: dict[str, Callable[[Path, Language], Iterator[tuple[Doc, Record]]]] = {
    ".txt": _read_lines,
    ".jsonl": _read_json,
    ".spacy": _read_docbin,
}
