"""Scores in the exp domain. Transitions between tokens are one matrix for all, or one per token."""

from functools import cached_property
from typing import Protocol

import numpy as np
import torch

from ..layout import TimeMajor, sum_by
from .arrays import chunks

# Terms further below the peak than this are dropped, and are then checked to be negligible
DROP_BELOW = 230.0

# Multiplications in one product that NumPy's BLAS computes in the calling thread. For more, it has
# threads of its own, which get no processor while PyTorch's wait for work in a busy loop
FEW = 1 << 19

Side = np.ndarray  # (N, L): values at one end of a step, in the order of the layout's rows


class Steps(Protocol):
    """exp(scores) of adjacent labels, divided by their maximum.

    range (float): How far the lowest score is below the maximum that it was divided by.
    """

    range: float

    def peaks(self) -> np.ndarray:
        """The logs of the divisors, summed by chain (C,)."""
        ...

    def drop(self) -> np.ndarray | float:
        """Set values that are too small to compute with to zero, before any of the sums.

        RETURNS (Union[np.ndarray, float]): How far below the peak the largest of them is in each
            chain (C,), or in all of them.
        """
        ...

    def forward(self, source: np.ndarray, begin: int, stop: int, out: np.ndarray) -> None:
        """Sum over the previous labels: out[t, j] = Σ_i source[t, i] · step_t[i, j]."""
        ...

    def backward(self, source: np.ndarray, begin: int, stop: int, out: np.ndarray) -> None:
        """Sum over the labels at t: out[t, i] = Σ_j step_t[i, j] · source[t, j]."""
        ...

    def pairs(self, sides: list[tuple[Side, Side]]) -> tuple[np.ndarray, np.ndarray | None]:
        """step_t[i, j] · Σ before[t-1, i] · after[t, j] over the pairs (before, after) of sides:
        the sum over the tokens (L, L), and the values of each token in the original order
        (N, L, L), zeros for first tokens; None if all tokens share one matrix."""
        ...


def make_steps(
    transitions: np.ndarray,
    pairwise: np.ndarray | None,
    layout: TimeMajor,
) -> Steps:
    """Create the kind of steps that fits the scores (L, L) and (N, L, L)."""
    if pairwise is None:
        return SharedSteps(transitions, layout)
    return PairwiseSteps(transitions, pairwise, layout)


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Multiply matrices (n, k) and (k, m) of float64, with PyTorch's threads if they are large."""
    if a.shape[0] * b.size < FEW or torch.get_num_threads() == 1:
        return np.dot(a, b, out)  # less overhead than matmul
    into = None if out is None else torch.from_numpy(out)
    return torch.mm(torch.from_numpy(a), torch.from_numpy(b), out=into).numpy()


class Factor:
    """exp(log-scores) divided by their maximum; -inf allowed."""

    def __init__(self, scores: np.ndarray) -> None:
        peak = scores.max()
        self.peak = 0.0 if peak == -np.inf else float(peak)
        self._gaps = self.peak - scores.astype(np.float64, copy=False)
        self.range = float(self._gaps.max())
        self.values = np.exp(-self._gaps)

    def drop(self) -> float:
        """As `Steps.drop`."""
        dropped = (self._gaps > DROP_BELOW) & np.isfinite(self._gaps)
        self.values[dropped] = 0.0
        return float(self._gaps[dropped].min(initial=np.inf))


