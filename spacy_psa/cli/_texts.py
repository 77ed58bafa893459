"""Texts for commands that predict: from text files, JSON lines, .spacy files, standard input."""

from __future__ import annotations

import json
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
"""What came with a text, e.g. its source: what else there is in a JSON object."""


def read_texts(source: str, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    """Read texts. Those without a word in them are left out.

    source (str): A .txt file with a text on each line, a .jsonl file with a text under the key
        "text" of each object, either of which may be compressed by gzip; a .spacy file, whose
        documents keep their tokens and nothing else; or "-" for standard input, a text a line.
    nlp (Language): The pipeline whose tokenizer is used.
    YIELDS (Tuple[Doc, Record]): Each text, and what came with it.
    RAISES (ValueError): If the source is not of one of these kinds, is malformed, or has no text.
    """
    if source == STANDARD_INPUT:
        name, docs = "standard input", _read_standard_input(Path(source), nlp)
    else:
        name = source
        ending = Path(source.removesuffix(".gz")).suffix if source.endswith(".gz") else None
        read = READERS.get(ending or Path(source).suffix)
        # A DocBin is compressed already
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
    """Replace the bytes of the command line that are no text: they stand in it as half a character
    each.

    text (str): An argument of the command line.
    RETURNS (str): The text, with replacement characters.
    """
    return UNDECODED.sub("\ufffd", text)


def _read_lines(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    from ..corpora.lines import read_lines

    for _, line in read_lines(path):
        yield nlp.make_doc(line.strip()), {}


def _read_json(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    from ..corpora.lines import read_lines

    for number, line in read_lines(path):
        if line.strip():
            record = _parsed(line, path, number)
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


def _parsed(line: str, path: Path, number: int) -> Record:
    """An object with a text."""
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as err:
        raise _malformed(path, number, f"this is no JSON ({err})") from err
    text = record.get("text") if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise _malformed(path, number, 'there is no text under the key "text"')
    try:
        json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf8")
    except UnicodeEncodeError as err:
        # JSON can express half of a character, such as "\ud800", which UTF-8 cannot
        raise _malformed(path, number, "there is half a character, an unpaired surrogate") from err
    except ValueError as err:
        # Python reads what JSON cannot express, and numbers that are too large as infinite ones
        raise _malformed(path, number, "there is a number that is not finite") from err
    return record


def _malformed(path: Path, number: int, problem: str) -> ValueError:
    return ValueError(Errors.P352.format(path=path, line=number, problem=problem))
