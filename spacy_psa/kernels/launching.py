"""What all launches of kernels need."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

# What every launch says: products and sums may be one operation. Triton warns if this is not said.
OPTIONS = {"enable_fp_fusion": True}


def on_device(tensor: Tensor) -> AbstractContextManager[object]:
    """Make the GPU of a tensor the current one: Triton launches kernels there.

    tensor (Tensor): The tensor.
    RETURNS (ContextManager): For as long as kernels are launched.
    """
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def power_of_2(number: int, *, least: int = 16) -> int:
    """RETURNS (int): The next power of 2, from `least` on: of what size blocks have to be."""
    return max(least, 1 << max(0, number - 1).bit_length())


def ceil_div(number: int, size: int) -> int:
    """RETURNS (int): How many pieces of a size cover a number of things."""
    return -(-number // size)
