"""Find, checksum and flush files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .errors import Errors

BLOCK_SIZE = 1 << 20
# Disks write a dozen small files in parallel as fast as one
N_WRITERS = 4


def walk(root: Path) -> Iterator[Path]:
    """Find all files below a folder, also behind links, which are common for shared copies. Hidden
    files and folders, whose names begin with a dot, are left out. A folder that cannot be read is
    an error, but there may be none.
    """

    def check(error: OSError) -> None:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return  # no folder at all
        what = f"a folder that fails to be read ({error.strerror})"
        if isinstance(error, PermissionError):
            what = "a folder without permission to read it"
        raise ValueError(Errors.P162.format(path=error.filename, what=what)) from error

    for folder, subfolders, names in os.walk(root, onerror=check, followlinks=True):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in subfolders:
            path = Path(folder, name)
            if path.is_symlink() and any(path.samefile(above) for above in path.parents):
                raise ValueError(Errors.P162.format(path=path, what="a link to a folder above it"))
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith("."):
                continue
            if not path.is_file():
                what = "a link to nothing" if path.is_symlink() else "a pipe, socket or device"
                raise ValueError(Errors.P162.format(path=path, what=what))
            yield path


def check_files(folder: Path) -> None:
    """Check that reading the files in a folder cannot wait forever."""
    for _ in walk(folder):
        pass


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_SIZE):
            digest.update(block)
    return digest.hexdigest()


def sync(paths: Iterable[Path]) -> None:
    """Flush files and folders to disk, so that they survive even a power failure."""
    with ThreadPoolExecutor(N_WRITERS) as writers:
        list(writers.map(_sync, paths))


def _sync(path: Path) -> None:
    is_folder = path.is_dir()
    if is_folder and os.name != "posix":
        return
    file = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(file)
    except OSError:
        # Some file systems cannot sync folders
        if not is_folder:
            raise
    finally:
        os.close(file)
