"""The array operations that recursions need and that NumPy and PyTorch spell differently.

Recursions over a trellis are written once, for both NumPy (fast on the CPU) and PyTorch (for other
devices, or if a gradient is needed). All other operations look the same in both libraries.
"""

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from . import log_product
from .log_domain import logsumexp

Array = Any  # np.ndarray or Tensor, never mixed

# The k largest values are found either by partitioning a row or by k searches for its maximum.
# Costs relative to one comparison: partitioning, per value, and the overhead of one search.
PARTITION = 30
SEARCH = 25_000
LOWEST = float(np.finfo(np.float64).min)


class ArrayOps(Protocol):
    """Operations on float64 arrays of log-scores, in which -inf means impossible."""

    def concatenate(self, parts: list[Array]) -> Array:
        """RETURNS (Array): The parts (at least one), concatenated along the first axis."""
        ...

    def integers(self, array: np.ndarray) -> Array:
        """RETURNS (Array): Indices from the layout, on the device of the other arrays."""
        ...

    def from_tensor(self, tensor: Tensor) -> Array:
        """RETURNS (Array): The values in float64, on the device of the other arrays."""
        ...

    def zeros(self, *shape: int) -> Array:
        """RETURNS (Array): *Shape:* as given."""
        ...

    def finite(self, scores: Array) -> Array:
        """RETURNS (Array): *Shape:* as the scores. -inf is replaced by the lowest finite number."""
        ...

    def peak(self, scores: Array) -> Array:
        """scores (Array): *Shape:* (…, L)
        RETURNS (Array): *Shape:* (…, 1). The maximum, to be subtracted; 0 instead of -inf.
        """
        ...

    def logsumexp(self, scores: Array) -> Array:
        """scores (Array): *Shape:* (…, L)
        RETURNS (Array): *Shape:* (…). -inf if all scores are -inf.
        """
        ...

    def mixture_entropy(self, scores: Array, entropies: Array) -> Array:
        """RETURNS (Array): As `log_product.mixture_entropy`."""
        ...

    def top(self, values: Array, k: int) -> Array:
        """values (Array): *Shape:* (n, m), m ≥ k
        RETURNS (Array): *Shape:* (n, k). The flat indices of the k largest values of each row, in
            ascending order. Ties go to the values further left.
        """
        ...

    def ranking(self, values: Array) -> Array:
        """values (Array): *Shape:* (n, k)
        RETURNS (Array): *Shape:* (n, k). The column indices that sort each row in descending order.
            Of equal values, the one further left comes first.
        """
        ...

    def draw(self, scores: Array, uniform: Array) -> Array:
        """Sample from distributions ∝ exp(scores), by inverting the cumulative distribution.

        scores (Array): *Shape:* (n, m, L) or (n, 1, L). Overwritten.
        uniform (Array): *Shape:* (n, m). Uniform in [0, 1).
        RETURNS (Array): *Shape:* (n, m). Labels; an arbitrary label if none is possible.
        """
        ...


