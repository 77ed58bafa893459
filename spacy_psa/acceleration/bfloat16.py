"""A linear layer in bfloat16, for prediction, and a warning where results depend on the batch.

With AMX, an extension of Intel's for matrices, oneDNN sums in an order that depends on the number
of rows: the last digits of a vector depend on the other texts of a batch. Only the user can tell
oneDNN not to use it, by an environment variable.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ..errors import Warnings, warn
from ..layers.ops import PLAIN, UNREGISTERED, ops_for
from ..private_names import OrderedLinear, has_amx, ordered_linear
from ..tensor_versions import TensorVersions

# What this version of PyTorch supports
ONEDNN = ordered_linear()
ORDERS_WEIGHTS = ONEDNN is not None
RUN_LAYER: Any = ONEDNN and ONEDNN.run
# The number of input rows that weights are reordered for; that order serves any number of rows.
ROWS = 1024
NONE = "none"  # oneDNN's name for no activation
LEAST = 8  # rows to round to a multiple of


class BFloat16Linear(nn.Linear):
    """A linear layer with bfloat16 weights. On a CPU, it keeps a copy of them in oneDNN's order,
    which PyTorch would otherwise make in each call.

    oneDNN generates code for each shape, which takes a millisecond and up to a megabyte, so that
    rows of zeros are appended to reach one of a few numbers of rows.

    layer (nn.Linear): The layer in full precision.
    dtype (torch.dtype): The type of the output.
    """

    def __init__(self, layer: nn.Linear, dtype: torch.dtype = torch.float32) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.dtype = dtype
        self.weight = rounded(layer.weight)
        self.register_parameter("bias", None if layer.bias is None else rounded(layer.bias))
        self._kept = OrderedWeight()

    def forward(self, x: Tensor) -> Tensor:
        """Transform vectors (..., input width) to (..., output width)."""
        rows = x.reshape(-1, x.shape[-1])
        output = self._by_onednn(rows)
        if output is None:
            output = linear(rows.to(self.weight.dtype), self.weight, self.bias)
        return output.to(self.dtype).view(*x.shape[:-1], self.out_features)

    def _by_onednn(self, rows: Tensor) -> Tensor | None:
        """The output, or None if oneDNN should not or cannot compute it."""
        n, width = rows.shape
        may_bypass = _may_bypass(rows) and self.weight.device.type == "cpu"
        if not (ORDERS_WEIGHTS and may_bypass and n and width == self.in_features):
            return None
        ordered = self._kept.of(self.weight)
        if ordered is None:
            return None
        filled = rows.new_zeros(rounded_up(n), width, dtype=self.weight.dtype)
        filled[:n] = rows
        output: Tensor = RUN_LAYER(filled, ordered, self.bias, NONE, [], "")
        return output[:n]


def _may_bypass(x: Tensor) -> bool:
    """Whether a layer may bypass PyTorch: on a CPU, without gradients, mixed precision, or anything
    that records operations.
    """
    return bool(
        x.device.type == "cpu"
        and ops_for(x) not in (PLAIN, UNREGISTERED)
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and torch.backends.mkldnn.enabled
    )


class OrderedWeight:
    """A copy of a weight in oneDNN's order, until `TensorVersions` reports a change. Threads
    may share it. Copies of it, also in other processes, are empty.
    """

    def __init__(self) -> None:
        self._kept: tuple[TensorVersions, Tensor | None] | None = None

    def __reduce__(self) -> tuple[type[OrderedWeight], tuple[()]]:
        return OrderedWeight, ()

    def of(self, weight: Tensor) -> Tensor | None:
        """Copy a weight (output width, input width), unless it is known; None if oneDNN has no
        layer of this type, as on some processors."""
        kept = self._kept
        if kept is None or not kept[0].are_those_of([weight]):
            kept = self._kept = TensorVersions([weight]), in_order(weight)
        return kept[1]


def in_order(weight: Tensor) -> Tensor | None:
    """Copy a weight (output width, input width) to oneDNN's order; None if oneDNN cannot compute
    with the copy."""
    try:
        ordered: Tensor = cast(OrderedLinear, ONEDNN).order(weight, ROWS)
        RUN_LAYER(weight.new_zeros(LEAST, weight.shape[1]), ordered, None, NONE, [], "")
    except RuntimeError:
        return None
    return ordered


def rounded_up(n: int) -> int:
    """Round a number of rows up to one of a few: at most a sixteenth more, or a multiple of eight.
    There are at most sixteen between each power of two and the next."""
    return n + -n % max(LEAST, 1 << max(0, (n - 1).bit_length() - 5))


def rounded(parameter: Tensor) -> nn.Parameter:
    """Round a parameter to bfloat16: a copy that is not trained."""
    return nn.Parameter(parameter.detach().bfloat16(), requires_grad=False)


VARIABLES = "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"
WITHOUT_AMX = "AVX512_CORE_BF16"


def warn_of_amx() -> None:
    """Warn if results depend on the number of rows, unless the user has chosen instructions."""
    is_set = any(name in os.environ for name in VARIABLES)
    if torch.backends.mkldnn.is_available() and has_amx() and not is_set and _depends_on_rows():
        warn(Warnings.W012.format(variable=VARIABLES[0], value=WITHOUT_AMX))


@cache
def _depends_on_rows() -> bool:
    generator = torch.Generator(device="cpu").manual_seed(0)
    rows, weight = (
        torch.randn(n, 300, generator=generator, device="cpu").bfloat16() for n in (2048, 600)
    )
    with torch.inference_mode(), torch.autocast("cpu", enabled=False):
        return not torch.equal(linear(rows[:64], weight), linear(rows, weight)[:64])
