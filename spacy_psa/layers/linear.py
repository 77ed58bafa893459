"""Linear layers that are fast on a CPU in mixed precision."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .onednn import HAS_ONEDNN
from .roomy import roomy, with_room


class Linear(nn.Linear):
    """PyTorch's linear layer, with its input padded to a few shapes under `torch.autocast`.

    There, oneDNN computes matrix multiplications in half precision. It generates code for each
    shape and caches the code for the last thousand. Since batches of sentences have varying numbers
    of tokens, training would lose the time it gains to code generation, and hundreds of megabytes
    to the cache. Therefore, rows of zeros are appended to reach one of a few sizes.

    in_features (int): Input width.
    out_features (int): Output width.
    bias (bool): Whether to add a bias.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Transform vectors.

        x (Tensor): Shape: (..., input width).
        RETURNS (Tensor): Shape: (..., output width).
        """
        if not _is_to_be_filled_up(x):
            return super().forward(x)
        dtype = torch.get_autocast_dtype("cpu")
        bias = None if self.bias is None else self.bias.to(dtype)
        output: Tensor = _FilledUp.apply(x.reshape(-1, x.shape[-1]), self.weight.to(dtype), bias)
        return output[: x.numel() // x.shape[-1]].view(*x.shape[:-1], self.out_features)


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
