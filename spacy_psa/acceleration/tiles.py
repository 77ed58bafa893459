"""All pairs of queries and keys in tiles that stay in the processor's last-level cache.

Reading what another CPU core has written is up to ten times as slow as reading what a core has
written itself. All operations on a tile are therefore split among threads in the same way, along
its first dimensions: elementwise functions, sums and batched products of small matrices, but no
single matrix-vector product, for which PyTorch uses one thread. Since a sum over queries can only
be split by sentence and key, sentences are processed in pairs, or a single one in parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import NamedTuple

import torch
from torch import Tensor

# Elements in one tile. On a CPU, eight megabytes of float32: a smaller tile stays closer to the
# core, but calls and waking up threads then cost more. A GPU needs fewer, larger steps.
CPU_TILE = 1 << 21
GPU_TILE = 1 << 25
PAIR = 2  # sentences; more would mean more padding, since they are cut to the longest of them


class Tile(NamedTuple):
    """A part of all pairs.

    rows (slice): Rows of the batch.
    queries (slice): Positions of queries.
    keys (slice): Positions of keys, from the first.
    """

    rows: slice
    queries: slice
    keys: slice

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of rows, queries and keys."""
        rows, queries, keys = self
        return rows.stop - rows.start, queries.stop - queries.start, keys.stop


def tiles(queries: Tensor, keys: Tensor, lengths: Sequence[int] | None) -> list[Tile]:
    """Divide all pairs into tiles.

    queries (Tensor): Shape: (batch_size, n, d).
    keys (Tensor): Shape: (batch_size, m, d).
    lengths (Optional[Sequence[int]]): How many positions of each row are real, if queries and keys
        belong to the same padded sequences: pairs with padding may then be left out. No effect on a
        GPU.
    """
    batch_size, n, d = queries.shape
    m = keys.shape[1]
    on_cpu = queries.device.type == "cpu"
    n_threads = torch.get_num_threads() if on_cpu else 1
    budget = CPU_TILE if on_cpu else GPU_TILE
    # Two sentences for an even number of threads, if one query of each fits into a tile
    is_even = on_cpu and n_threads % PAIR == 0
    step = PAIR if is_even and batch_size > 1 and PAIR * m * d <= budget else 1
    if lengths is None or not on_cpu:
        size = step * _evenly(-(-batch_size // step), budget // max(1, step * n * m * d))
        blocks = [
            (slice(row, min(row + size, batch_size)), n, m) for row in range(0, batch_size, size)
        ]
    else:
        blocks = list(_blocks(lengths, step, budget // max(1, d)))
    found = []
    for rows, n_queries, n_keys in blocks:
        steps = _evenly(n_queries, budget // max(1, (rows.stop - rows.start) * n_keys * d))
        more = -steps % n_threads
        if 0 < more < steps:  # the same number for each thread
            steps = min(n_queries, steps + more)
        found += [
            Tile(rows, slice(i, min(i + steps, n_queries)), slice(0, n_keys))
            for i in range(0, n_queries, steps)
        ]
    return found


def _blocks(lengths: Sequence[int], step: int, most_pairs: int) -> Iterator[tuple[slice, int, int]]:
    """Rows of the batch that fit into a tile, and the numbers of queries and keys to read."""
    first = longest = 0
    for row in range(0, len(lengths), step):
        length = max(lengths[row : row + step])
        longer = max(longest, length)
        stop = min(row + step, len(lengths))
        if row > first and (stop - first) * longer * longer > most_pairs:
            yield slice(first, row), longest, longest
            first, longer = row, length
        longest = longer
    yield slice(first, len(lengths)), longest, longest


def _evenly(n: int, most: int) -> int:
    """How many of n to take at a time, at least one and at most `most`, in even portions."""
    times = -(-n // max(1, most))
    return -(-n // max(1, times)) or 1


def sum_over_queries(x: Tensor) -> Tensor:
    """Sum the numbers of a tile (rows, queries, keys, d) to (rows, keys, d): first what one thread
    has written, then over the threads."""
    size, n, m, d = x.shape
    n_threads = torch.get_num_threads() if x.device.type == "cpu" else 1
    n_parts = n_threads // gcd(n_threads, size)
    rest = n % n_parts
    if n_parts == 1 or n < n_parts or (rest and size > 1):
        return x.sum(dim=1)
    parts = x.narrow(1, 0, n - rest).view(size * n_parts, n // n_parts, m, d).sum(dim=1)
    sums = parts.view(size, n_parts, m, d).sum(dim=1)
    return sums.add_(x.narrow(1, n - rest, rest).sum(dim=1)) if rest else sums
