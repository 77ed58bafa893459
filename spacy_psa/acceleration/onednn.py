"""Conditions, weights and shapes for computing layers with oneDNN, PyTorch's library of CPU
kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..tensor_versions import Versions

ResultT = TypeVar("ResultT")


def has_amx() -> bool:
    """RETURNS (bool): Whether the processor has AMX, Intel's extension for matrices."""
    # Not in all versions of PyTorch that this package supports
    found = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return found is not None and bool(found())


# What this version of PyTorch and this processor support
HAS_ONEDNN = torch.backends.mkldnn.is_available()
DTYPES = {torch.float32}
# With AMX, oneDNN must not be asked yet: see `amx`
if HAS_ONEDNN and (has_amx() or torch.ops.mkldnn._is_mkldnn_bf16_supported()):
    DTYPES.add(torch.bfloat16)


class OrderedWeights:
    """A cache of a layer's weights in another order, such as oneDNN's.

    Weights are reordered again if `Versions` reports that they have changed. Threads may share the
    cache. Copies of it, also in other processes, are empty.
    """

    def __init__(self) -> None:
        self._kept: tuple[Versions, Any] | None = None

    def __reduce__(self) -> tuple[type[OrderedWeights], tuple[()]]:
        return OrderedWeights, ()

    def run(
        self,
        weights: Sequence[Tensor],
        order: Callable[..., Any],
        compute: Callable[[Any], ResultT],
    ) -> ResultT | None:
        """Compute a layer.

        weights (Sequence[Tensor]): The layer's weights in PyTorch's order.
        order (Callable[..., Any]): Reorders the weights, which are its arguments.
        compute (Callable[[Any], ResultT]): Computes the layer from the result of `order`.
        RETURNS (Optional[ResultT]): The result of `compute`; None if either function fails, as
            oneDNN does with bfloat16 on some processors. A failure is cached for these weights.
        """
        kept = self._kept
        try:
            if kept is None or not kept[0].are_those_of(weights):
                kept = self._kept = Versions(weights), order(*weights)
            return None if kept[1] is None else compute(kept[1])
        except RuntimeError:
            self._kept = Versions(weights), None
            return None


def is_for_onednn(x: Tensor, weight: Tensor) -> bool:
    """Check whether oneDNN may compute a layer with cached weights.

    x (Tensor): The input of the layer.
    weight (Tensor): A weight of the layer.
    RETURNS (bool): Whether it may.
    """
    return bool(
        HAS_ONEDNN
        and is_plain_inference(x, weight)
        and x.dtype == weight.dtype
        and x.dtype in DTYPES
        and x.dim() >= 2
        and torch.backends.mkldnn.enabled
    )


def is_plain_inference(x: Tensor, weight: Tensor) -> bool:
    """Check whether a layer may bypass PyTorch: on a CPU, with non-empty input, without gradients,
    autocast, compilation, tracing or tensor subclasses.

    x (Tensor): The input of the layer.
    weight (Tensor): A weight of the layer.
    RETURNS (bool): Whether it may.
    """
    return bool(
        not torch.is_grad_enabled()
        and type(x) is Tensor
        and x.device.type == weight.device.type == "cpu"
        and x.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()
    )
