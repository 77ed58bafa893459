"""GPU kernels in Triton; each has an alternative in PyTorch.

Modules ending in `_kernels` contain the kernels; `chains`, `best_paths` and `additive` launch
them. Triton comes with PyTorch's CUDA builds and is imported only where it is used.
"""

from .availability import kernels_run_on

__all__ = ["kernels_run_on"]
