"""When oneDNN, the library of kernels for CPUs that comes with PyTorch, may compute a layer, with
which weights, and of which shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from .versions import Versions

ResultT = TypeVar("ResultT")

# What this PyTorch and this processor can do
HAS_ONEDNN = torch.backends.mkldnn.is_available()
DTYPES = {torch.float32}
if HAS_ONEDNN and torch.ops.mkldnn._is_mkldnn_bf16_supported():
    DTYPES.add(torch.bfloat16)


class OrderedWeights:
    """The weights of a layer in another order, such as oneDNN's, for as long as they stay what they
    are.

    They are made anew where `Versions` tells that the weights are others than before. Threads may
    share it. Copies of it, and what other processes get, are empty.
    """

    def __init__(self) -> None:
        self._kept: tuple[Versions, Any] | None = None

    def __reduce__(self) -> tuple[type[OrderedWeights], tuple[()]]:
        return OrderedWeights, ()

    def forget(self) -> None:
        """Make them anew the next time."""
        self._kept = None

    def run(
        self,
        weights: Sequence[Tensor],
        order: Callable[..., Any],
        compute: Callable[[Any], ResultT],
    ) -> ResultT | None:
        """Compute a layer.

        weights (Sequence[Tensor]): Its weights, as PyTorch has them.
        order (Callable[..., Any]): Puts them in order; called with them.
        compute (Callable[[Any], ResultT]): Computes the layer with what `order` made.
        RETURNS (Optional[ResultT]): What it computes; None if one or the other fails, as oneDNN
            does with bfloat16 on some processors, which is remembered for these weights.
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
    """Tell whether a layer may be computed by oneDNN, with weights that are kept for it.

    x (Tensor): What the layer is to read.
    weight (Tensor): A weight of it.
    RETURNS (bool): Whether it may.
    """
    return bool(
        HAS_ONEDNN
        and is_mere_prediction(x, weight)
        and x.dtype == weight.dtype
        and x.dtype in DTYPES
        and x.dim() >= 2
        and torch.backends.mkldnn.enabled
    )


def is_mere_prediction(x: Tensor, weight: Tensor) -> bool:
    """Tell whether something may be computed by others than PyTorch. Then it is on a CPU, there are
    no gradients, and nobody watches what is computed, or wants it in another way.

    x (Tensor): What is to be read, if anything.
    weight (Tensor): A weight of what reads it.
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


def lacks_lstm(device: torch.device) -> bool:
    """Tell whether mixed precision has to be turned off for LSTMs: in a type that oneDNN has none
    for, as float16, PyTorch fails instead of taking its own.

    device (torch.device): Where they run.
    RETURNS (bool): Whether autocast is on, to such a type, and not to be left on.
    """
    is_on = device.type == "cpu" and torch.is_autocast_enabled("cpu")
    return is_on and torch.get_autocast_dtype("cpu") not in DTYPES


def n_filled_up(n: int, *, bits: int = 2) -> int:
    """How many rows of padding to read beside some, so that numbers of rows are a few: to make
    ready for a shape that it has not had, oneDNN takes a millisecond, as long as for the characters
    of 150 words.

    n (int): How many rows there are.
    bits (int): How many bits are to tell the number: more where each row costs much.
    RETURNS (int): How many to add, 63 at most.
    """
    step = 1 << min(6, max(0, (n - 1).bit_length() - bits))
    return -n % step
