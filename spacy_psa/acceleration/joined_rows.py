"""Arrange sequences in few rows."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class JoinedRows(NamedTuple):
    """Sequences concatenated into rows as long as the longest, with a free place between two.

    n_steps (int): Number of places in a row.
    n_rows (int): Number of rows.
    places (Tensor): The place of each position of each sequence, for the forward direction and the
        backward one, which reads from the ends of rows. Places are numbered by step: the first
        places of all rows, then the second ones, etc. Shape: (2, positions), integers.
    """

    n_steps: int
    n_rows: int
    places: Tensor


@lru_cache(8)
def join(lengths: tuple[int, ...]) -> JoinedRows:
    """Arrange sequences in rows, longest first, each in the row with the least space that fits it.

    lengths (Tuple[int, ...]): The length of each sequence, at least 1; at least one sequence.
    """
    n_steps, n_rows = max(lengths), 0
    row_of, begin_of = [0] * len(lengths), [0] * len(lengths)
    rows_by_space: list[list[int]] = [[] for _ in range(n_steps + 1)]
    for sequence in sorted(range(len(lengths)), key=lambda sequence: -lengths[sequence]):
        length = lengths[sequence]
        for space in range(length + 1, n_steps + 1):
            if rows_by_space[space]:
                row, left = rows_by_space[space].pop(), space - length - 1
                break
        else:
            row, left, n_rows = n_rows, n_steps - length, n_rows + 1
        row_of[sequence], begin_of[sequence] = row, n_steps - left - length
        rows_by_space[left].append(row)
    counts = np.asarray(lengths)
    before = (counts.cumsum() - counts).repeat(counts)
    steps = np.arange(len(before)) - before + np.repeat(begin_of, counts)
    places = np.stack([steps, n_steps - 1 - steps]) * n_rows + np.repeat(row_of, counts)
    return JoinedRows(n_steps, n_rows, torch.from_numpy(places))
