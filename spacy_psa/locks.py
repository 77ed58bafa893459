"""Keep other runs out of the folder that a run writes to."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from .errors import Errors
from .output_errors import output_errors

LOCK = ".lock"
# What the system says of a lock that another process has. Others mean that the disk has none.
_HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


class FolderLock:
    """A lock on a folder, which the system ends with the process, however that ends. Where the disk
    has no locks, nothing is locked.

    folder (Path): The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: int | None = None

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def acquire(self) -> None:
        """Lock the folder, which must exist, if this lock has not done so before."""
        if self._file is not None:
            return
        with output_errors(self.folder):
            self._file = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(self._file)
        except OSError as error:
            if error.errno in _HELD:
                raise ValueError(Errors.P510.format(path=self.folder)) from error


def _lock(file: int) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
