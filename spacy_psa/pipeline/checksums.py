"""Checksums of saved models, which detect damaged files before they are used.

Otherwise most damage would go unnoticed: a flipped bit turns one weight into another. Checksums do
not protect against someone who changes both the file and its checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import srsly

from ..atomic_files import atomic_files, atomic_path
from ..disk import sha256_of
from ..errors import Errors

MODEL = "model"
SUFFIX = ".sha256"


def add_checksum(data: bytes, others: Mapping[str, Any]) -> bytes:
    """Add the model's checksum, if there is a model, to a component's bytes."""
    entries = {**others, **srsly.msgpack_loads(data)}
    if MODEL in entries:
        entries[MODEL + SUFFIX] = hashlib.sha256(entries[MODEL]).hexdigest()
    return srsly.msgpack_dumps(entries)


def check_bytes(data: bytes) -> None:
    """Compare the model in a component's bytes with its checksum, if it has one."""
    entries = srsly.msgpack_loads(data)
    if isinstance(entries, dict) and MODEL in entries and MODEL + SUFFIX in entries:
        found = hashlib.sha256(entries[MODEL]).hexdigest()
        _compare(MODEL, found, entries[MODEL + SUFFIX])


@contextmanager
def with_checksum(folder: Path) -> Iterator[Path]:
    """Write a component's folder, with a checksum of the model in the format of `sha256sum`.

    Model and checksum are separate files. While the new model replaces the old one, the checksum
    file holds the checksums of both, so that a process killed in between leaves a loadable model,
    either the old or the new one."""
    with atomic_files(folder, partial(_prepare, folder)) as temporary:
        yield temporary
        path = temporary / MODEL
        if path.is_file():
            text = f"{sha256_of(path)}  {MODEL}\n"
            (temporary / (MODEL + SUFFIX)).write_text(text, encoding="utf8")


def _prepare(folder: Path, temporary: Path) -> None:
    before, now = folder / (MODEL + SUFFIX), temporary / (MODEL + SUFFIX)
    if before.is_file() and now.is_file():
        with atomic_path(before, shared=False) as both:
            both.write_bytes(now.read_bytes() + before.read_bytes())


def check_folder(folder: Path) -> None:
    """Compare the model in a component's folder with its checksum, if it has one."""
    path, checksum = folder / MODEL, folder / (MODEL + SUFFIX)
    if path.is_file() and checksum.is_file():
        found = sha256_of(path)
        lines = checksum.read_text(encoding="utf8", errors="replace").splitlines() or [""]
        expected = [line.partition(" ")[0].strip() for line in lines]
        # The second one is the previous model's, if the process was killed while saving
        _compare(MODEL, found, found if found in expected[:2] else expected[0])


def _compare(name: str, found: str, expected: str) -> None:
    if found != expected:
        raise ValueError(Errors.P314.format(name=name, found=found[:12], expected=expected[:12]))
