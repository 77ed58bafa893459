"""Stream the objects of JSON lines, or of a list in JSON."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors
from ..printable import shortened
from .lines import open_binary, read_lines

Record = dict[str, Any]
_SNIFFED_BYTES = 1 << 16
_SPACE = re.compile(r"\s*")


class Place(NamedTuple):
    """Where an object is in its file, as errors say it.

    line (int): The line where it begins.
    task (Optional[int]): Its number in a list, which is often in one line.
    id (Optional[object]): Its own name for itself.
    """

    line: int
    task: int | None = None
    id: object = None

    def __str__(self) -> str:
        if self.task is None:
            return str(self.line)
        is_name = isinstance(self.id, int | str) and not isinstance(self.id, bool)
        name = f" (id {shortened(str(self.id), 40)})" if is_name else ""
        return f"{self.line}, task {self.task}{name}"


def unique_keys(pairs: list[tuple[str, Any]]) -> Record:
    """Make an object of its keys and values. Python would keep the last of two same keys."""
    record = dict(pairs)
    if len(record) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f'the key "{key}" occurs twice')
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)


def read_records(path: Path) -> Iterator[tuple[Place, Record]]:
    """Stream the objects of JSON lines or of a list, each with its place. A text and its
    annotation, as in `nlp.update` of spaCy 2, are one object."""
    with open_binary(path) as file_:
        first = file_.read(_SNIFFED_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    # A line that begins with a text is the first pair of several
    is_list = first[:1] == b"[" and first[1:].lstrip()[:1] != b'"'
    found = _list_items(path) if is_list else _line_items(path)
    for place, record in found:
        if isinstance(record, list) and list(map(type, record)) == [str, dict]:
            record = {**record[1], "text": record[0]}
        if not isinstance(record, dict):
            problem = f"this is not an object, but {shortened(json.dumps(record), 40)}"
            raise malformed(path, place, problem)
        if place.task is not None:
            place = place._replace(id=record.get("id"))
        try:
            json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf8")
        except UnicodeEncodeError as err:
            # JSON can express an unpaired surrogate such as "\ud800", which UTF-8 cannot
            raise malformed(path, place, "there is an unpaired surrogate") from err
        except ValueError as err:
            # Python reads NaN and Infinity, which are not JSON, and numbers that overflow
            raise malformed(path, place, "there is a number that is not finite") from err
        yield place, record


def malformed(path: Path, place: Place, problem: str) -> ValueError:
    """Create the error for what is no text in JSON."""
    return ValueError(Errors.P352.format(path=path, line=place, problem=problem))


def _line_items(path: Path) -> Iterator[tuple[Place, Any]]:
    for number, line in read_lines(path):
        if line.strip():
            try:
                yield Place(number), _DECODER.decode(line)
            except (ValueError, RecursionError) as err:
                raise malformed(path, Place(number), f"this is not valid JSON ({err})") from err


def _list_items(path: Path) -> Iterator[tuple[Place, Any]]:
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
    at, number, counted, n_tasks = _skip(text, 0), 1, 0, 0
    while True:
        number, counted = number + text.count("\n", counted, at), at
        mark = text[at : at + 1]
        if n_tasks and mark == "]":
            break
        if mark != ("," if n_tasks else "["):
            problem = "this is not valid JSON (expected , or ] after an item)"
            raise malformed(path, Place(number), problem)
        at = _skip(text, at + 1)
        if not n_tasks and text[at : at + 1] == "]":
            break
        n_tasks += 1
        try:
            item, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as err:
            # What is no JSON has a line of its own; keys and depth are those of the task
            place = Place(number, n_tasks)
            if isinstance(err, json.JSONDecodeError):
                place = Place(err.lineno)
            raise malformed(path, place, f"this is not valid JSON ({err})") from err
        yield Place(number + text.count("\n", counted, at), n_tasks), item
        at = _skip(text, end)
    end = _skip(text, at + 1)
    if end < len(text):
        number += text.count("\n", counted, end)
        problem = "this is not valid JSON (text after the end of the list)"
        raise malformed(path, Place(number), problem)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
