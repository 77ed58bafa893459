"""Linear layers that are fast on a CPU, in full and in mixed precision."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .activations import Activation
from .bfloat16 import BFloat16Linear
from .inspection import has_hooks, is_watched
from .onednn import HAS_ONEDNN, OrderedWeights
from .onednn_linear import ORDERS_WEIGHTS, in_order, may_be_run, onednn_linear, onednn_sum
from .roomy import roomy, with_room
from .versions import Forgetful


class Linear(Forgetful, nn.Linear):
    """PyTorch's linear layer, computed by oneDNN on a CPU, where in float32 it is faster than MKL.

    In prediction, the layer keeps a copy of its weights in oneDNN's order, which PyTorch would
    otherwise make in each call.

    Under `torch.autocast`, the input is padded to a few shapes. There, oneDNN computes matrix
    multiplications in half precision. It generates code for each shape and caches the code for the
    last thousand. Since batches of sentences have varying numbers of tokens, training would lose
    the time it gains to code generation, and hundreds of megabytes to the cache. Therefore, rows of
    zeros are appended to reach one of a few sizes.

    in_features (int): Input width.
    out_features (int): Output width.
    bias (bool): Whether to add a bias.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias=bias)
        self._ordered = OrderedWeights()

    def forget_weights(self) -> None:
        """Discard the reordered copy of the weights."""
        self._ordered.forget()

    def forward(self, x: Tensor) -> Tensor:
        """Transform vectors.

        x (Tensor): Shape: (..., input width).
        RETURNS (Tensor): Shape: (..., output width).
        """
        if not _is_to_be_filled_up(x):
            product = self.by_onednn(x)
            return nn.functional.linear(x, self.weight, self.bias) if product is None else product
        dtype = torch.get_autocast_dtype("cpu")
        bias = None if self.bias is None else self.bias.to(dtype)
        output: Tensor = _FilledUp.apply(x.reshape(-1, x.shape[-1]), self.weight.to(dtype), bias)
        return output[: x.numel() // x.shape[-1]].view(*x.shape[:-1], self.out_features)

    def by_onednn(self, x: Tensor, activation: Activation | None = None) -> Tensor | None:
        """Compute a function of the output.

        x (Tensor): Shape: (..., input width).
        activation (Optional[Activation]): The function; None for the identity.
        RETURNS (Optional[Tensor]): Shape: (..., output width). None if oneDNN cannot compute it or
            is not worth calling: see `may_be_run`.
        """
        weight, bias = self.weight, self.bias
        if not may_be_run(x, weight):
            return None
        if ORDERS_WEIGHTS and not torch.is_grad_enabled():
            output = self._ordered.run(
                [weight], in_order, lambda ordered: onednn_linear(x, ordered, bias, activation)
            )
            if output is not None:
                return output
        return onednn_linear(x, weight, bias, activation)


def apply_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute x Wᵀ + b, by oneDNN where it is faster.

    x (Tensor): Shape: (..., input width).
    weight (Tensor): W. Shape: (output width, input width).
    bias (Optional[Tensor]): b. Shape: (output width,).
    RETURNS (Tensor): Shape: (..., output width).
    """
    if may_be_run(x, weight):
        return onednn_linear(x, weight, bias)
    return nn.functional.linear(x, weight, bias)


def activated(layer: nn.Module, x: Tensor, activation: Activation) -> Tensor:
    """Compute a function of a layer's output, in one pass over memory where oneDNN can.

    layer (nn.Module): A linear layer.
    x (Tensor): Its input. Shape: (..., input width).
    activation (Activation): The function.
    RETURNS (Tensor): Shape: (..., output width).
    """
    if type(layer) is Linear and not has_hooks(layer):
        output = layer.by_onednn(x, activation)
        if output is not None:
            return output
    if isinstance(layer, BFloat16Linear) and not has_hooks(layer):
        return layer.activated(x, activation)
    return activation.function(layer(x), overwrite=not is_watched(layer))


def activated_sum(
    first: nn.Module, x: Tensor, second: nn.Module, y: Tensor, activation: Activation
) -> Tensor:
    """Compute a function of the sum of two layers' outputs.

    first (nn.Module): A linear layer.
    x (Tensor): Its input. Shape: (..., input width).
    second (nn.Module): A linear layer of the same widths.
    y (Tensor): Its input. Shape: (..., input width).
    activation (Activation): The function.
    RETURNS (Tensor): Shape: (..., output width).
    """
    is_trained = torch.is_grad_enabled()
    if is_trained and all(_is_product(layer, z) for layer, z in ((first, x), (second, y))):
        return onednn_sum(x, cast(Linear, first).weight, y, cast(Linear, second).weight, activation)
    one = first(x)
    # Allocating memory takes as long as the sum
    out = None if is_trained or is_watched(first) else one
    return activation.function(torch.add(one, second(y), out=out), overwrite=True)


def _is_product(layer: nn.Module, x: Tensor) -> bool:
    """Whether oneDNN can compute a layer, which has neither bias nor hooks, as a product."""
    is_plain = type(layer) is Linear and layer.bias is None and not has_hooks(layer)
    return is_plain and may_be_run(x, cast(Linear, layer).weight)


class _FilledUp(torch.autograd.Function):
    """x Wᵀ + b, with rows of zeros appended to x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = with_room(roomy(x, x.shape, weight.dtype).copy_(x))
        ctx.save_for_backward(rows, weight)
        ctx.dtype, ctx.n_rows = x.dtype, len(x)
        return nn.functional.linear(rows, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        for_x = for_weight = for_bias = None
        if ctx.needs_input_grad[0]:
            for_x = (grad @ weight)[: ctx.n_rows].to(ctx.dtype)
        if ctx.needs_input_grad[1]:
            for_weight = grad.t() @ rows
        if ctx.needs_input_grad[2]:
            for_bias = grad.sum(dim=0)
        return for_x, for_weight, for_bias


def _is_to_be_filled_up(x: Tensor) -> bool:
    return (
        torch.is_autocast_enabled("cpu")
        and HAS_ONEDNN
        and x.device.type == "cpu"
        and x.dtype != torch.float64  # autocast does not cast it
        and x.numel() > 0
    )
