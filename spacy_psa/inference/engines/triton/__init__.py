"""Sums, marginals and best sequences on a GPU: one Triton kernel launch for a batch of chains.

`backend` has the engine, `chains` and `viterbi` launch the kernels, `message_kernels` and
`marginal_kernels` contain the others. Triton comes with PyTorch's CUDA builds and is imported only
where it is used. Additive attention has its own kernels in `acceleration.cuda`.
"""

from .availability import kernels_run_on

__all__ = ["kernels_run_on"]
