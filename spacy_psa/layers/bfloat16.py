"""A linear layer in bfloat16, for prediction."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from .onednn import HAS_ONEDNN, is_for_onednn, n_filled_up
from .versions import Forgetful, Kept

# What this PyTorch can do
ORDERS_WEIGHTS = HAS_ONEDNN and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
RUN_LAYER: Any = torch.ops.mkldnn._linear_pointwise.default if ORDERS_WEIGHTS else None
# Rows for which weights are ordered. They are read in that order whatever the number of rows.
ROWS = 1024


class BFloat16Linear(Forgetful, nn.Linear):
    """A linear layer with its weights in bfloat16. On a CPU it keeps them in oneDNN's order, which
    PyTorch puts them in for each call.

    layer (nn.Linear): The layer in full precision.
    dtype (torch.dtype): The type of its output.
    """

    def __init__(self, layer: nn.Linear, dtype: torch.dtype = torch.float32) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.dtype = dtype
        self.weight = rounded(layer.weight)
        self.register_parameter("bias", None if layer.bias is None else rounded(layer.bias))
        self._ordered: Kept[Tensor] = Kept()

    def forget_weights(self) -> None:
        """Put weights in order anew the next time."""
        self._ordered.forget()

    def forward(self, x: Tensor) -> Tensor:
        """Transform vectors.

        x (Tensor): Shape: (..., input width).
        RETURNS (Tensor): Shape: (..., output width).
        """
        rows, weight, bias = x.bfloat16(), self.weight, self.bias
        fits = rows.shape[-1:] == weight.shape[1:]
        if not (fits and ORDERS_WEIGHTS and is_for_onednn(rows, weight)):
            return linear(rows, weight, bias).to(self.dtype)
        rows = rows.flatten(0, -2) if rows.dim() != 2 else rows
        n = len(rows)
        n_more = n_filled_up(n, bits=5)
        if n_more:
            rows = pad(rows, (0, 0, 0, n_more))
        output = RUN_LAYER(rows, self._ordered.of([weight], in_order), bias, "none", [], "")
        return output[:n].to(self.dtype).view(*x.shape[:-1], self.out_features)


def rounded(parameter: Tensor) -> nn.Parameter:
    """A parameter in bfloat16, not to be trained.

    parameter (Tensor): The parameter.
    RETURNS (nn.Parameter): A copy. Of the same shape.
    """
    return nn.Parameter(parameter.detach().bfloat16(), requires_grad=False)


def in_order(weight: Tensor) -> Tensor:
    """Put the weights of a linear layer in oneDNN's order.

    weight (Tensor): Shape: (output_width, input_width).
    RETURNS (Tensor): A tensor that only oneDNN can read.
    """
    return torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
