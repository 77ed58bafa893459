"""Numbers for each pair of positions that depend on their distance alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

# Up to this number of positions, tables are kept on a CPU. The calls that compute them take longer
# than the arithmetic, and would be repeated in each layer for each sentence.
MOST_KEPT = 256
MOST_TABLES = 32

# Computes a table from the number of positions, a device, the type of numbers that are not
# integers, and a setting
Make = Callable[[int, torch.device, torch.dtype, float], Tensor]


def clipped_distances(x: Tensor, most: int) -> Tensor:
    """Compute min(|i − j|, r).

    x (Tensor): Token vectors; only their number and device matter. Shape: (batch_size, n, d).
    most (int): The distance r at which distances are clipped.
    RETURNS (Tensor): Shape: (n, n), integers from 0 to r. It must not be modified.
    """
    return _for_positions_of(x, _clipped_distances, most)


def clipped_offsets(x: Tensor, most: int) -> Tensor:
    """Compute clip(i − j, r) + r.

    x (Tensor): Token vectors; only their number and device matter. Shape: (batch_size, n, d).
    most (int): The distance r at which offsets are clipped.
    RETURNS (Tensor): Shape: (n, n), integers from 0 to 2r. It must not be modified.
    """
    return _for_positions_of(x, _clipped_offsets, most)


def gaussian(x: Tensor, epsilon: float) -> Tensor:
    """Compute −(i − j)² / (2ε²).

    x (Tensor): Token vectors; only their number, device and type matter. Shape: (batch_size, n, d).
    epsilon (float): The number ε.
    RETURNS (Tensor): In the type of x. Shape: (n, n). It must not be modified.
    """
    return _for_positions_of(x, _gaussian, epsilon)


def _for_positions_of(x: Tensor, make: Make, setting: float) -> Tensor:
    """Compute a table, or take the part of a larger one."""
    n = x.shape[1]
    # Neither compiled networks nor tensor subclasses, which trace computations, can use what is
    # kept. On a GPU, calls do not wait for each other.
    is_plain = type(x) is Tensor and not torch.compiler.is_compiling()
    if n > MOST_KEPT or x.device.type != "cpu" or not is_plain:
        return make(n, x.device, x.dtype, setting)
    return _kept(make, x.dtype, setting)[:n, :n]


@lru_cache(MOST_TABLES)
def _kept(make: Make, dtype: torch.dtype, setting: float) -> Tensor:
    # A tensor of inference mode could not be used outside of it
    with torch.inference_mode(False):
        return make(MOST_KEPT, torch.device("cpu"), dtype, setting)


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
