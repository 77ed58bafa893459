"""Proposition files without words, as written by systems and read by evaluators."""

from collections.abc import Iterator
from pathlib import Path

from ..annotation.propositions import Frame
from .columns import read_columns
from .conll2005 import NO_TARGET, _read_frames
from .problems import Problems


def is_props(path: Path) -> bool:
    """Check whether a file has propositions without words, by its name or its first sentence."""
    if ".props" in path.suffixes:
        return True
    rows = next(read_columns(path), [])
    n_targets = sum(row.columns[0] != NO_TARGET for row in rows)
    return all(
        len(row.columns) == n_targets + 1 and all("*" in mark for mark in row.columns[1:])
        for row in rows
    )


def read_props(
    path: str | Path, *, problems: Problems | None = None
) -> Iterator[tuple[int, list[Frame]]]:
    """Stream the propositions of each sentence."""
    problems = problems or Problems()
    for rows in read_columns(path):
        yield len(rows), _read_frames(Path(path), rows, 0, problems)
