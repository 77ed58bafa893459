"""What is not for half precision, in a network that is trained under `torch.autocast`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor


@contextlib.contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Turn mixed precision off for a while. (Where it is not on, numbers stay what they are: a
    network may be in half precision as a whole.)

    *tensors (Tensor): What is read meanwhile, at least one, all of them on one device.
    YIELDS (Tuple[Tensor, ...]): The same ones, in float32 at least if mixed precision was on.
    """
    device = tensors[0].device.type
    if not torch.is_autocast_enabled(device):
        yield tensors
        return
    with torch.autocast(device, enabled=False):
        yield tuple(x.to(torch.promote_types(x.dtype, torch.float32)) for x in tensors)


def without_autocast(device: torch.device) -> contextlib.AbstractContextManager:
    """Have no mixed precision for a while.

    device (torch.device): Where what runs meanwhile does so.
    RETURNS (ContextManager): What to enter for it, which does nothing where there is none anyway.
    """
    if not torch.is_autocast_enabled(device.type):
        return contextlib.nullcontext()
    return torch.autocast(device.type, enabled=False)