class RowFactor:
    """The same with a row of scores for each token: exp(log-scores) divided by the row's maximum.

    scores (np.ndarray): The rows, float64, in the order of the layout. They are changed in place.
    layout (TimeMajor): The layout of the tokens.
    n_skipped (int): The number of the layout's rows that are missing, the first ones.
    """

    finite: bool  # Whether all maxima are

    def __init__(self, scores: np.ndarray, layout: TimeMajor, n_skipped: int = 0) -> None:
        self._scores, self._layout = scores, layout
        self._chains = layout.chain_of_row[n_skipped:]
        maxima = scores.max(axis=1)
        self.finite = bool(np.isfinite(maxima).all())
        maxima[maxima == -np.inf] = 0.0
        scores -= maxima[:, None]
        self._peaks = sum_by(self._chains, maxima, layout.n_chains)

    def peaks(self) -> np.ndarray:
        """As `Steps.peaks`."""
        return self._peaks

    def drop(self) -> np.ndarray:
        """As `Steps.drop`."""
        gaps = np.full(self._layout.n_chains, np.inf)
        for part in chunks(*self._scores.shape):
            scores = self._scores[part]
            dropped = (scores < -DROP_BELOW) & (scores != -np.inf)
            if np.count_nonzero(dropped):  # faster than any()
                at, column = np.nonzero(dropped)
                np.minimum.at(gaps, self._chains[part][at], -scores[at, column])
                scores[at, column] = -np.inf
        return gaps

    @cached_property
    def values(self) -> np.ndarray:
        return np.exp(self._scores, out=self._scores)


class SharedSteps(Factor):
    """The same transition scores (L, L) for all tokens."""

    def __init__(self, transitions: np.ndarray, layout: TimeMajor) -> None:
        super().__init__(transitions)
        self._layout = layout

    def peaks(self) -> np.ndarray:
        return np.maximum(self._layout.sizes - 1, 0) * self.peak

    @cached_property
    def _transposed(self) -> np.ndarray:
        return np.ascontiguousarray(self.values.T)

    def forward(self, source: np.ndarray, begin: int, stop: int, out: np.ndarray) -> None:
        product(source, self.values, out)

    def backward(self, source: np.ndarray, begin: int, stop: int, out: np.ndarray) -> None:
        product(source, self._transposed, out)

    def pairs(self, sides: list[tuple[Side, Side]]) -> tuple[np.ndarray, None]:
        total = np.zeros_like(self.values)
        for begin, stop, before, before_stop in self._layout.runs:
            for left, right in sides:
                total += product(left[before:before_stop].T, right[begin:stop])
        total *= self.values
        return total, None


class PairwiseSteps(RowFactor):
    """Transition scores that differ between tokens: (N, L, L), and (L, L) for all. The rows of the
    first tokens of chains are ignored."""

    def __init__(
        self,
        transitions: np.ndarray,
        pairwise: np.ndarray,
        layout: TimeMajor,
    ) -> None:
        self._n_first = n_first = layout.chains.size
        rows = layout.order[n_first:]
        scores = np.empty((rows.size, *transitions.shape))
        np.add(pairwise[rows], transitions, out=scores, dtype=np.float64)
        super().__init__(scores.reshape(rows.size, transitions.size), layout, n_first)
        self.range = -float(scores.min(initial=0.0))
        self._n_labels = len(transitions)

    @cached_property
    def _matrices(self) -> np.ndarray:
        return self.values.reshape(-1, self._n_labels, self._n_labels)

    def _rows(self, begin: int, stop: int) -> np.ndarray:
        return self._matrices[begin - self._n_first : stop - self._n_first]

    def forward(self, source: np.ndarray, begin: int, stop: int, out: np.ndarray) -> None:
        np.matmul(source[:, None, :], self._rows(begin, stop), out=out[:, None, :])

    def backward(self, source: np.ndarray, begin: int, stop: int, out: np.ndarray) -> None:
        np.matmul(self._rows(begin, stop), source[:, :, None], out=out[:, :, None])

    def pairs(self, sides: list[tuple[Side, Side]]) -> tuple[np.ndarray, np.ndarray]:
        layout, n_labels = self._layout, self._n_labels
        by_token = np.zeros((layout.n_tokens, n_labels, n_labels))
        total = np.zeros((n_labels, n_labels))
        for begin, stop, before, _ in layout.runs:
            for part in chunks(stop - begin, total.size):
                behind = slice(before + part.start, before + part.stop)
                ahead = slice(begin + part.start, begin + part.stop)
                outer = sum(left[behind, :, None] * right[ahead, None, :] for left, right in sides)
                outer *= self._rows(ahead.start, ahead.stop)
                by_token[layout.order[ahead]] = outer
                total += outer.sum(axis=0)
        return total, by_token
