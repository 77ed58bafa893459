"""Reusable memory for large temporary arrays.

For a batch of typical size, getting fresh pages from the operating system takes longer than the
arithmetic on them.
"""

import math

import numpy as np

SMALLEST = 1 << 12  # numbers; below this, the allocator's own free lists are as good
CAPACITY = 1 << 23  # numbers kept for reuse, 64 MB
# Temporaries of shape (rows, L, L) are split into chunks of at most this many numbers
CHUNK = 1 << 20


class Workspace:
    """The arrays that one computation needs. When the workspace is garbage-collected, their memory
    is passed on to the next computation: do not keep references to them for longer.
    """

    _free: dict[int, list[np.ndarray]] = {}  # noqa: RUF012 - shared on purpose, by size

    def __init__(self) -> None:
        self._taken: list[np.ndarray] = []

    def empty(self, *shape: int) -> np.ndarray:
        """An uninitialized float64 array.

        shape (int): Its shape.
        RETURNS (np.ndarray): *Shape:* as given.
        """
        size = math.prod(shape)
        if size < SMALLEST:
            return np.empty(shape)
        room = 1 << (size - 1).bit_length()
        try:  # do not check first: another thread may take it in between
            memory = self._free[room].pop()
        except (KeyError, IndexError):
            memory = np.empty(room)
        self._taken.append(memory)
        return memory[:size].reshape(shape)

    def __del__(self) -> None:
        kept = sum(size * len(arrays) for size, arrays in list(self._free.items()))
        for memory in self._taken:
            kept += memory.size
            if kept <= CAPACITY:
                self._free.setdefault(memory.size, []).append(memory)


def chunks(n_rows: int, row_size: int) -> list[slice]:
    """Split rows into chunks of bounded size.

    n_rows (int): The number of rows.
    row_size (int): The number of values per row.
    RETURNS (List[slice]): Consecutive chunks of at most `CHUNK` numbers, but at least one row.
    """
    step = max(1, CHUNK // max(1, row_size))
    return [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]
