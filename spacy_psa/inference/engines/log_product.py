"""Sums over labels in the log domain, in NumPy: as fast as matrix products, with full range."""

from functools import cached_property

import numpy as np

from .log_domain import logsumexp
from .products import product
from .workspace import chunks

# A sum below this may have lost terms to underflow; it is recomputed with logsumexp
TINY = 1e-200


class LogProduct:
    """v ↦ log(exp(v) @ exp(scores)), with the exponentials of the scores computed once.

    Both factors are divided by their maxima, v's by row and the scores' by column. If an entry of
    the product is still tiny, the terms that matter may have underflowed, and this entry is
    recomputed from logarithms. This happens behind forbidden or very unlikely transitions.

    scores (np.ndarray): *Shape:* (K, M). Log-scores, -inf allowed.
    """

    def __init__(self, scores: np.ndarray) -> None:
        self._scores_of_column = np.ascontiguousarray(scores.T)
        self._peaks = peak(scores, axis=0)
        self._gaps = scores - self._peaks
        self._factors = np.exp(self._gaps)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """values (np.ndarray): *Shape:* (n, K)
        RETURNS (np.ndarray): *Shape:* (n, M)
        """
        top = peak(values, axis=1)
        sums = product(np.exp(values - top), self._factors)
        with np.errstate(divide="ignore"):
            out = np.log(sums) + top + self._peaks
        for rows, columns in self._lossy(sums, values):
            out[rows, columns] = logsumexp(values[rows] + self._scores_of_column[columns])
        return out

    def entropy(self, values: np.ndarray, entropies: np.ndarray) -> np.ndarray:
        """Propagate the entropy of paths from the rows i to the columns j of the scores.

        Given j, i has the distribution q_i ∝ exp(values_i + scores_ij), and the entropy of the
        paths to j is Σ_i q_i · (entropies_i − log q_i).

        values (np.ndarray): *Shape:* (n, K)
        entropies (np.ndarray): *Shape:* (n, K). The entropy of the paths to each i.
        RETURNS (np.ndarray): *Shape:* (n, M). 0 if no label i is possible.
        """
        gaps = values - peak(values, axis=1)
        shares = np.exp(gaps)
        sums = product(shares, self._factors)
        rest = product(shares * (entropies - _finite(gaps)), self._factors)
        rest -= product(shares, self._surprises)
        some = np.where(sums > 0.0, sums, 1.0)
        out = np.log(some) + rest / some
        for rows, columns in self._lossy(sums, values):
            scores = values[rows] + self._scores_of_column[columns]
            out[rows, columns] = mixture_entropy(scores, entropies[rows])
        return out

    @cached_property
    def _surprises(self) -> np.ndarray:
        return self._factors * _finite(self._gaps)

    @cached_property
    def _possible(self) -> np.ndarray:
        return (self._gaps != -np.inf).astype(np.float64)

    def _lossy(self, sums: np.ndarray, values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows and columns of the sums that must be recomputed, in chunks."""
        low = sums < TINY
        if not low.any():
            return []
        low &= product((values != -np.inf).astype(np.float64), self._possible) > 0.0
        rows, columns = np.nonzero(low)
        return [(rows[part], columns[part]) for part in chunks(rows.size, len(self._factors))]


def peak(scores: np.ndarray, *, axis: int) -> np.ndarray:
    """The maximum, to be subtracted before exponentiation.

    scores (np.ndarray): Log-scores.
    axis (int): The axis to reduce.
    RETURNS (np.ndarray): The maxima, with the axis kept; 0 instead of -inf.
    """
    peaks = scores.max(axis=axis, keepdims=True)
    peaks[peaks == -np.inf] = 0.0
    return peaks


def mixture_entropy(scores: np.ndarray, entropies: np.ndarray) -> np.ndarray:
    """Σ_i q_i · (entropies_i − log q_i) over the last axis, for q ∝ exp(scores).

    scores (np.ndarray): *Shape:* (…, K). Log-scores, -inf allowed.
    entropies (np.ndarray): *Shape:* broadcast to that of the scores.
    RETURNS (np.ndarray): *Shape:* (…). 0 if no i is possible.
    """
    gaps = scores - peak(scores, axis=-1)
    weights = np.exp(gaps)
    total = weights.sum(axis=-1)
    total = np.where(total > 0.0, total, 1.0)
    return np.log(total) + (weights * (entropies - _finite(gaps))).sum(axis=-1) / total


def _finite(logs: np.ndarray) -> np.ndarray:
    """Replace -inf by 0 in the logarithms of weights: entries of weight 0 add nothing."""
    return np.where(logs == -np.inf, 0.0, logs)
