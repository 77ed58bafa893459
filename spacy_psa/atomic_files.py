"""Write files and folders atomically, and report clearly why if that fails.

Output goes to a hidden temporary path next to the target. Once it is on disk, it replaces the
target, so that a process killed at any moment leaves either the old or the new version: a file in
one step; a folder in two, between which the old version has another name, from which the next save
restores it.
Temporary files that such a process leaves behind are removed the next time the target is written.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2s
from pathlib import Path

from .disk import sync
from .output_errors import output_errors

MOUNTED = (errno.EBUSY, errno.EXDEV)
STREAM = re.compile(r"/dev/(stdout|stderr|fd/.*)|/proc/.*")
DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+")
STANDARD = {"stdout": 1, "stderr": 2}
LEFT_OVER_AFTER = 60.0
MOST_BYTES = 200


@contextmanager
def atomic_path(path: Path, *, shared: bool = True) -> Iterator[Path]:
    """Write a file atomically."""
    number = descriptor(path)
    if number is not None or _is_stream(path):
        with output_errors(path), _as_file(path, number) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    temporary = _temporary(target)
    with output_errors(path, target, temporary):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_over(target, LEFT_OVER_AFTER if shared else 0.0)
        try:
            yield temporary
            if target.is_file():
                shutil.copymode(target, temporary)
            sync([temporary])
            os.replace(temporary, target)
            sync([target.parent])
        finally:
            with suppress(OSError):
                temporary.unlink()


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Write a folder atomically."""
    target = Path(os.path.realpath(path))
    temporary = _temporary(target)
    with output_errors(path, target, temporary):
        if target.exists() and not target.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        recover(target)
        _remove_left_over(target, 0.0)
        try:
            yield temporary
            sync([*temporary.rglob("*"), temporary])
            _put(temporary, target)
            sync([target.parent])
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def atomic_files(folder: Path, prepare: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """Write some of the files in a folder. Each one is moved into place in one step, once all of
    them are on disk.
    """
    temporary = _temporary(folder / "files")
    with output_errors(folder):
        folder.mkdir(exist_ok=True)
        _remove_left_over(folder / "files", 0.0)
        try:
            yield temporary
            sync([*temporary.rglob("*"), temporary])
            if prepare is not None:
                prepare(temporary)
            _put_all(temporary, folder)
            sync([folder])
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder atomically."""
    with atomic_folder(target) as temporary:
        shutil.copytree(source, temporary)


def remove_folder(path: Path) -> None:
    """Remove a folder atomically, so that it is never left half removed. A link to it stays: the
    next save writes to where it leads."""
    target = Path(os.path.realpath(path))
    temporary = _temporary(target)
    with output_errors(path, target, temporary):
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(FileNotFoundError):
            os.rename(target, temporary)
            shutil.rmtree(temporary)


def recover(path: Path) -> None:
    """Restore a folder that was moved aside to be replaced, if the process was killed meanwhile."""
    _recover(Path(os.path.realpath(path)))


def _recover(path: Path) -> None:
    old = _old(path)
    if not os.path.lexists(old):
        return
    if os.path.lexists(path):
        _remove(old)
    else:
        os.rename(old, path)


def descriptor(path: Path) -> int | None:
    """Find the file descriptor that a path stands for."""
    match = DESCRIPTOR.fullmatch(str(path))
    return None if match is None else STANDARD.get(path.name) or int(path.name)


def check_writable(path: Path, *, is_file: bool = False) -> None:
    """Check up front, as far as possible, that an output can be written."""
    if _is_stream(path):
        return
    with output_errors(path):
        if is_file and path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        folder = Path(os.path.realpath(path)).parent
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        if not os.access(folder, os.W_OK | os.X_OK):
            read_only = hasattr(os, "statvfs") and os.statvfs(folder).f_flag & os.ST_RDONLY
            code = errno.EROFS if read_only else errno.EACCES
            raise OSError(code, os.strerror(code), str(folder))


def _put(source: Path, target: Path) -> None:
    """Replace a folder with another. The system replaces only empty folders in one step, so the old
    one is moved aside first: see `recover`.
    """
    old = _old(target)
    _recover(target)
    try:
        if os.path.lexists(target):
            os.rename(target, old)
    except OSError as error:
        # A mount point cannot be moved
        if error.errno not in MOUNTED:
            raise
        _put_all(source, target)
        return
    try:
        _move(source, target)
    except OSError:
        with suppress(FileNotFoundError):
            os.rename(old, target)
        raise
    _remove(old)


def _move(source: Path, target: Path) -> None:
    """Move a folder to where nothing is, also on another disk."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = _temporary(target)
        try:
            shutil.copytree(source, beside)
            os.rename(beside, target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _put_all(source: Path, target: Path) -> None:
    """Move the contents of a folder into another, replacing entries of the same name."""
    for path in sorted(source.iterdir()):
        place = target / path.name
        if path.is_dir():
            _put(path, place)
        else:
            if place.is_dir():  # or the file would be moved into the folder
                _remove(place)
            shutil.move(path, place)


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder, as far as possible."""
    with suppress(OSError):
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def _temporary(path: Path) -> Path:
    # In the same folder, because a move is atomic only within a file system
    return path.with_name(f".{_short(path.name)}.{os.getpid()}.tmp")


def _old(path: Path) -> Path:
    return path.with_name(f".{_short(path.name)}.old")


def _short(name: str) -> str:
    """A name to which more can be added, up to the 255 bytes that systems allow, and which no other
    long name has."""
    data = os.fsencode(name)
    if len(data) <= MOST_BYTES:
        return name
    return f"{name[: MOST_BYTES // 4]}-{blake2s(data, digest_size=8).hexdigest()}"


def _remove_left_over(path: Path, after: float) -> None:
    """Remove temporary files left behind by processes that have ended, or by an earlier process
    with this one's ID.
    """
    pattern = re.compile(rf"\.{re.escape(_short(path.name))}\.(\d+)\.tmp")
    for name in os.listdir(path.parent):
        match = pattern.fullmatch(name)
        if match is None or _runs(int(match[1])):
            continue
        found = path.parent / name
        with suppress(OSError):
            if time.time() - found.stat().st_mtime < after and int(match[1]) != os.getpid():
                continue
            _remove(found)


def _runs(process: int) -> bool:
    """Whether another process with this ID is running, as far as is known."""
    if process == os.getpid():
        return False
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


@contextmanager
def _as_file(path: Path, number: int | None) -> Iterator[Path]:
    """Provide a file to write to for a stream: the stream itself, unless it is already open.

    An open stream such as /dev/stdout may be redirected to a file that already has contents.
    Reopening it would overwrite them from the start, and later prints would overwrite the output.
    """
    if number is None:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / "stream"
        yield temporary
        sys.stdout.flush()
        try:
            copy = os.dup(number)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error
        with open(copy, "wb") as stream, temporary.open("rb") as file_:
            shutil.copyfileobj(file_, stream)


def _is_stream(path: Path) -> bool:
    if STREAM.fullmatch(str(path)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()
