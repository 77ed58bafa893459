"""Helpers for thinc arrays where thinc's type annotations are narrower than what it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from thinc.api import Ops
from thinc.types import Floats2d, Ints1d
from thinc.util import torch2xp
from torch import Tensor


def unflatten(ops: Ops, rows: Floats2d, lengths: Sequence[int]) -> list[Floats2d]:
    """Split the rows of a batch by document, the inverse of `ops.flatten`.

    ops (Ops): The model's ops.
    rows (Floats2d): The rows of all documents. Shape: (tokens, width).
    lengths (Sequence[int]): The number of rows of each document.
    RETURNS (List[Floats2d]): The rows of each document.
    """
    if list(lengths) == [len(rows)]:
        # For a single sentence, splitting and joining would take longer than some layers
        return [rows]
    return ops.unflatten(rows, cast(Ints1d, lengths))


def to_rows(tensor: Tensor) -> Floats2d:
    """Convert a matrix to a NumPy or CuPy array that shares its memory.

    tensor (Tensor): A float matrix that does not require a gradient.
    RETURNS (Floats2d): The array.
    """
    return cast(Floats2d, torch2xp(tensor))
