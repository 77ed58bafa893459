"""Programs for GPUs, written in Triton, beside which there is always a way in PyTorch.

Modules ending in `_kernels` are what runs on the GPU; `chains` and `additive` launch it. Triton
comes with PyTorch's builds for CUDA, and is imported where it is made use of, not before.
"""

from .availability import kernels_run_on

__all__ = ["kernels_run_on"]
