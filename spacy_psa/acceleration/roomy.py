"""Matrices with room for more rows, for products whose number of rows is rounded up.

oneDNN generates code for each shape, which takes a millisecond and up to a megabyte, so products
are better computed at a few numbers of rows than at any. If the memory of a matrix already extends
to the rounded number, the product reads beyond the last row instead of copying all rows to a larger
matrix: what it computes there is not used.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

LEAST = 8  # rows to round to a multiple of
DTYPES = torch.float32, torch.bfloat16, torch.float16  # of matrices with room
MOST_KEPT = 4096  # numbers of rows that are known


@lru_cache(MOST_KEPT)
def rounded_up(n: int) -> int:
    """Round a number of rows up to one of a few.

    n (int): The number of rows.
    RETURNS (int): The smallest of the few numbers that is not below n: at most a sixteenth more, or
        a multiple of eight. There are at most sixteen between each power of two and the next.
    """
    return n + -n % _step(n)


@lru_cache(MOST_KEPT)
def rounded_down(n: int) -> int:
    """Round a number of rows down to one of a few.

    n (int): The number of rows.
    RETURNS (int): The largest of the few numbers that is not above n.
    """
    return n - n % _step(n)


def _step(n: int) -> int:
    """A sixteenth to a thirty-second of n, at least `LEAST`."""
    return max(LEAST, 1 << max(0, (n - 1).bit_length() - 5))


def roomy(
    like: Tensor, shape: torch.Size | tuple[int, ...], dtype: torch.dtype | None = None
) -> Tensor:
    """Allocate a tensor whose memory extends to the rounded number of rows. Only there it is
    initialized, with zeros: other numbers could be denormal, which slows some processors down.

    like (Tensor): A tensor on the same device.
    shape (Sequence[int]): The shape. Only a matrix on a CPU gets room, not in compiled networks.
    dtype (Optional[torch.dtype]): The type, by default that of `like`. Only those in `DTYPES` get
        room.
    RETURNS (Tensor): A tensor of that shape.
    """
    dtype = dtype or like.dtype
    has_room = len(shape) == 2 and dtype in DTYPES and like.device.type == "cpu"
    if not has_room or type(like) is not Tensor or torch.compiler.is_compiling():
        return like.new_empty(shape, dtype=dtype)
    n_rows, width = shape
    n = rounded_up(n_rows)
    filled = like.new_empty((n, width), dtype=dtype)
    if n == n_rows:
        return filled
    filled.narrow(0, n_rows, n - n_rows).zero_()
    # Not a slice: autograd treats a view of another tensor differently
    return filled.resize_(n_rows, width)


def with_room(x: Tensor) -> Tensor:
    """Extend a matrix to the rounded number of rows.

    x (Tensor): Shape: (rows, width).
    RETURNS (Tensor): The matrix and some more rows, with any numbers. It shares the matrix's memory
        if that was made for them, as by `roomy`. Shape: (rounded rows, width).
    """
    n_rows, width = x.shape
    n = rounded_up(n_rows)
    if n == n_rows:
        return x
    if (
        x.untyped_storage().nbytes() == n * width * x.element_size()
        and x.is_contiguous()
        and x.storage_offset() == 0
    ):
        return x.as_strided((n, width), (width, 1))
    filled = x.new_empty(n, width)
    filled[:n_rows] = x
    filled[n_rows:] = 0.0
    return filled
