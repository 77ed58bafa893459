"""Errors for outputs that cannot be written."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from .errors import Errors

FULL = (errno.ENOSPC, errno.EDQUOT)
DENIED = (errno.EROFS, errno.EACCES, errno.EPERM)
# Python's `write` does not name the file, but only writing raises these
NAMELESS = (*FULL, errno.EROFS, errno.EFBIG)
# NumPy and Pillow raise errors without an errno
TORN = re.compile("requested and .* written|when writing image file")

# Commands, also spaCy's, print it as a message. Newer releases of typer vendor click, so the class
# cannot be imported from click.
PrintedError: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


class OutputError(PrintedError, OSError):  # type: ignore[valid-type, misc]
    """An output that cannot be written.

    message (str): What is wrong, with which file, and the remedy.
    """


@contextmanager
def output_errors(*paths: Path) -> Iterator[None]:
    """Report which output cannot be written, and why."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        first = _first(error)
        if not _is_about(first, paths):
            raise
        raise OutputError(_describe(first, paths[0])) from error


def _first(error: OSError) -> OSError:
    """The first error: copying a folder continues after errors, and reports all of them as text."""
    if not isinstance(error, shutil.Error):
        return error
    _, target, reason = error.args[0][0]
    match = re.match(r"\[Errno (\d+)\]", reason)
    code = int(match[1]) if match else errno.EIO
    return OSError(code, os.strerror(code), str(target))


def _is_about(error: OSError, paths: Iterable[Path]) -> bool:
    names = (error.filename, error.filename2)
    found = [Path(os.fsdecode(n)) for n in names if isinstance(n, str | bytes | os.PathLike)]
    if not found:
        return error.errno in NAMELESS or TORN.search(str(error)) is not None
    return any(
        name == path or path in name.parents or name in path.parents
        for name in found
        for path in (*paths, *map(Path.absolute, paths))
    )


def _describe(error: OSError, path: Path) -> str:
    reason = error.strerror or str(error)
    if error.errno in FULL or TORN.search(str(error)):
        return Errors.P410.format(path=path, reason=reason)
    if error.errno in DENIED:
        return Errors.P411.format(path=path, reason=reason)
    if error.errno == errno.EFBIG:
        return Errors.P413.format(path=path, reason=reason)
    return Errors.P412.format(path=path, reason=reason)