class NumpyOps:
    """NumPy arrays."""

    def concatenate(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    def integers(self, array: np.ndarray) -> np.ndarray:
        return array

    def from_tensor(self, tensor: Tensor) -> np.ndarray:
        return tensor.cpu().double().numpy()

    def zeros(self, *shape: int) -> np.ndarray:
        return np.zeros(shape)

    def finite(self, scores: np.ndarray) -> np.ndarray:
        return np.maximum(scores, LOWEST)

    def peak(self, scores: np.ndarray) -> np.ndarray:
        return log_product.peak(scores, axis=-1)

    def logsumexp(self, scores: np.ndarray) -> np.ndarray:
        return logsumexp(scores)

    def mixture_entropy(self, scores: np.ndarray, entropies: np.ndarray) -> np.ndarray:
        return log_product.mixture_entropy(scores, entropies)

    def top(self, values: np.ndarray, k: int) -> np.ndarray:
        if PARTITION * values.size < k * (SEARCH + values.size):
            return self._top_by_partition(values, k)
        # -inf marks values already taken, so impossible ones must rank above it
        rest = np.maximum(values, LOWEST, order="C")
        flat, first = rest.reshape(-1), np.arange(0, rest.size, rest.shape[1])
        found = np.empty((k, len(rest)), dtype=np.int64)
        for at in found:
            rest.argmax(axis=1, out=at)
            at += first
            flat[at] = -np.inf
        found = found.T.copy()
        found.sort(axis=1)
        return found

    def _top_by_partition(self, values: np.ndarray, k: int) -> np.ndarray:
        n_rows, width = values.shape
        largest = np.partition(values, width - k, axis=1)[:, width - k :]
        if np.isnan(largest).any():  # argmax, too, takes NaN for the maximum
            best = self.ranking(np.where(np.isnan(values), np.inf, values))[:, :k]
            return np.sort(best, axis=1) + width * np.arange(n_rows)[:, None]
        smallest = largest[:, :1]
        found = np.flatnonzero(values >= smallest)
        if found.size > n_rows * k:  # too many: there are ties with the smallest
            larger, equal = values > smallest, values == smallest
            room = k - larger.sum(axis=1, keepdims=True)
            found = np.flatnonzero(larger | (equal & (equal.cumsum(axis=1) <= room)))
        return found.reshape(n_rows, k)

    def ranking(self, values: np.ndarray) -> np.ndarray:
        return (-values).argsort(axis=1, kind="stable")

    def draw(self, scores: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        scores -= self.peak(scores)
        cumulative = np.exp(scores, out=scores)
        for label in range(1, scores.shape[2]):  # cumsum is slow on short rows
            cumulative[:, :, label] += cumulative[:, :, label - 1]
        # The largest number that generators return is 1 - 2^-53; times any total, it is less
        target = uniform * cumulative[:, :, -1]
        return (cumulative > target[:, :, None]).argmax(axis=2)


class TorchOps:
    """PyTorch tensors on one device.

    device (torch.device): The device.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def concatenate(self, parts: list[Tensor]) -> Tensor:
        return torch.cat(parts)

    def integers(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def from_tensor(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._device, torch.float64)

    def zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self._device)

    def finite(self, scores: Tensor) -> Tensor:
        return scores.clamp(min=LOWEST)

    def peak(self, scores: Tensor) -> Tensor:
        peak = scores.amax(dim=-1, keepdim=True)
        return peak.masked_fill(peak == -torch.inf, 0.0)

    def logsumexp(self, scores: Tensor) -> Tensor:
        # The gradient of torch.logsumexp is NaN if all scores are -inf
        peak = self.peak(scores.detach())
        sums = (scores - peak).exp().sum(dim=-1)
        impossible = sums == 0.0
        logs = sums.masked_fill(impossible, 1.0).log() + peak.squeeze(-1)
        return logs.masked_fill(impossible, -torch.inf)

    def mixture_entropy(self, scores: Tensor, entropies: Tensor) -> Tensor:
        gaps = scores - self.peak(scores.detach())
        weights = gaps.exp()
        total = weights.sum(dim=-1)
        total = total.masked_fill(total == 0.0, 1.0)
        finite = gaps.masked_fill(gaps == -torch.inf, 0.0)
        return total.log() + (weights * (entropies - finite)).sum(dim=-1) / total

    def top(self, values: Tensor, k: int) -> Tensor:
        best = values.sort(dim=1, descending=True, stable=True).indices[:, :k]
        first = torch.arange(0, values.numel(), values.shape[1], device=self._device)
        return best.sort(dim=1).values + first.unsqueeze(1)

    def ranking(self, values: Tensor) -> Tensor:
        return values.sort(dim=1, descending=True, stable=True).indices

    def draw(self, scores: Tensor, uniform: Tensor) -> Tensor:
        cumulative = (scores - self.peak(scores)).exp().cumsum(dim=2)
        target = uniform * cumulative[:, :, -1]
        labels = (cumulative <= target.unsqueeze(2)).sum(dim=2)
        return labels.clamp(max=scores.shape[2] - 1)
