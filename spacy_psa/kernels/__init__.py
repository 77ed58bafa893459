"""GPU kernels in Triton for the sums, marginals and best sequences of chains.

Modules ending in `_kernels` contain the kernels; `chains` and `best_paths` launch them. Additive
attention has its own in `acceleration.cuda`. Triton comes with PyTorch's CUDA builds and is
imported only where it is used.
"""

from .availability import kernels_run_on

__all__ = ["kernels_run_on"]
