"""Rows of a matrix to other places and back, none of them twice."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def gather(x: Tensor, rows: Tensor) -> Tensor:
    """Take rows by index.

    x (Tensor): Shape: (n, d).
    rows (Tensor): Which rows, none of them twice: then the gradient is a copy, where PyTorch would
        add up. Shape: (m,), integers.
    RETURNS (Tensor): Shape: (m, d).
    """
    return _Gather.apply(x, rows)


def scatter(x: Tensor, rows: Tensor, n: int) -> Tensor:
    """Put rows to their places among zeros: the inverse of `gather`.

    x (Tensor): Shape: (m, d).
    rows (Tensor): Where to, none of them twice. Shape: (m,), integers.
    n (int): How many rows there are to be.
    RETURNS (Tensor): Shape: (n, d).
    """
    return _Scatter.apply(x, rows, n)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.n = len(x)
        return x.index_select(0, rows)

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
