"""Unpack files without being flooded: a few kilobytes can be packed from gigabytes."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path
from typing import IO

from ..errors import Errors

# Text becomes 3 to 30 times smaller, the algorithm could make it 1032 times smaller.
MAX_RATIO, ALWAYS_ALLOWED = 100, 1 << 28
_HIGHEST_RATIO = 1032
_BLOCK_BYTES = 1 << 20


def unpacked_limit(size: int) -> int:
    """How much may come out of a packed file.

    size (int): Its bytes.
    RETURNS (int): The largest number of unpacked bytes.
    """
    return max(ALWAYS_ALLOWED, MAX_RATIO * size)


class Meter:
    """Count what is unpacked.

    path (Union[Path, str]): The file, for messages.
    size (int): Its bytes.
    how (str): A command that unpacks it, for messages.
    """

    def __init__(self, path: Path | str, size: int, how: str) -> None:
        self._path, self._size, self._how = path, size, how
        self._limit = unpacked_limit(size)
        self._found = 0

    def add(self, n: int) -> None:
        """Count bytes.

        n (int): How many.
        RAISES (ValueError): If there are too many by now.
        """
        self._found += n
        if self._found > self._limit:
            ratio = max(1, self._limit // max(1, self._size))
            raise ValueError(
                Errors.P421.format(path=self._path, limit=self._limit, ratio=ratio, how=self._how)
            )


class BoundedGzipFile(gzip.GzipFile):
    """A gzip file that ends in an error when too much comes out of it.

    file_ (IO[bytes]): The packed file.
    path (Union[Path, str]): Its path, for messages.
    size (int): Its bytes.
    """

    def __init__(self, file_: IO[bytes], path: Path | str, size: int) -> None:
        super().__init__(fileobj=file_)
        self._meter = Meter(path, size, "gzip -d")

    def read(self, size: int | None = -1) -> bytes:
        """Read bytes. RAISES (ValueError): If there are too many."""
        if size is not None and size >= 0:
            return self._counted(super().read(size))
        blocks = []
        while block := self.read(_BLOCK_BYTES):
            blocks.append(block)
        return b"".join(blocks)

    def read1(self, size: int = -1) -> bytes:
        """Read what there is at once. RAISES (ValueError): If there are too many bytes."""
        return self._counted(super().read1(size))

    def _counted(self, block: bytes) -> bytes:
        self._meter.add(len(block))
        return block


def check_zlib(path: Path) -> None:
    """Check that not too much comes out of a file that is packed by zlib, such as a DocBin.

    path (Path): The file.
    RAISES (ValueError): If so.
    RAISES (zlib.error): If it is damaged.
    """
    size = path.stat().st_size
    if size * _HIGHEST_RATIO <= unpacked_limit(size):
        return
    meter = Meter(path, size, "splitting it where it was made")
    unpacker = zlib.decompressobj()
    with path.open("rb") as file_:
        while block := file_.read(_BLOCK_BYTES):
            while block:
                meter.add(len(unpacker.decompress(block, _BLOCK_BYTES)))
                block = unpacker.unconsumed_tail


def copy_member(archive: zipfile.ZipFile, name: str, path: Path, target: Path) -> None:
    """Unpack a file of a zip archive. What it is called there does not matter to where it goes.

    archive (zipfile.ZipFile): The archive.
    name (str): The name of the file in it.
    path (Path): The archive's path, for messages.
    target (Path): The file to write.
    RAISES (ValueError): If too much comes out of it.
    RAISES (KeyError): If there is no such file.
    """
    info = archive.getinfo(name)
    meter = Meter(path, info.compress_size, "unzip")
    # The size that is announced need not be true, but says what nobody needs to try
    meter.add(info.file_size)
    meter = Meter(path, info.compress_size, "unzip")
    with archive.open(info) as packed, target.open("wb") as file_:
        while block := packed.read(_BLOCK_BYTES):
            meter.add(len(block))
            file_.write(block)
