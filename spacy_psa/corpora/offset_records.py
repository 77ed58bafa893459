"""Stream the objects of JSON lines, or of a list in JSON."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import Errors
from ..printable import shortened
from .lines import open_binary, read_lines

Record = dict[str, Any]
_SNIFFED_BYTES = 1 << 16
_SPACE = re.compile(r"\s*")


def unique_keys(pairs: list[tuple[str, Any]]) -> Record:
    """Make an object of its keys and values. Python would keep the last of two same keys."""
    record = dict(pairs)
    if len(record) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f'the key "{key}" occurs twice')
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)


def read_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Stream the objects of JSON lines or of a list, each with the line where it begins. A text and
    its annotation, as in `nlp.update` of spaCy 2, are one object."""
    with open_binary(path) as file_:
        first = file_.read(_SNIFFED_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    # A line that begins with a text is the first pair of several
    is_list = first[:1] == b"[" and first[1:].lstrip()[:1] != b'"'
    found = _list_items(path) if is_list else _line_items(path)
    for number, record in found:
        if isinstance(record, list) and list(map(type, record)) == [str, dict]:
            record = {**record[1], "text": record[0]}
        if not isinstance(record, dict):
            raise malformed(
                path, number, f"this is not an object, but {shortened(json.dumps(record), 40)}"
            )
        try:
            json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf8")
        except UnicodeEncodeError as err:
            # JSON can express an unpaired surrogate such as "\ud800", which UTF-8 cannot
            raise malformed(path, number, "there is an unpaired surrogate") from err
        except ValueError as err:
            # Python reads NaN and Infinity, which are not JSON, and numbers that overflow
            raise malformed(path, number, "there is a number that is not finite") from err
        yield number, record


def malformed(path: Path, number: int, problem: str) -> ValueError:
    """Create the error for a line that is no text in JSON."""
    return ValueError(Errors.P352.format(path=path, line=number, problem=problem))


def _line_items(path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in read_lines(path):
        if line.strip():
            try:
                yield number, _DECODER.decode(line)
            except (ValueError, RecursionError) as err:
                raise malformed(path, number, f"this is not valid JSON ({err})") from err


def _list_items(path: Path) -> Iterator[tuple[int, Any]]:
    """The items of a list, which can be in one line that is longer than `read_lines` allows."""
    with open_binary(path) as file_:
        data = file_.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line, byte = (
            data.count(b"\n", 0, err.start) + 1,
            err.start - data.rfind(b"\n", 0, err.start),
        )
        raise ValueError(Errors.P113.format(path=path, line=line, byte=byte)) from err
    at, number, counted = _skip(text, 0), 1, 0
    opened = False
    while True:
        number, counted = number + text.count("\n", counted, at), at
        mark = text[at : at + 1]
        if opened and mark == "]":
            break
        if mark != ("," if opened else "["):
            raise malformed(path, number, "this is not valid JSON (expected , or ] after an item)")
        at = _skip(text, at + 1)
        if not opened and text[at : at + 1] == "]":
            break
        opened = True
        try:
            item, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as err:
            line = getattr(err, "lineno", number)
            raise malformed(path, line, f"this is not valid JSON ({err})") from err
        yield number + text.count("\n", counted, at), item
        at = _skip(text, end)
    end = _skip(text, at + 1)
    if end < len(text):
        number += text.count("\n", counted, end)
        raise malformed(path, number, "this is not valid JSON (text after the end of the list)")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
