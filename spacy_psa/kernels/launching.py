"""Helpers for launching kernels."""

from contextlib import AbstractContextManager, nullcontext

import torch
import triton
from torch import Tensor

# Options of every launch: allow fused multiply-add. Triton warns if this is not set.
OPTIONS = {"enable_fp_fusion": True}


def on_device(tensor: Tensor) -> AbstractContextManager[object]:
    """Make a tensor's GPU the current device, on which Triton launches kernels.

    tensor (Tensor): The tensor.
    RETURNS (ContextManager): The context to launch kernels in.
    """
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def block_of(number: int, *, least: int = 16) -> int:
    """RETURNS (int): The block size for a number of items: a power of 2, at least `least`."""
    return max(least, triton.next_power_of_2(number))
