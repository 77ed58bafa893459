"""Decompress files with a size limit: a few kilobytes can expand to gigabytes."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path
from typing import IO

from ..errors import Errors

# Text compresses by a factor of 3 to 30; the maximum of the algorithm is 1032.
MAX_RATIO, ALWAYS_ALLOWED = 100, 1 << 28
_HIGHEST_RATIO = 1032
_BLOCK_BYTES = 1 << 20


def unpacked_limit(size: int) -> int:
    """Get the maximum decompressed size for a compressed file."""
    return max(ALWAYS_ALLOWED, MAX_RATIO * size)


class Meter:
    """Count decompressed bytes.

    path (Union[Path, str]): The file, for messages.
    size (int): Its size in bytes.
    how (str): A command that decompresses it, or another way out, for messages.
    """

    def __init__(self, path: Path | str, size: int, how: str) -> None:
        self._path, self.size, self._how = path, size, how
        self._found = 0

    def add(self, n: int) -> None:
        """Count bytes."""
        self._found += n
        limit = unpacked_limit(self.size)
        if self._found > limit:
            ratio = max(1, limit // max(1, self.size))
            raise ValueError(
                Errors.P421.format(path=self._path, limit=limit, ratio=ratio, how=self._how)
            )


class BoundedGzipFile(gzip.GzipFile):
    """A gzip file that raises an error if its decompressed size exceeds the limit.

    file_ (IO[bytes]): The compressed file.
    path (Union[Path, str]): Its path, for messages.
    size (int): Its size in bytes; that of a pipe is known only as far as it has been read.
    """

    def __init__(self, file_: IO[bytes], path: Path | str, size: int) -> None:
        super().__init__(fileobj=file_)
        self._packed = file_
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
        """Read with at most one raw read. RAISES (ValueError): If there are too many bytes."""
        return self._counted(super().read1(size))

    def _counted(self, block: bytes) -> bytes:
        self._meter.size = max(self._meter.size, self._packed.tell())
        self._meter.add(len(block))
        return block


def check_zlib(data: bytes, path: Path) -> None:
    """Check the decompressed size of zlib-compressed data, such as a DocBin."""
    if len(data) * _HIGHEST_RATIO <= unpacked_limit(len(data)):
        return
    meter = Meter(path, len(data), "saving it as several smaller files")
    unpacker = zlib.decompressobj()
    rest = memoryview(data)
    while rest:
        block, rest = rest[:_BLOCK_BYTES], rest[_BLOCK_BYTES:]
        while block:
            meter.add(len(unpacker.decompress(block, _BLOCK_BYTES)))
            block = memoryview(unpacker.unconsumed_tail)


def copy_member(archive: zipfile.ZipFile, name: str, path: Path, target: Path) -> None:
    """Extract a file from a zip archive. Its name in the archive does not affect where it is
    written.
    """
    info = archive.getinfo(name)
    meter = Meter(path, info.compress_size, "unzip")
    # The declared size may be false, but if it is too large there is no need to try.
    meter.add(info.file_size)
    meter = Meter(path, info.compress_size, "unzip")
    with archive.open(info) as packed, target.open("wb") as file_:
        while block := packed.read(_BLOCK_BYTES):
            meter.add(len(block))
            file_.write(block)
