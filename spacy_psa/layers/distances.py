"""Numbers for each pair of positions that depend on their distance alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

import torch
from torch import Tensor

# Up to this number of positions, tables are kept. The calls that compute them take longer
# than the arithmetic, and would be repeated in each layer for each sentence.
MOST_KEPT = 256
MOST_TABLES = 32

# Computes a table from the number of positions, a device, the type of numbers that are not
# integers, and a setting
Make = Callable[[int, torch.device, torch.dtype, float], Tensor]


class Columns(Protocol):
    """`clipped_distances` or `clipped_offsets`."""

    def __call__(self, n: int, most: int, *, like: Tensor) -> Tensor: ...


def clipped_distances(n: int, most: int, *, like: Tensor) -> Tensor:
    """Compute min(|i − j|, r).

    n (int): The number of positions.
    most (int): The distance r at which distances are clipped.
    like (Tensor): A tensor on the same device.
    RETURNS (Tensor): Shape: (n, n), integers from 0 to r. It must not be modified.
    """
    return _for_positions(n, _clipped_distances, most, like)


def clipped_offsets(n: int, most: int, *, like: Tensor) -> Tensor:
    """Compute clip(i − j, r) + r.

    n (int): The number of positions.
    most (int): The distance r at which offsets are clipped.
    like (Tensor): A tensor on the same device.
    RETURNS (Tensor): Shape: (n, n), integers from 0 to 2r. It must not be modified.
    """
    return _for_positions(n, _clipped_offsets, most, like)


def gaussian(n: int, epsilon: float, *, like: Tensor) -> Tensor:
    """Compute −(i − j)² / (2ε²).

    n (int): The number of positions.
    epsilon (float): The number ε.
    like (Tensor): A tensor of the same type, on the same device.
    RETURNS (Tensor): Shape: (n, n). It must not be modified.
    """
    return _for_positions(n, _gaussian, epsilon, like)


def _for_positions(n: int, make: Make, setting: float, like: Tensor) -> Tensor:
    """Compute a table, or take the part of a larger one."""
    # Neither compiled networks nor tensor subclasses, which trace computations, can use what is
    # kept. What is computed while a CUDA graph is recorded exists only when the graph is run.
    is_plain = type(like) is Tensor and not torch.compiler.is_compiling()
    is_recorded = like.is_cuda and torch.cuda.is_current_stream_capturing()
    if n > MOST_KEPT or like.device.type not in ("cpu", "cuda") or not is_plain or is_recorded:
        return make(n, like.device, like.dtype, setting)
    return _kept(make, like.device, like.dtype, setting)[:n, :n]


@lru_cache(MOST_TABLES)
def _kept(make: Make, device: torch.device, dtype: torch.dtype, setting: float) -> Tensor:
    # A tensor of inference mode could not be used outside of it
    with torch.inference_mode(False):
        return make(MOST_KEPT, device, dtype, setting)


def _offsets(n: int, device: torch.device) -> Tensor:
    """The signed distances i − j. Shape: (n, n), integers."""
    order = torch.arange(n, device=device)
    return order.unsqueeze(1) - order.unsqueeze(0)


def _clipped_distances(n: int, device: torch.device, _: torch.dtype, most: float) -> Tensor:
    return _offsets(n, device).abs_().clamp_(max=int(most))


def _clipped_offsets(n: int, device: torch.device, _: torch.dtype, most: float) -> Tensor:
    return _offsets(n, device).clamp_(-int(most), int(most)).add_(int(most))


def _gaussian(n: int, device: torch.device, dtype: torch.dtype, epsilon: float) -> Tensor:
    squared = _offsets(n, device).to(dtype).square()
    return -squared / (2 * epsilon**2)
