"""Linear layers in float32 on a CPU, computed by oneDNN in training and prediction.

PyTorch leaves matrix products in float32 to MKL. On processors that are not Intel's, MKL does not
use the widest vector instructions, and oneDNN is twice as fast. On Intel's, oneDNN takes 1.1 to 2
times as long, and is used in prediction only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from .activations import SIGMOID, TANH, Activation
from .onednn import HAS_ONEDNN, is_plain
from .processor import has_fast_mkl
from .roomy import rounded_down, with_room

# What this version of PyTorch supports
HAS_LINEAR = HAS_ONEDNN and hasattr(torch.ops.mkldnn, "_linear_pointwise")
ORDERS_WEIGHTS = HAS_LINEAR and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
RUN_LAYER: Any = torch.ops.mkldnn._linear_pointwise.default if HAS_LINEAR else None
# For fewer multiplications in training, calling oneDNN takes longer than it saves
LEAST = 1 << 21
# The number of input rows that weights are reordered for; that order serves any number of rows.
ROWS = 1024
NONE = "none"  # oneDNN's name for no activation
_ONE = torch.ones((), dtype=torch.float32, device="cpu")


def may_be_run(x: Tensor, weight: Tensor) -> bool:
    """Check whether `onednn_linear` can compute a layer and is worth calling.

    In training, it is not on Intel's processors, where MKL is faster, nor for a small product. In
    prediction it always is: oneDNN computes each row in the same way, however many there are, so
    the batch that a sentence is part of changes nothing, not even the last bit. MKL is faster for
    few rows, but rounds differently for other numbers of them.

    x (Tensor): The input.
    weight (Tensor): The weights of the layer. Shape: (output width, input width).
    RETURNS (bool): Whether it is.
    """
    is_trained = torch.is_grad_enabled()
    return bool(
        x.numel() * weight.shape[0] >= (LEAST if is_trained else 1)
        and not (is_trained and has_fast_mkl())
        and x.dtype == weight.dtype == torch.float32
        and x.shape[-1] == weight.shape[1]
        and is_plain(x, weight)
        and torch.backends.mkldnn.enabled
        and is_available()
    )


@cache
def is_available() -> bool:
    """RETURNS (bool): Whether this version of PyTorch, on this processor, computes what this module
    needs: the function is PyTorch's own and not documented, so small cases are tried."""
    if not HAS_LINEAR:
        return False
    numbers = torch.arange(-6.0, 6.0, dtype=torch.float32, device="cpu") / 4
    x, weight = numbers.view(4, 3), numbers.view(3, 4).t()
    try:
        product = RUN_LAYER(x.t(), weight.t(), None, NONE, [], "")
        activated = [
            (RUN_LAYER(x, weight, numbers[:4], kind.name, [], ""), kind) for kind in (TANH, SIGMOID)
        ]
    except RuntimeError:
        return False
    scores = torch.addmm(numbers[:4], x, weight.t())
    return torch.equal(product, x.t() @ weight) and all(
        torch.allclose(found, kind.function(scores)) for found, kind in activated
    )


def onednn_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: Activation | None = None
) -> Tensor:
    """Compute f(x Wᵀ + b).

    x (Tensor): Shape: (..., input width).
    weight (Tensor): W. Shape: (output width, input width).
    bias (Optional[Tensor]): b. Shape: (output width,).
    activation (Optional[Activation]): The function f; None for the identity.
    RETURNS (Tensor): Shape: (..., output width).
    """
    is_matrix = x.dim() == 2
    rows = x if is_matrix else x.reshape(-1, x.shape[-1])
    run = _Linear.apply if torch.is_grad_enabled() else _linear
    output: Tensor = run(rows, weight, bias, activation)
    return output if is_matrix else output.view(*x.shape[:-1], weight.shape[0])


def in_order(weight: Tensor) -> Tensor:
    """Copy weights to oneDNN's order, which PyTorch otherwise does in each call.

    weight (Tensor): Shape: (output width, input width).
    RETURNS (Tensor): Weights for `onednn_linear` in prediction. The same shape.
    """
    ordered: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
    return ordered


def onednn_sum(
    x: Tensor, weight: Tensor, y: Tensor, other: Tensor, activation: Activation
) -> Tensor:
    """Compute f(x Wᵀ + y Vᵀ) in training.

    x (Tensor): Shape: (..., input width).
    weight (Tensor): W. Shape: (output width, input width).
    y (Tensor): Shape: (..., input width).
    other (Tensor): V. Shape: (output width, input width).
    activation (Activation): The function f.
    RETURNS (Tensor): Shape: (..., output width).
    """
    rows = [part.reshape(-1, part.shape[-1]) for part in (x, y)]
    output: Tensor = _Sum.apply(rows[0], weight, rows[1], other, activation)
    return output if x.dim() == 2 else output.view(*x.shape[:-1], len(weight))


