"""Read the documents of a block, some at a time. One that cannot be read fails alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any

from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..corpora.offset_records import unique_keys
from ..corpora.unpacking import check_zlib
from ..errors import Errors, reason_of
from ..messages import garbage_collection
from .blocks import Block, Part
from .inputs import read_errors

MAX_BYTES = 1 << 24
MAX_CHARACTERS = 1 << 20
# If none of the first objects of a file has the key of the text, the key is wrong, not they
N_CHECKED = 100
_READ = 1 << 20
_BOM = b"\xef\xbb\xbf"
# Python writes and reads NaN and Infinity, which are not JSON
_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=lambda name: None)
Words = tuple[list[str], list[bool]]


@dataclass(frozen=True)
class Record:
    """A document to annotate.

    id (str): Its name: what the input says, or its place in the file.
    source (str): The file.
    content (Union[str, Words]): The text, or the words and whether a space follows each.
    meta (Optional[str]): What else the input says of it, as JSON.
    row (int): Its row in a table.
    """

    id: str
    source: str
    content: str | Words
    meta: str | None = None
    row: int = -1


@dataclass(frozen=True)
class Failure:
    """A document that cannot be annotated.

    id (str): Its name, as in `Record`.
    source (str): The file.
    text (str): Its text, as far as it can be shown.
    error (str): The reason.
    row (int): Its row in a table.
    original (Optional[bytes]): What stands in the file, if it cannot be shown as text.
    """

    id: str
    source: str
    text: str
    error: str
    row: int = -1
    original: bytes | None = None


@dataclass
class Chunk:
    """Some documents of a block.

    records (List[Record]): The documents.
    failures (List[Failure]): Those that cannot be read.
    others (Optional[RecordBatch]): The other columns of a Parquet file.
    """

    records: list[Record] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    others: Any = None


def read_block(block: Block, n_docs: int, *, column: str, whole_files: bool) -> Iterator[Chunk]:
    """Read the documents of a block."""
    if block.parts[0].source.kind == ".parquet":
        from .parquet import read_parquet

        for part in block.parts:
            yield from _guarded(part, read_parquet(part, n_docs, column))
        return
    read: dict[str, Callable[[Part], Iterator[Record | Failure]]] = {
        ".txt": _text_file if whole_files else _text_lines,
        ".jsonl": partial(_json_lines, column=column),
        ".spacy": _docbin,
    }
    items = (_guarded(part, read[part.source.kind](part)) for part in block.parts)
    yield from chunks_of(chain.from_iterable(items), n_docs)


def _guarded(part: Part, items: Iterator[Any]) -> Iterator[Any]:
    """Make damage in a local file a failure; elsewhere it may be the network, so the run ends."""
    try:
        yield from items
    except read_errors() as error:
        source = part.source
        reason = reason_of(error)
        if source.root:
            raise ValueError(Errors.P502.format(path=source.name, reason=reason)) from error
        failure = Failure(
            f"{source.name}:{part.start}-", source.name, "", f"The rest cannot be read: {reason}"
        )
        yield Chunk(failures=[failure]) if source.kind == ".parquet" else failure


def chunks_of(items: Iterable[Record | Failure], n_docs: int) -> Iterator[Chunk]:
    """Divide documents into chunks."""
    chunk, n = Chunk(), 0
    for item in items:
        if isinstance(item, Failure):
            chunk.failures.append(item)
            continue
        chunk.records.append(item)
        n += len(item.content if isinstance(item.content, str) else item.content[0])
        if len(chunk.records) >= n_docs or n >= MAX_CHARACTERS:
            yield chunk
            chunk, n = Chunk(), 0
    if chunk.records or chunk.failures:
        yield chunk


def _text_lines(part: Part) -> Iterator[Record | Failure]:
    for name, line in _lines(part):
        text = _decoded(part, name, line)
        if isinstance(text, Failure):
            yield text
        elif text.strip():
            yield Record(name, part.source.name, text)


def _text_file(part: Part) -> Iterator[Record | Failure]:
    with part.source.open() as file:
        data = file.read(MAX_BYTES + 1)
    if not data:  # compressed, since no part is made of a file without any byte
        return
    text = _decoded(part, part.source.name, None if len(data) > MAX_BYTES else data)
    yield Record(part.source.name, part.source.name, text) if isinstance(text, str) else text


def _json_lines(part: Part, column: str) -> Iterator[Record | Failure]:
    lines = _lines(part)
    head = [] if part.start else _checked(lines, part.source.name, column)
    for name, line in chain(head, lines):
        source, text = part.source.name, _decoded(part, name, line)
        if isinstance(text, Failure):
            yield text
            continue
        if not text.strip():
            continue
        try:
            record = _DECODER.decode(text)
            if not isinstance(record, dict):
                raise ValueError("this is not an object")
            content = record.pop(column, None)
            if not isinstance(content, str):
                raise ValueError(f'there is no text under the key "{column}"')
            if type(record.get("id")) in (str, int):  # true and false are no numbers
                name = str(record.pop("id"))
            if isinstance(record.get("source"), str):
                source = record.pop("source")
            meta = json.dumps(record, ensure_ascii=False, allow_nan=False) if record else None
            # JSON can express an unpaired surrogate, which UTF-8 cannot
            f"{content}{meta}{name}{source}".encode()
        except (ValueError, RecursionError) as error:
            yield Failure(name, source, text, f"Malformed JSON: {error}")
        else:
            yield Record(name, source, content, meta)


def check_keys(blocks: Iterable[Block], column: str) -> None:
    """Check local files of JSON before anything is written. Opening each of those elsewhere would
    take long: they are checked when they are read."""
    for part in (part for block in blocks for part in block.parts):
        if part.source.kind == ".jsonl" and not (part.start or part.source.root):
            with suppress(*read_errors()):  # a failure, when it is read
                _checked(_lines(part), part.source.name, column)


def _checked(
    lines: Iterator[tuple[str, bytes | None]], path: str, column: str
) -> list[tuple[str, bytes | None]]:
    """Read lines up to the first object with a key, which one of the first objects must have."""
    head: list[tuple[str, bytes | None]] = []
    keys: dict[int, list[str]] = {}
    for number, (name, line) in enumerate(islice(lines, N_CHECKED), 1):
        head.append((name, line))
        try:
            record = json.loads((line or b"").removeprefix(_BOM))
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            if column in record:
                return head
            keys[number] = list(record)
    if keys:
        first = next(iter(keys))
        named = ", ".join(keys[first]) or "none"
        about = {"path": path, "line": first, "column": column, "n": len(keys), "keys": named}
        raise ValueError(Errors.P495.format(**about))
    return head


def _docbin(part: Part) -> Iterator[Record]:
    source = part.source.name
    with part.source.open() as file:
        data = file.read()
    try:
        check_zlib(data, source)  # type: ignore[arg-type]
        with garbage_collection():
            docs = list(DocBin().from_bytes(data).get_docs(Vocab()))
    except Exception as error:
        raise OSError(str(error)) from error
    for i, doc in enumerate(docs):
        words = [token.text for token in doc]
        content = words, [bool(token.whitespace_) for token in doc]
        yield Record(f"{source}:{i}", source, content)


def _decoded(part: Part, name: str, line: bytes | None) -> str | Failure:
    """Text in UTF-8; None stands for what is too long."""
    source = part.source.name
    if line is None:
        return Failure(name, source, "", f"More than {MAX_BYTES:,} bytes")
    try:
        text = line.removeprefix(_BOM).decode("utf8")
        # In UTF-16, only the first line is never valid UTF-8
        reason = "A NUL character, as in UTF-16 and binary files" if "\0" in text else None
    except UnicodeDecodeError as error:
        text = line.decode("utf8", "replace")
        reason = f"Not UTF-8: byte {error.start + 1}"
    return text if reason is None else Failure(name, source, text, reason, original=line)


def _lines(part: Part) -> Iterator[tuple[str, bytes | None]]:
    """The lines that begin in a part, with the byte at which they do; None for one that is too
    long. They end with a line feed, a carriage return or both."""
    with part.source.open() as file:
        at = max(0, part.start - 1)
        if at:
            file.seek(at)
        # The line here began before this part, or it ends just before
        inside = part.start > 0
        rest = b""
        while block := file.read(_READ):
            *lines, rest = (rest + block).splitlines(keepends=True)
            if rest.endswith(b"\n"):  # a carriage return may be the first half of a line end
                lines, rest = [*lines, rest], b""
            for line in lines:
                if not inside:
                    yield f"{part.source.name}:{at}", line.rstrip(b"\r\n")
                inside = False
                at += len(line)
                if at >= part.stop:
                    return
            if len(rest) > MAX_BYTES and not rest.endswith(b"\r"):
                if not inside:
                    yield f"{part.source.name}:{at}", None
                inside, at, rest = True, at + len(rest), b""
        if rest and not inside:
            yield f"{part.source.name}:{at}", rest.rstrip(b"\r")
