"""thinc's arrays, where its types are narrower than what it takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from thinc.api import Ops
from thinc.types import Floats2d, Ints1d
from thinc.util import torch2xp
from torch import Tensor


def unflatten(ops: Ops, rows: Floats2d, lengths: Sequence[int]) -> list[Floats2d]:
    """Split the rows of a batch, the reverse of `ops.flatten`.

    ops (Ops): The operations of a model.
    rows (Floats2d): The rows of all documents. Shape: (tokens, width).
    lengths (Sequence[int]): How many rows each document has.
    RETURNS (List[Floats2d]): The rows of each document.
    """
    if list(lengths) == [len(rows)]:
        # To split and to join takes longer than some layers, for a single sentence
        return [rows]
    return ops.unflatten(rows, cast(Ints1d, lengths))


def to_rows(tensor: Tensor) -> Floats2d:
    """Turn a matrix into an array of NumPy or CuPy, which shares its memory.

    tensor (Tensor): A matrix of floats, without a gradient.
    RETURNS (Floats2d): The array.
    """
    return cast(Floats2d, torch2xp(tensor))
