"""Sums over labels in the log domain, in PyTorch: by matrix products if their range suffices."""

from functools import cached_property

import torch
from torch import Tensor

from .array_ops import TorchOps
from .logspace import LogMatMul

# A sum below this may have lost terms to underflow. Its inverse occurs in derivatives, squared in
# second derivatives, and must not overflow there.
TINY = 1e-100


class TorchLogProduct:
    """As `log_product.LogProduct`, for tensors and differentiable.

    If any entry may have lost terms, all entries are recomputed term by term from logarithms.

    scores (Tensor): *Shape:* (K, M). Log-scores in float64, -inf allowed.
    """

    def __init__(self, scores: Tensor) -> None:
        self._ops = TorchOps(scores.device)
        self._scores = scores
        self._peaks = self._ops.peak(scores.detach().t()).t()
        self._gaps = scores - self._peaks
        self._factors = self._gaps.exp()

    def total(self, values: Tensor) -> Tensor:
        """values (Tensor): *Shape:* (n, K)
        RETURNS (Tensor): *Shape:* (n, M). log(exp(values) @ exp(scores)).
        """
        top = self._ops.peak(values.detach())
        sums = (values - top).exp() @ self._factors
        if self._is_lossy(sums, values):
            return LogMatMul.apply(values, self._scores)
        impossible = sums == 0.0
        logs = sums.masked_fill(impossible, 1.0).log() + top + self._peaks
        return logs.masked_fill(impossible, -torch.inf)

    def entropy(self, values: Tensor, entropies: Tensor) -> Tensor:
        """values (Tensor): *Shape:* (n, K)
        entropies (Tensor): *Shape:* (n, K)
        RETURNS (Tensor): *Shape:* (n, M). As `LogProduct.entropy`.
        """
        gaps = values - self._ops.peak(values.detach())
        shares = gaps.exp()
        sums = shares @ self._factors
        if self._is_lossy(sums, values):
            summands = values.unsqueeze(1) + self._scores.t()
            return self._ops.mixture_entropy(summands, entropies.unsqueeze(1))
        rest = (shares * (entropies - _finite(gaps))) @ self._factors - shares @ self._surprises
        some = sums.masked_fill(sums == 0.0, 1.0)
        return some.log() + rest / some

    @cached_property
    def _surprises(self) -> Tensor:
        return self._factors * _finite(self._gaps)

    @cached_property
    def _possible(self) -> Tensor:
        return (self._gaps.detach() != -torch.inf).double()

    def _is_lossy(self, sums: Tensor, values: Tensor) -> bool:
        low = sums.detach() < TINY
        if not bool(low.any()):
            return False
        possible = (values.detach() != -torch.inf).double() @ self._possible > 0.0
        return bool((low & possible).any())


def _finite(logs: Tensor) -> Tensor:
    return logs.masked_fill(logs == -torch.inf, 0.0)
