"""Read lines of text, plain or gzipped, also from pipes, and check that they are valid UTF-8."""

import gzip
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from io import BufferedIOBase, BufferedReader, RawIOBase
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, ParamSpec, TypeVar

from ..atomic_files import descriptor
from ..errors import Errors
from .unpacking import BoundedGzipFile

_P = ParamSpec("_P")
_T = TypeVar("_T")
_IN_MEMORY = 1 << 24


class Pipe:
    """A pipe, and a copy of what has been read from it so far: in memory, or in a temporary file if
    it is large.
    """

    def __init__(self, path: Path) -> None:
        number = descriptor(path)
        # A socket cannot be opened by name, only duplicated
        source = os.open(path, os.O_RDONLY) if number is None else os.dup(number)
        self._pipe = os.fdopen(source, "rb", buffering=0)
        self._copy = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self._size = 0

    def read(self, start: int, size: int) -> bytes:
        """Read bytes, from the pipe only if they have not been read before."""
        self._copy.seek(start)
        if start < self._size:
            return self._copy.read(size)
        block = self._pipe.read(size) or b""
        self._copy.write(block)
        self._size += len(block)
        return block

    def close(self) -> None:
        """Close the pipe and remove the copy."""
        self._pipe.close()
        self._copy.close()


class _Reader(RawIOBase):
    """Reads a pipe from its start."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe, self._at = pipe, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._pipe.read(self._at, len(buffer))
        buffer[: len(block)] = block
        self._at += len(block)
        return len(block)

    def tell(self) -> int:
        return self._at


_pipes: dict[tuple[int, int], Pipe] = {}
_n_users = 0


def is_pipe(path: Path) -> bool:
    """Whether a path is a pipe, a socket or an open stream such as /dev/stdin."""
    if descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@contextmanager
def keep_pipes() -> Iterator[None]:
    """Keep what is read from pipes, so that it can be read again until the block ends."""
    global _n_users
    _n_users += 1
    try:
        yield
    finally:
        _n_users -= 1
        while _pipes and not _n_users:
            _pipes.popitem()[1].close()


def rereading(read: Callable[_P, Iterator[_T]]) -> Callable[_P, Iterator[_T]]:
    """Let a reader open its input more than once, even if that is a pipe."""

    @wraps(read)
    def read_kept(*args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        with keep_pipes():
            yield from read(*args, **kwargs)

    return read_kept


@contextmanager
def open_pipe(path: Path) -> Iterator[BufferedReader]:
    """Open a pipe at its start, even if it has been read before within `keep_pipes`."""
    with keep_pipes():
        status = path.stat()
        key = (status.st_dev, status.st_ino)
        if key not in _pipes:
            _pipes[key] = Pipe(path)
        yield BufferedReader(_Reader(_pipes[key]))


GZIP_MAGIC = b"\x1f\x8b"
# What gzip raises for damaged data
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
MAX_LINE_BYTES = 1 << 20
# Usually a few thousand lines.
_CHUNK_BYTES = 1 << 17
BOM = b"\xef\xbb\xbf"
# Of old Macs, and of files converted twice
_OTHER_LINE_ENDS = re.compile(rb"\r+\n|\r")
# No corpus has as much white space, but a bomb of line feeds takes minutes to read.
MAX_BLANK_BYTES = 1 << 20


@contextmanager
def open_binary(path: Path, name: str | None = None) -> Iterator[BufferedIOBase]:
    """Open a file that can be gzipped, as detected by its first bytes."""
    if path.is_dir():
        files = sorted(child.name for child in path.iterdir() if child.is_file())
        raise ValueError(Errors.P110.format(path=path, files=", ".join(files[:10]) or "none"))
    if not path.exists():
        raise ValueError(Errors.P109.format(path=path))
    with open_pipe(path) if is_pipe(path) else path.open("rb") as raw:
        compressed = raw.peek(2)[:2] == GZIP_MAGIC
        if not compressed:
            yield raw
            return
        with BoundedGzipFile(raw, name or path, path.stat().st_size) as file_:
            try:
                yield file_
            except DAMAGED as err:
                message = Errors.P115.format(path=name or path, where="", reason=err)
                raise ValueError(message) from err


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Stream the lines of a file that can be gzipped, checking that they are valid UTF-8."""
    for number, lines in read_blocks(path):
        yield from enumerate(lines, start=number)


def read_blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Stream lines as `read_lines` does, several at a time."""
    number = 1
    with open_binary(path) as file_:
        for block in _blocks(file_, path):
            # In front of later lines, too: files may have been joined
            block = block.removeprefix(BOM).replace(b"\n" + BOM, b"\n")
            # Checking and decoding whole blocks takes a fraction of the time.
            try:
                lines = block.decode("utf8").split("\n")
                well_formed = b"\x00" not in block and len(block) <= MAX_LINE_BYTES
            except UnicodeDecodeError:
                well_formed = False
            if well_formed:
                yield number, lines
                number += len(lines)
            else:
                for line in block.split(b"\n"):
                    yield number, [decoded(line, number, path)]
                    number += 1


def _blocks(file_: BufferedIOBase, path: Path) -> Iterator[bytes]:
    """Several whole lines at a time, without the last line feed. All line ends are line feeds."""
    n_lines = n_blank = 0
    rest = b""
    while True:
        try:
            # Not `read`, which would lose the data before the damage in a damaged archive.
            chunk = file_.read1(_CHUNK_BYTES)
        except DAMAGED as err:
            where = f" after line {n_lines}"
            raise ValueError(Errors.P115.format(path=path, where=where, reason=err)) from err
        # A carriage return at the end may be the first half of a line end.
        text, returns = _unix(rest + chunk) if chunk else (rest.replace(b"\r", b"\n"), b"")
        whole, line_feed, part = text.rpartition(b"\n")
        if line_feed:
            n_lines += whole.count(b"\n") + 1
            n_blank += len(whole) + 1 if whole.isspace() or not whole else 0
            if n_blank > MAX_BLANK_BYTES:
                what = "bytes of blank lines"
                raise _too_much(path, n_lines, MAX_BLANK_BYTES, what)
            yield whole
        rest = part + returns
        if not chunk:
            if rest:
                yield rest
            return
        if len(rest) > MAX_LINE_BYTES:
            raise _too_long(path, n_lines + 1)


def _unix(text: bytes) -> tuple[bytes, bytes]:
    """Replace line ends by line feeds, except carriage returns at the end."""
    if b"\r" not in text:
        return text, b""
    body = text.rstrip(b"\r")
    return _OTHER_LINE_ENDS.sub(b"\n", body.replace(b"\r\n", b"\n")), text[len(body) :]


def decoded(line: bytes, number: int, path: Path) -> str:
    """Decode a line, checking that it is text."""
    if b"\x00" in line:
        raise ValueError(Errors.P114.format(path=path, line=number))
    if len(line) > MAX_LINE_BYTES:
        raise _too_long(path, number)
    try:
        return line.decode("utf8")
    except UnicodeDecodeError as err:
        raise ValueError(Errors.P113.format(path=path, line=number, byte=err.start + 1)) from err


def _too_long(path: Path, number: int) -> ValueError:
    return _too_much(path, number, MAX_LINE_BYTES, "bytes in a line")


def _too_much(path: Path, number: int, limit: int, what: str) -> ValueError:
    return ValueError(Errors.P141.format(path=path, line=number, limit=limit, what=what))
