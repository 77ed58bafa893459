"""Helpers for thinc arrays where thinc's type annotations are narrower than what it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import cast

from thinc.api import Ops
from thinc.types import Floats2d, Ints1d
from thinc.util import torch2xp
from torch import Tensor


class SplitRows(list[Floats2d]):
    """The rows of a batch, split by document, which remember the whole.

    parts (Sequence[Floats2d]): The rows of each document.
    rows (Floats2d): The rows of all documents. Shape: (tokens, width).
    """

    def __init__(self, parts: Sequence[Floats2d], rows: Floats2d) -> None:
        super().__init__(parts)
        self._parts = tuple(parts)
        self._rows = rows

    @property
    def rows(self) -> Floats2d | None:
        """The rows of all documents; None if the list has been changed."""
        is_same = len(self) == len(self._parts) and all(map(is_, self, self._parts))
        return self._rows if is_same else None


def flatten(ops: Ops, parts: Sequence[Floats2d]) -> Floats2d:
    """Join the rows of documents. For a list made by `unflatten`, this takes no time.

    ops (Ops): The model's ops.
    parts (Sequence[Floats2d]): The rows of each document.
    RETURNS (Floats2d): The rows of all documents, which must not be modified. Shape:
        (tokens, width).
    """
    rows = parts.rows if isinstance(parts, SplitRows) else None
    return cast(Floats2d, ops.flatten(parts)) if rows is None else rows


def unflatten(ops: Ops, rows: Floats2d, lengths: Sequence[int]) -> list[Floats2d]:
    """Split the rows of a batch by document, the inverse of `flatten`.

    ops (Ops): The model's ops.
    rows (Floats2d): The rows of all documents. Shape: (tokens, width).
    lengths (Sequence[int]): The number of rows of each document.
    RETURNS (List[Floats2d]): The rows of each document.
    """
    if list(lengths) == [len(rows)]:
        # For a single sentence, splitting and joining would take longer than some layers
        return SplitRows([rows], rows)
    return SplitRows(ops.unflatten(rows, cast(Ints1d, lengths)), rows)


def to_rows(tensor: Tensor) -> Floats2d:
    """Convert a matrix to a NumPy or CuPy array that shares its memory.

    tensor (Tensor): A float matrix that does not require a gradient.
    RETURNS (Floats2d): The array.
    """
    return cast(Floats2d, torch2xp(tensor))
