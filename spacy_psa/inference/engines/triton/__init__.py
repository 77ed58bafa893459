"""Sums, marginals and best sequences on a GPU: one Triton kernel launch for a batch of chains.

`backend` has the engine, `chains` launches `kernels`, and `viterbi` has its own. Triton comes with
PyTorch's CUDA builds and is imported only where it is used. Additive attention has its own kernels
in `acceleration.cuda`.
"""

from .availability import kernels_run_on

__all__ = ["kernels_run_on"]
