"""Checksums of saved models, so that a damaged one is noticed before anything is made of it.

Most damage to a model's file would go unnoticed otherwise: a flipped bit makes another weight of
one. This is no protection against people who change file and checksum together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import srsly

from ..disk import sha256_of
from ..errors import Errors
from ..whole_files import atomic_path, whole_files

MODEL = "model"
SUFFIX = ".sha256"


def add_checksum(data: bytes, others: Mapping[str, Any]) -> bytes:
    """Add the model's checksum to a component's bytes.

    data (bytes): The output of `TrainablePipe.to_bytes`.
    others (Mapping[str, Any]): Entries that are to stand before these.
    RETURNS (bytes): The same, with one entry more if the model is among it.
    """
    entries = {**others, **srsly.msgpack_loads(data)}
    if MODEL in entries:
        entries[MODEL + SUFFIX] = hashlib.sha256(entries[MODEL]).hexdigest()
    return srsly.msgpack_dumps(entries)


def check_bytes(data: bytes) -> None:
    """Compare the model in a component's bytes with its checksum, if it has one.

    data (bytes): The output of `to_bytes`.
    RAISES (ValueError): If they differ.
    """
    entries = srsly.msgpack_loads(data)
    if isinstance(entries, dict) and MODEL in entries and MODEL + SUFFIX in entries:
        found = hashlib.sha256(entries[MODEL]).hexdigest()
        _compare(MODEL, found, entries[MODEL + SUFFIX])


@contextmanager
def with_checksum(folder: Path) -> Iterator[Path]:
    """Write a component's folder, and the checksum of the model in it, as `sha256sum` does.

    Model and checksum are two files. While the new model takes the place of the old one, the
    checksums of both are in the file, so that a process that is killed between leaves a model that
    can be loaded, be it the old or the new one.

    folder (Path): The folder.
    YIELDS (Path): A temporary folder to write the files to.
    RAISES (OutputError): If they cannot be written. The files are as they were then.
    """
    with whole_files(folder, partial(_prepare, folder)) as temporary:
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
    """Compare the model in a component's folder with its checksum, if it has one.

    folder (Path): The folder.
    RAISES (ValueError): If they differ.
    """
    path, checksum = folder / MODEL, folder / (MODEL + SUFFIX)
    if path.is_file() and checksum.is_file():
        found = sha256_of(path)
        lines = checksum.read_text(encoding="utf8", errors="replace").splitlines() or [""]
        expected = [line.partition(" ")[0].strip() for line in lines]
        # The second one is that of the model before, if the process was killed in saving
        _compare(MODEL, found, found if found in expected[:2] else expected[0])


def _compare(name: str, found: str, expected: str) -> None:
    if found != expected:
        raise ValueError(Errors.P314.format(name=name, found=found[:12], expected=expected[:12]))
