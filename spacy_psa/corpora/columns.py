"""Read column files: one token a line, its annotation in columns, a blank line after a sentence."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from ..errors import Errors

GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Row(NamedTuple):
    """A line of a column file.

    line (int): Its number in the file, from 1.
    columns (Tuple[str, ...]): What its columns have.
    """

    line: int
    columns: tuple[str, ...]


def read_columns(
    path: str | Path, columns: Sequence[str] | None = None, *, comment: str | None = None
) -> Iterator[list[Row]]:
    """Stream the sentences of a column file.

    Columns are parted by any number of blanks and tabs; other kinds of white space, such as a
    no-break space, belong to the word. Files may be compressed by gzip, under whatever name, may
    have the line ends of Windows, and need no blank line at the end.

    path (Union[str, Path]): The file.
    columns (Optional[Sequence[str]]): The names of the columns that each line must have. None
        takes any number of columns.
    comment (Optional[str]): Leave out lines that start with this. None by default, since in many
        corpora the line of a token `#` looks like a comment.
    YIELDS (List[Row]): The rows of a sentence.
    RAISES (ValueError): If there is no such file, or if it is empty, not text, not UTF-8, damaged,
        or has lines with other numbers of columns. The message says where and what to do.
    """
    path = Path(path)
    prefix = comment.encode("utf8") if comment else None
    names = ", ".join(columns) if columns is not None else "columns"
    sentence: list[Row] = []
    found_any = False
    with open_binary(path) as file_:
        for number, line in _numbered_lines(file_, path):
            # bytes.split takes only ASCII white space, str.split would split words as well.
            parts = line.split()
            if not parts or (prefix is not None and line.startswith(prefix)):
                if not parts and sentence:
                    yield sentence
                    sentence = []
                continue
            if columns is not None and len(parts) != len(columns):
                raise ValueError(
                    Errors.P112.format(
                        path=path,
                        line=number,
                        found=len(parts),
                        expected=len(columns),
                        columns=names,
                    )
                )
            sentence.append(Row(number, tuple(part.decode("utf8") for part in parts)))
            found_any = True
    if sentence:
        yield sentence
    if not found_any:
        raise ValueError(Errors.P111.format(path=path, columns=names))


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that may be compressed by gzip, which its first bytes tell.

    path (Path): The file.
    YIELDS (IO[bytes]): The uncompressed bytes.
    RAISES (ValueError): If there is no such file, or if it is a directory.
    """
    if path.is_dir():
        files = sorted(child.name for child in path.iterdir() if child.is_file())
        raise ValueError(Errors.P110.format(path=path, files=", ".join(files[:10]) or "none"))
    if not path.exists():
        raise ValueError(Errors.P109.format(path=path))
    with path.open("rb") as raw:
        compressed = raw.peek(2)[:2] == GZIP_MAGIC
        if compressed:
            with gzip.GzipFile(fileobj=raw) as file_:
                yield file_
        else:
            yield raw


def _numbered_lines(file_: IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, checked to be UTF-8 text."""
    number = 0
    lines = iter(file_)
    while True:
        try:
            line = next(lines)
        except StopIteration:
            return
        except (EOFError, gzip.BadGzipFile, zlib.error) as err:
            where = f" after line {number}"
            raise ValueError(Errors.P115.format(path=path, where=where, reason=err)) from err
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if b"\x00" in line:
            raise ValueError(Errors.P114.format(path=path, line=number))
        try:
            line.decode("utf8")
        except UnicodeDecodeError as err:
            raise ValueError(
                Errors.P113.format(path=path, line=number, byte=err.start + 1)
            ) from err
        yield number, line
