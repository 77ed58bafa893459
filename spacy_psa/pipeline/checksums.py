"""Checksums of saved models, so that a damaged one is noticed before anything is made of it.

Most damage to a model's file would go unnoticed otherwise: a flipped bit makes another weight of
one. This is no protection against people who change file and checksum together.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import srsly

from ..errors import Errors

MODEL = "model"
SUFFIX = ".sha256"


def add_checksum(data: bytes) -> bytes:
    """Add the model's checksum to a component's bytes.

    data (bytes): The output of `TrainablePipe.to_bytes`.
    RETURNS (bytes): The same, with one entry more if the model is among it.
    """
    entries = srsly.msgpack_loads(data)
    if MODEL not in entries:
        return data
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


def write_checksum(folder: Path) -> None:
    """Write the checksum of the model in a component's folder, as `sha256sum` does.

    folder (Path): The folder.
    """
    path = folder / MODEL
    if path.is_file():
        text = f"{_digest(path)}  {MODEL}\n"
        (folder / (MODEL + SUFFIX)).write_text(text, encoding="utf8")


def check_folder(folder: Path) -> None:
    """Compare the model in a component's folder with its checksum, if it has one.

    folder (Path): The folder.
    RAISES (ValueError): If they differ.
    """
    path, checksum = folder / MODEL, folder / (MODEL + SUFFIX)
    if path.is_file() and checksum.is_file():
        expected = checksum.read_text(encoding="utf8", errors="replace").partition(" ")[0]
        _compare(MODEL, _digest(path), expected.strip())


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _compare(name: str, found: str, expected: str) -> None:
    if found != expected:
        raise ValueError(Errors.P314.format(name=name, found=found[:12], expected=expected[:12]))
