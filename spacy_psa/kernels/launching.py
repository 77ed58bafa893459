"""What all launches of kernels need."""

from contextlib import AbstractContextManager, nullcontext

import torch
import triton
from torch import Tensor

# What every launch says: products and sums may be one operation. Triton warns if this is not said.
OPTIONS = {"enable_fp_fusion": True}


def on_device(tensor: Tensor) -> AbstractContextManager[object]:
    """Make the GPU of a tensor the current one: Triton launches kernels there.

    tensor (Tensor): The tensor.
    RETURNS (ContextManager): For as long as kernels are launched.
    """
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def block_of(number: int, *, least: int = 16) -> int:
    """RETURNS (int): The size of a block for a number of things: a power of 2, at least `least`."""
    return max(least, triton.next_power_of_2(number))
