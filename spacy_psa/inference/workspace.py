"""Memory for large temporary arrays, used again and again.

For a batch of ordinary size, getting fresh pages from the operating system takes longer than the
arithmetic on them.
"""

import math

import numpy as np

SMALLEST = 1 << 12  # numbers; below this, the allocator's own free lists are as good
CAPACITY = 1 << 23  # numbers kept for later, 64 MB
# Temporaries of the shape (rows, L, L) are cut into pieces of at most this many numbers
CHUNK = 1 << 20


class Workspace:
    """The arrays that one computation needs. Their memory goes to the next computation as soon as
    the workspace itself is no longer in use: nothing may hold on to them for longer.
    """

    _free: dict[int, list[np.ndarray]] = {}  # noqa: RUF012 - shared on purpose, by size

    def __init__(self) -> None:
        self._taken: list[np.ndarray] = []

    def empty(self, *shape: int) -> np.ndarray:
        """An array of float64 with arbitrary contents.

        shape (int): Its shape.
        RETURNS (np.ndarray): *Shape:* as asked for.
        """
        size = math.prod(shape)
        if size < SMALLEST:
            return np.empty(shape)
        room = 1 << (size - 1).bit_length()
        try:  # rather than look first: another thread may be faster
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
    """Cut rows into pieces of bounded size.

    n_rows (int): How many rows there are.
    row_size (int): Numbers in a row.
    RETURNS (List[slice]): Consecutive pieces, of one row at least and of `CHUNK` numbers at most.
    """
    step = max(1, CHUNK // max(1, row_size))
    return [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]
