"""tanh by exponentials, where PyTorch's takes several times as long."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Below that many numbers a call costs more than its work, which counts in a loop
FEW_NUMBERS = 4096
# Whatever the default device is
_ONE, _MINUS_ONE = torch.tensor([1.0, -1.0], device="cpu").unbind()


def tanh(x: Tensor, *, overwrite: bool = False) -> Tensor:
    """The hyperbolic tangent: tanh(x) = 1 − 2 / (1 + e^{2x}), which on a CPU takes half the time
    of PyTorch's. The error is about that of a number near 1, also where tanh is near 0, which is
    too much in half precision. It depends on no place: PyTorch's σ, which would be faster still,
    finds the last numbers of a tensor in another way than the others.

    x (Tensor): Of any shape.
    overwrite (bool): Whether it may be written over x, where there is no gradient: new memory takes
        as long as the function.
    RETURNS (Tensor): Of the same shape.
    """
    if torch.is_grad_enabled() and x.requires_grad:
        return _Tanh.apply(x) if _is_replaced(x) else torch.tanh(x)
    out = x if overwrite else torch.empty_like(x)
    return _by_exponentials(x, out) if _is_replaced(x) else torch.tanh(x, out=out)


def write_tanh(x: Tensor, *, out: Tensor) -> Tensor:
    """The hyperbolic tangent in a loop, where calls count: 2σ(2x) − 1, and of a few numbers
    PyTorch's.

    x (Tensor): Of any shape, on a CPU; it has no gradient.
    out (Tensor): Where to write, of the same shape. It may be x.
    RETURNS (Tensor): There.
    """
    if not _is_replaced(x) or x.numel() < FEW_NUMBERS:
        return torch.tanh(x, out=out)
    torch.mul(x, 2.0, out=out).sigmoid_()
    return double_less_one(out)


def double_less_one(x: Tensor) -> Tensor:
    """2x − 1, in one pass and in place: of σ(2y) this makes tanh(y).

    x (Tensor): Of any shape, on a CPU; overwritten.
    RETURNS (Tensor): The same tensor.
    """
    return torch.add(_MINUS_ONE.to(x.dtype), x, alpha=2.0, out=x)


def _is_replaced(x: Tensor) -> bool:
    """Whether something else than PyTorch's tanh is faster, and precise enough."""
    return x.device.type == "cpu" and x.element_size() >= 4


def _by_exponentials(x: Tensor, out: Tensor) -> Tensor:
    torch.mul(x, 2.0, out=out).exp_().add_(1.0).reciprocal_()
    return torch.add(_ONE.to(x.dtype), out, alpha=-2.0, out=out)


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _by_exponentials(x, torch.empty_like(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad, y)
