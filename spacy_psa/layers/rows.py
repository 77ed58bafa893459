"""Gather and scatter the rows of a matrix, and arrange sequences in few rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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


def join(lengths: Sequence[int]) -> JoinedRows:
    """Arrange sequences in rows, longest first, each in the row with the least space that fits it.

    lengths (Sequence[int]): The length of each sequence, at least 1; at least one sequence.
    RETURNS (JoinedRows): Their places.
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


def gather(x: Tensor, rows: Tensor) -> Tensor:
    """Take rows by index.

    x (Tensor): Shape: (n, d).
    rows (Tensor): The rows to take, without duplicates: the gradient is then a plain copy, whereas
        PyTorch's indexing would accumulate. Shape: (m,), integers.
    RETURNS (Tensor): Shape: (m, d).
    """
    if x.device.type != "cpu":
        return x.index_select(0, rows)  # PyTorch's own function starts sooner
    if not torch.is_grad_enabled():
        return _gathered(x, rows)
    return _Gather.apply(x, rows)


def scatter(x: Tensor, rows: Tensor, n: int) -> Tensor:
    """Put rows to their places, with zeros elsewhere: the inverse of `gather`.

    x (Tensor): Shape: (m, d).
    rows (Tensor): The target rows, without duplicates. Shape: (m,), integers.
    n (int): Number of rows in the result.
    RETURNS (Tensor): Shape: (n, d).
    """
    if x.device.type != "cpu":
        return x.new_zeros(n, x.shape[1]).index_copy(0, rows, x)
    return _Scatter.apply(x, rows, n)


def spread(x: Tensor, nearest: Tensor, rows: Tensor) -> Tensor:
    """Copy rows to their places and others. The result has gradients at their places only.

    x (Tensor): Shape: (m, d).
    nearest (Tensor): The row to copy to each place. Shape: (n,), integers.
    rows (Tensor): The place of each row. Shape: (m,), integers.
    RETURNS (Tensor): Shape: (n, d).
    """
    return _Spread.apply(x, nearest, rows)


def _gathered(x: Tensor, rows: Tensor) -> Tensor:
    return x.index_select(0, rows)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.n = x.shape[0]
        return _gathered(x, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return scatter(grad, rows, ctx.n), None


class _Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, n: int) -> Tensor:
        ctx.save_for_backward(rows)
        return x.new_zeros(n, x.shape[1]).index_copy_(0, rows, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (rows,) = ctx.saved_tensors
        return gather(grad, rows), None, None


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, nearest: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return x.index_select(0, nearest)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (rows,) = ctx.saved_tensors
        return gather(grad, rows), None, None