@cache
def _no_bias(width: int) -> Tensor:
    """RETURNS (Tensor): Zeros. Shape: (width,)."""
    with torch.inference_mode(False):
        return torch.zeros(width, dtype=torch.float32, device="cpu")


def _linear(
    rows: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: Activation | None = None,
) -> Tensor:
    """f(`rows` times the transpose of `weight`, plus a bias), with room for more rows."""
    # In a hot loop: `len` of a tensor takes as long as a small function of PyTorch
    n_rows, width = rows.shape[0], weight.shape[0]
    name = NONE if activation is None else activation.name
    # The code for a layer with a bias also serves those without
    bias = _no_bias(width) if bias is None else bias
    output: Tensor = RUN_LAYER(with_room(rows), weight, bias, name, [], "")
    # Not a slice: autograd treats a view of another tensor differently
    return output.resize_(n_rows, width)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        activation: Activation | None,
    ) -> Tensor:
        output = _linear(x, weight, bias, activation)
        ctx.activation = activation
        ctx.save_for_backward(x, weight, None if activation is None else output)
        return output

    @staticmethod
    def backward(
        ctx: Any, grad: Tensor
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        x, weight, output = ctx.saved_tensors
        for_x = for_weight = for_bias = None
        # Only PyTorch's own products can be differentiated again
        is_final = not torch.is_grad_enabled()
        f: Activation | None = ctx.activation
        if f is not None:
            grad = f.gradient(grad, output) if is_final else grad * f.slope(output)
        if ctx.needs_input_grad[0]:
            for_x = _linear(grad, weight.t()) if is_final else grad @ weight
        if ctx.needs_input_grad[1]:
            for_weight = _of_weights(grad, [x])[0] if is_final else grad.t() @ x
        if ctx.needs_input_grad[2]:
            for_bias = grad.sum(dim=0)
        return for_x, for_weight, for_bias, None


class _Sum(torch.autograd.Function):
    """The sum of two linear layers of the same width."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, y: Tensor, other: Tensor, activation: Activation
    ) -> Tensor:
        total = _linear(x, weight)
        torch.add(total, _linear(y, other), out=total)
        output = activation.write(total, out=total)
        ctx.activation = activation
        ctx.save_for_backward(x, weight, y, other, output)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, y, other, output = ctx.saved_tensors
        needs_x, needs_weight, needs_y, needs_other, _ = ctx.needs_input_grad
        read = [(x, needs_weight), (y, needs_other)]
        # Only PyTorch's own products can be differentiated again
        if torch.is_grad_enabled():
            grad = grad * ctx.activation.slope(output)
            inputs = [grad @ weight, grad @ other]
            weights = [grad.t() @ z for z, is_needed in read if is_needed]
        else:
            grad = ctx.activation.gradient(grad, output)
            pairs = (needs_x, weight), (needs_y, other)
            inputs = [_linear(grad, w.t()) if is_needed else None for is_needed, w in pairs]
            weights = _of_weights(grad, [z for z, is_needed in read if is_needed])
        for_weight = weights.pop(0) if needs_weight else None
        for_other = weights.pop(0) if needs_other else None
        return inputs[0], for_weight, inputs[1], for_other, None


def _of_weights(grad: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The transpose of `grad` times each input: a sum over rows, by oneDNN up to one of a few
    numbers of rows, since here it must not read beyond the last one.

    grad (Tensor): Shape: (rows, output width).
    inputs (Sequence[Tensor]): Shape: (rows, input width).
    RETURNS (List[Tensor]): Shape: (output width, input width).
    """
    n_rows = grad.shape[0]
    n = rounded_down(n_rows)
    if not n:
        return [grad.t() @ x for x in inputs]
    turned = _transposed(grad[:n])
    products = [RUN_LAYER(turned, x[:n].t(), None, NONE, [], "") for x in inputs]
    if n < n_rows:
        rest = grad[n:].t()
        for product, x in zip(products, inputs, strict=True):
            product.addmm_(rest, x[n:])
    return products


def _transposed(x: Tensor) -> Tensor:
    """A transposed copy. PyTorch's takes twice the time: it is the work of one thread.

    x (Tensor): Shape: (n, m).
    RETURNS (Tensor): Contiguous. Shape: (m, n).
    """
    return torch.mul(x.t(), _ONE, out=x.new_empty(x.shape[1], x.shape[0]))
