"""A linear layer in bfloat16, for prediction."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from .onednn import HAS_ONEDNN, OrderedWeights, is_for_onednn
from .roomy import roomy, with_room

# What this version of PyTorch supports
HAS_LINEAR = HAS_ONEDNN and hasattr(torch.ops.mkldnn, "_linear_pointwise")
ORDERS_WEIGHTS = HAS_LINEAR and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
RUN_LAYER: Any = torch.ops.mkldnn._linear_pointwise.default if HAS_LINEAR else None
# The number of input rows that weights are reordered for; that order serves any number of rows.
ROWS = 1024
NONE = "none"  # oneDNN's name for no activation


class BFloat16Linear(nn.Linear):
    """A linear layer with bfloat16 weights. On a CPU, it keeps a copy of them in oneDNN's order,
    which PyTorch would otherwise make in each call.

    layer (nn.Linear): The layer in full precision.
    dtype (torch.dtype): The type of the output.
    """

    def __init__(self, layer: nn.Linear, dtype: torch.dtype = torch.float32) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.dtype = dtype
        self.weight = rounded(layer.weight)
        self.register_parameter("bias", None if layer.bias is None else rounded(layer.bias))
        self._ordered = OrderedWeights()

    def forward(self, x: Tensor) -> Tensor:
        """Transform vectors.

        x (Tensor): Shape: (..., input width).
        RETURNS (Tensor): Shape: (..., output width).
        """
        rows = rounded_rows(x)
        output = self._by_onednn(rows) if ORDERS_WEIGHTS else None
        if output is None:
            output = linear(rows, self.weight, self.bias)
        return output.to(self.dtype).view(*x.shape[:-1], self.out_features)

    def _by_onednn(self, rows: Tensor) -> Tensor | None:
        """The output, or None if oneDNN should not or cannot compute it."""
        weight = self.weight
        if not is_for_onednn(rows, weight) or rows.shape[1] != weight.shape[1]:
            return None
        filled = with_room(rows)
        output: Tensor | None = self._ordered.run(
            [weight],
            in_order,
            lambda ordered: RUN_LAYER(filled, ordered, self.bias, NONE, [], ""),
        )
        return None if output is None else output.resize_(len(rows), len(weight))


def in_order(weight: Tensor) -> Tensor:
    """Copy weights to oneDNN's order, which PyTorch otherwise does in each call.

    weight (Tensor): Shape: (output width, input width).
    RETURNS (Tensor): Weights for oneDNN's layer. The same shape.
    """
    ordered: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
    return ordered


def rounded_rows(x: Tensor) -> Tensor:
    """Round vectors to bfloat16, for one or more layers that read them.

    x (Tensor): Shape: (..., width).
    RETURNS (Tensor): A matrix with room for more rows, see `roomy`. Shape: (vectors, width).
    """
    rows = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    if rows.dtype == torch.bfloat16:
        return rows
    return roomy(rows, rows.shape, torch.bfloat16).copy_(rows)


def rounded(parameter: Tensor) -> nn.Parameter:
    """Round a parameter to bfloat16.

    parameter (Tensor): The parameter.
    RETURNS (nn.Parameter): A copy that is not trained. The same shape.
    """
    return nn.Parameter(parameter.detach().bfloat16(), requires_grad=False)
