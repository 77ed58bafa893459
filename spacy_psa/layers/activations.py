"""tanh by the logistic function, where PyTorch's takes several times as long."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Below that many numbers a call costs more than its work, which counts in a loop
FEW_NUMBERS = 4096
_MINUS_ONE = torch.tensor(-1.0, device="cpu")  # whatever the default device is


def tanh(x: Tensor, *, overwrite: bool = False) -> Tensor:
    """The hyperbolic tangent: tanh(x) = 2σ(2x) − 1. PyTorch's σ takes a fifth of the time of its
    tanh on a CPU, so that two more passes pay. The error is about that of a number near 1, also
    where tanh is near 0, which is too much in half precision.

    x (Tensor): Of any shape.
    overwrite (bool): Whether it may be written over x, where there is no gradient: new memory takes
        as long as the function.
    RETURNS (Tensor): Of the same shape.
    """
    if torch.is_grad_enabled() and x.requires_grad:
        return _Tanh.apply(x) if _is_for_logistic(x) else torch.tanh(x)
    return _write(x, x if overwrite else torch.empty_like(x), _is_for_logistic(x))


def write_tanh(x: Tensor, *, out: Tensor) -> Tensor:
    """The hyperbolic tangent in a loop, where calls count: of a few numbers it is PyTorch's.

    x (Tensor): Of any shape; it has no gradient.
    out (Tensor): Where to write, of the same shape. It may be x.
    RETURNS (Tensor): There.
    """
    return _write(x, out, _is_for_logistic(x) and x.numel() >= FEW_NUMBERS)


def double_less_one(x: Tensor) -> Tensor:
    """2x − 1, in one pass and in place: of σ(2y) this makes tanh(y).

    x (Tensor): Of any shape, on a CPU; overwritten.
    RETURNS (Tensor): The same tensor.
    """
    return torch.add(_MINUS_ONE.to(x.dtype), x, alpha=2.0, out=x)


def _is_for_logistic(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.element_size() >= 4


def _write(x: Tensor, out: Tensor, by_logistic: bool) -> Tensor:
    if not by_logistic:
        return torch.tanh(x, out=out)
    torch.mul(x, 2.0, out=out).sigmoid_()
    return double_less_one(out)


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _write(x, torch.empty_like(x), True)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad, y)
