"""Divide the input into blocks: each becomes one shard, wherever and whenever it is annotated.

The plan follows from the names and sizes of the files alone, so that nothing is read twice and an
interrupted run finds the same blocks again. A plain text file is divided by bytes, as in Hadoop: a
line belongs to the block in which it begins. A Parquet file is divided by row groups. A compressed
file can only be read from its start, so it is one block.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from .inputs import COMPRESSIBLE, Source
from .output_columns import RESERVED

TO_THE_END = sys.maxsize


@dataclass(frozen=True)
class Part:
    """A part of a file.

    source (Source): The file.
    start (int): Its first byte or row group.
    stop (int): The byte or row group after it.
    size (int): Its size in bytes, as stored.
    """

    source: Source
    start: int
    stop: int
    size: int


@dataclass(frozen=True)
class Block:
    """What becomes one shard.

    number (int): Its number, from 0.
    parts (Sequence[Part]): The parts of files, all of one kind.
    """

    number: int
    parts: Sequence[Part]

    @property
    def size(self) -> int:
        """RETURNS (int): Its size in bytes, as stored."""
        return sum(part.size for part in self.parts)

    def to_json(self) -> str:
        """RETURNS (str): The block, to send it to another machine."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Block:
        """RETURNS (Block): The block of `to_json`."""
        data = json.loads(text)
        parts = [Part(Source(**part.pop("source")), **part) for part in data["parts"]]
        return cls(data["number"], parts)


def make_blocks(
    sources: Iterable[Source], block_size: int, *, column: str, whole_files: bool
) -> list[Block]:
    """Divide the input."""
    groups: list[list[Part]] = []
    for source in sources:
        for part in _parts(source, block_size, column, whole_files):
            last = groups[-1] if groups else []
            # Parquet files may have different columns, and a shard has one schema
            joins = last and last[0].source.kind == source.kind and source.kind != ".parquet"
            if joins and sum(other.size for other in last) + part.size <= block_size:
                last.append(part)
            else:
                groups.append([part])
    return [Block(number, parts) for number, parts in enumerate(groups)]


def digest(blocks: Iterable[Block]) -> str:
    """RETURNS (str): A SHA-256 of the plan: names and sizes of files, and their division."""
    found = hashlib.sha256()
    for block in blocks:
        for part in block.parts:
            values = [block.number, part.source.name, part.source.size, part.start, part.stop]
            found.update(json.dumps(values).encode())
    return found.hexdigest()


def _parts(source: Source, block_size: int, column: str, whole_files: bool) -> Iterator[Part]:
    if source.kind == ".parquet":
        yield from _row_groups(source, block_size, column)
    elif source.size == 0 and source.kind != ".spacy":  # which is never without a header
        return
    elif (
        source.kind not in COMPRESSIBLE
        or source.compression
        or (whole_files and source.kind == ".txt")
    ):
        yield Part(source, 0, TO_THE_END, source.size)
    else:
        n = max(1, round(source.size / block_size))
        bounds = [source.size * i // n for i in range(n + 1)]
        for start, stop in pairwise(bounds):
            yield Part(source, start, stop, stop - start)


def _row_groups(source: Source, block_size: int, column: str) -> Iterator[Part]:
    from .parquet import check_parquet

    metadata = check_parquet(source, column, RESERVED)
    start = size = 0
    for i in range(metadata.num_row_groups):
        size += metadata.row_group(i).total_byte_size
        if size >= block_size or i == metadata.num_row_groups - 1:
            yield Part(source, start, i + 1, size)
            start, size = i + 1, 0
