"""Helpers for launching kernels, and a minimal kernel that shows whether this works."""

from contextlib import AbstractContextManager, nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

# Options of every launch: allow fused multiply-add. Triton warns if this is not set.
OPTIONS = {"enable_fp_fusion": True}


def on_device(tensor: Tensor) -> AbstractContextManager[object]:
    """Make a tensor's GPU the current device, on which Triton launches kernels."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def block_of(number: int) -> int:
    """The block size for a number of items: a power of 2, at least 16."""
    return max(16, triton.next_power_of_2(number))


@triton.jit
def add_one_kernel(numbers, n_numbers, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n_numbers
    tl.store(numbers + at, tl.load(numbers + at, mask=inside) + 1.0, mask=inside)


def add_one(numbers: Tensor) -> Tensor:
    """Add one to each number, at most 16, in place."""
    with on_device(numbers):
        add_one_kernel[(1,)](numbers, numbers.numel(), BLOCK=16, **OPTIONS)
    return numbers
