"""Disks that fail, and processes that are killed, at the n-th file operation."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spacy_psa.output_errors import OutputError

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("open", "os.mkdir", "os.rename")
REMOVALS = ("os.remove", "os.rmdir")
SIZES = (0, 30, 300, 3000)

# An audit hook cannot be removed: a single one is installed, which calls this function.
_on_event: Callable[[str, tuple[Any, ...]], None] | None = None
_installed = False


def contents(folder: Path) -> dict[str, bytes | None]:
    """Read everything in a folder, hidden files included. The value of a folder is None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


class FailingDisk:
    """Count the write operations below a folder, and let them fail after a given number.

    failed (int): The number of failures.
    """

    def __init__(self, folder: Path, number: int, code: int, events: tuple[str, ...]) -> None:
        self.folder = str(folder)
        self.events = events
        self.left = number
        self.code = code
        self.failed = 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in self.events or not _is_below(self.folder, arguments):
            return
        if event == "open" and not arguments[2] & WRITING:
            return
        self.left -= 1
        if self.left < 0:
            self.failed += 1
            raise OSError(self.code, os.strerror(self.code), os.fspath(arguments[0]))


@contextmanager
def failing_disk(
    folder: Path, number: int, code: int = errno.ENOSPC, events: tuple[str, ...] = CHANGES
) -> Iterator[FailingDisk]:
    """Let all writing below a folder fail after a number of operations. Deleting still works."""
    disk = FailingDisk(folder, number, code, events)
    with _listening(disk):
        yield disk


@contextmanager
def limited_files(size: int) -> Iterator[None]:
    """Limit the size of files that the system allows to write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fails_whole(
    folder: Path, write: Callable[[], object], events: tuple[str, ...] = CHANGES
) -> list[str]:
    """Repeat a write on a disk that fails at each operation in turn."""
    before, messages = contents(folder), []
    for number in range(1000):
        raised: OutputError | None = None
        with failing_disk(folder, number, events=events) as disk:
            try:
                write()
            except OutputError as found:
                raised = found
        if not disk.failed:
            assert raised is None
            return messages
        assert raised is not None, f"no error at {number}"
        assert contents(folder) == before, f"changed at {number}"
        messages.append(str(raised))
    raise AssertionError("it goes on forever")


def killed_at_each_moment(
    folder: Path, write: Callable[[], object], look: Callable[[int], None]
) -> int:
    """Kill a process at each of its file operations below a folder in turn."""
    for number in range(1000):
        process = os.fork()
        if not process:
            try:
                with _listening(_Assassin(str(folder), number)):
                    write()
            finally:
                os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status == 0:
            return number
        assert status == -signal.SIGKILL
        look(number)
    raise AssertionError("it goes on forever")


class _Assassin:
    def __init__(self, folder: str, number: int) -> None:
        self.folder = folder
        self.left = number

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        # Reading counts as well: it happens between writing and renaming
        if event in (*CHANGES, *REMOVALS) and _is_below(self.folder, arguments):
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)


def _is_below(folder: str, arguments: tuple[Any, ...]) -> bool:
    path = arguments[0]
    return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(folder)


@contextmanager
def _listening(listener: Callable[[str, tuple[Any, ...]], None]) -> Iterator[None]:
    global _on_event, _installed
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    _on_event = listener
    try:
        yield
    finally:
        _on_event = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _on_event is not None:
        _on_event(event, arguments)
