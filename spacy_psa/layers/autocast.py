"""Run operations that need full precision in a network trained under `torch.autocast`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor


@contextlib.contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Turn mixed precision off within the context. (If it is not on, tensors keep their types: a
    whole network may be in half precision.)

    *tensors (Tensor): The tensors to read within it, at least one, all on the same device.
    YIELDS (Tuple[Tensor, ...]): The same tensors, in at least float32 if mixed precision was on.
    """
    device = tensors[0].device.type
    if not torch.is_autocast_enabled(device):
        yield tensors
        return
    with torch.autocast(device, enabled=False):
        yield tuple(x.to(torch.promote_types(x.dtype, torch.float32)) for x in tensors)


def without_autocast(device: torch.device) -> contextlib.AbstractContextManager:
    """Turn mixed precision off.

    device (torch.device): The device to turn it off for.
    RETURNS (ContextManager): The context without it; it does nothing if mixed precision is off.
    """
    if not torch.is_autocast_enabled(device.type):
        return contextlib.nullcontext()
    return torch.autocast(device.type, enabled=False)
