"""Activations and their gradients: tanh is computed with exponentials on devices on which PyTorch's
is several times slower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .processor import has_fast_mkl
from .roomy import roomy

# Below this many elements, a call costs more than the work it does, which matters in a loop
FEW_NUMBERS = 4096
_TANH_BACKWARD: Any = torch.ops.aten.tanh_backward.grad_input
_SIGMOID_BACKWARD: Any = torch.ops.aten.sigmoid_backward.grad_input
# On the CPU whatever the default device is
_ONE, _MINUS_ONE = torch.tensor([1.0, -1.0], device="cpu").unbind()


def tanh(x: Tensor, *, overwrite: bool = False) -> Tensor:
    """Compute the hyperbolic tangent as tanh(x) = 1 − 2 / (1 + e^{2x}), which takes half the time
    of PyTorch's on CPUs other than Intel's. (There, MKL computes PyTorch's in a third of the time.)
    The absolute error is about the rounding error of a number near 1, even where tanh is near 0,
    which is too much in half precision. The result does not depend on an element's position in the
    tensor. PyTorch's σ would be faster still, but computes the last elements of a tensor
    differently from the others.

    x (Tensor): Any shape.
    overwrite (bool): Whether x may be overwritten if there is no gradient: allocating memory takes
        as long as the function.
    RETURNS (Tensor): The same shape.
    """
    if torch.is_grad_enabled() and x.requires_grad:
        return _Tanh.apply(x) if _is_replaced(x) else torch.tanh(x)
    out = x if overwrite else torch.empty_like(x)
    return _by_exponentials(x, out) if _is_replaced(x) else torch.tanh(x, out=out)


def write_tanh(x: Tensor, *, out: Tensor) -> Tensor:
    """Compute the hyperbolic tangent in fewer passes than `tanh`: as 2σ(2x) − 1, or with PyTorch's
    tanh for a few elements. The last bit of the result may depend on an element's position in the
    tensor.

    x (Tensor): Any shape, without a gradient.
    out (Tensor): Where to write the result, of the same shape. It may be x.
    RETURNS (Tensor): `out`.
    """
    if not _is_replaced(x) or x.numel() < FEW_NUMBERS:
        return torch.tanh(x, out=out)
    torch.mul(x, 2.0, out=out).sigmoid_()
    return double_less_one(out)


def sigmoid(x: Tensor, *, overwrite: bool = False) -> Tensor:
    """Compute the logistic function.

    x (Tensor): Any shape.
    overwrite (bool): Whether x may be overwritten if there is no gradient.
    RETURNS (Tensor): The same shape.
    """
    if torch.is_grad_enabled() and x.requires_grad:
        return torch.sigmoid(x)
    return torch.sigmoid(x, out=x if overwrite else None)


def tanh_gradient(grad: Tensor, y: Tensor) -> Tensor:
    """Compute the gradient of the hyperbolic tangent.

    grad (Tensor): The gradient of the result. Any shape.
    y (Tensor): The result. The same shape.
    RETURNS (Tensor): The same shape; a matrix has room for more rows, see `roomy`.
    """
    gradient: Tensor = _TANH_BACKWARD(grad, y, grad_input=roomy(grad, grad.shape))
    return gradient


def sigmoid_gradient(grad: Tensor, y: Tensor) -> Tensor:
    """Compute the gradient of the logistic function. See `tanh_gradient`.

    grad (Tensor): The gradient of the result. Any shape.
    y (Tensor): The result. The same shape.
    RETURNS (Tensor): The same shape.
    """
    gradient: Tensor = _SIGMOID_BACKWARD(grad, y, grad_input=roomy(grad, grad.shape))
    return gradient


def double_less_one(x: Tensor) -> Tensor:
    """Compute 2x − 1 in place, in one pass: it turns σ(2y) into tanh(y).

    x (Tensor): Any shape, on a CPU; overwritten.
    RETURNS (Tensor): The same tensor.
    """
    return torch.add(_MINUS_ONE.to(x.dtype), x, alpha=2.0, out=x)


def _is_replaced(x: Tensor) -> bool:
    """Whether this module's tanh is faster than PyTorch's and precise enough."""
    return x.device.type == "cpu" and x.element_size() >= 4 and not has_fast_mkl()


def _by_exponentials(x: Tensor, out: Tensor) -> Tensor:
    torch.mul(x, 2.0, out=out).exp_().add_(1.0).reciprocal_()
    return torch.add(_ONE.to(x.dtype), out, alpha=-2.0, out=out)


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _by_exponentials(x, roomy(x, x.shape))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return tanh_gradient(grad, y)


class Activation(NamedTuple):
    """A function that can be computed with the linear layer before it.

    name (str): oneDNN's name for it.
    function (Callable[..., Tensor]): The function, of a tensor and `overwrite`: see `tanh`.
    write (Callable[..., Tensor]): The function where the last bit does not matter, as in training,
        of a tensor and `out`: see `write_tanh`.
    gradient (Callable[[Tensor, Tensor], Tensor]): Its gradient, of the gradient of the result and
        the result: see `tanh_gradient`.
    slope (Callable[[Tensor], Tensor]): Its derivative, of the result, as something that can be
        differentiated.
    """

    name: str
    function: Callable[..., Tensor]
    write: Callable[..., Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


TANH = Activation("tanh", tanh, write_tanh, tanh_gradient, lambda y: 1 - y * y)
SIGMOID = Activation("sigmoid", sigmoid, torch.sigmoid, sigmoid_gradient, lambda y: y * (1 - y))
