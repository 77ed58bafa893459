"""Checksum files and flush them to disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BLOCK_SIZE = 1 << 20
# Disks write a dozen small files in parallel as fast as one
N_WRITERS = 4


def sha256_of(path: Path) -> str:
    """RETURNS (str): The SHA-256 of a file, as hexadecimal digits."""
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
