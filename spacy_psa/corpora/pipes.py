"""Read pipes as often as needed: detection and reader each begin at the start of their input."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from io import BufferedReader, RawIOBase
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, ParamSpec, TypeVar

from ..atomic_files import descriptor

_P = ParamSpec("_P")
_T = TypeVar("_T")
_IN_MEMORY = 1 << 24


class Pipe:
    """A pipe, and a copy of what has been read from it so far: in memory, or in a temporary file if
    it is large.

    path (Path): The pipe.
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
