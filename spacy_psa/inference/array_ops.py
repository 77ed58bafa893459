"""What recursions need of an array library, where NumPy and PyTorch differ.

Recursions over a trellis are written once, for NumPy (fast on the CPU) and for PyTorch (on other
devices, or where a gradient is wanted). All else that they do is spelled alike in both.
"""

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from . import log_product
from .log_domain import logsumexp

Array = Any  # np.ndarray or Tensor; never a mixture of both

# The k largest numbers are found by partitioning all of them, or by k searches for the maximum.
# What each takes, if looking at a number takes 1: to partition, for a number; to start a search.
PARTITION = 30
SEARCH = 25_000
LOWEST = float(np.finfo(np.float64).min)


class ArrayOps(Protocol):
    """Operations on arrays in float64, in which -inf stands for what is impossible."""

    def concatenate(self, parts: list[Array]) -> Array:
        """RETURNS (Array): The parts, of which there is at least one, below each other."""
        ...

    def integers(self, array: np.ndarray) -> Array:
        """RETURNS (Array): Integers of the layout, where the other arrays are."""
        ...

    def from_tensor(self, tensor: Tensor) -> Array:
        """RETURNS (Array): Numbers in float64, where the other arrays are."""
        ...

    def zeros(self, *shape: int) -> Array:
        """RETURNS (Array): *Shape:* as asked for."""
        ...

    def finite(self, scores: Array) -> Array:
        """RETURNS (Array): *Shape:* as the scores. The lowest number in place of -inf."""
        ...

    def peak(self, scores: Array) -> Array:
        """scores (Array): *Shape:* (…, L)
        RETURNS (Array): *Shape:* (…, 1). The maximum, to be subtracted; 0 in place of -inf.
        """
        ...

    def logsumexp(self, scores: Array) -> Array:
        """scores (Array): *Shape:* (…, L)
        RETURNS (Array): *Shape:* (…). -inf where everything is -inf.
        """
        ...

    def mixture_entropy(self, scores: Array, entropies: Array) -> Array:
        """RETURNS (Array): As `log_product.mixture_entropy`."""
        ...

    def top(self, values: Array, k: int) -> Array:
        """values (Array): *Shape:* (n, m), m ≥ k
        RETURNS (Array): *Shape:* (n, k). Where the k largest values of each row are, from left to
            right, counted from the beginning of the first row. Of equal values, those further left
            are taken.
        """
        ...

    def ranking(self, values: Array) -> Array:
        """values (Array): *Shape:* (n, k)
        RETURNS (Array): *Shape:* (n, k). Where the largest value of each row is, the second largest
            and so on. Of equal values, the one further left comes first.
        """
        ...

    def draw(self, scores: Array, uniform: Array) -> Array:
        """Draw from distributions ∝ exp(scores), by the inverse of the cumulative distribution.

        scores (Array): *Shape:* (n, m, L) or (n, 1, L). Overwritten.
        uniform (Array): *Shape:* (n, m). From 0 up to but not including 1.
        RETURNS (Array): *Shape:* (n, m). Labels; some label where none is possible.
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
        # What is impossible is still better than what is taken already
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
        if np.isnan(largest).any():  # which comes first where a search finds the maximum, too
            best = self.ranking(np.where(np.isnan(values), np.inf, values))[:, :k]
            return np.sort(best, axis=1) + width * np.arange(n_rows)[:, None]
        smallest = largest[:, :1]
        found = np.flatnonzero(values >= smallest)
        if found.size > n_rows * k:  # too many, as several are equal to the smallest
            larger, equal = values > smallest, values == smallest
            room = k - larger.sum(axis=1, keepdims=True)
            found = np.flatnonzero(larger | (equal & (equal.cumsum(axis=1) <= room)))
        return found.reshape(n_rows, k)

    def ranking(self, values: np.ndarray) -> np.ndarray:
        return (-values).argsort(axis=1, kind="stable")

    def draw(self, scores: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        scores -= self.peak(scores)
        cumulative = np.exp(scores, out=scores)
        for label in range(1, scores.shape[2]):  # rather than cumsum, which is slow on short rows
            cumulative[:, :, label] += cumulative[:, :, label - 1]
        # The largest number that generators give is 1 - 2^-53, whose product with any total is less
        target = uniform * cumulative[:, :, -1]
        return (cumulative > target[:, :, None]).argmax(axis=2)


class TorchOps:
    """Tensors of one device.

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
        # PyTorch's own has the gradient NaN where everything is -inf
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
