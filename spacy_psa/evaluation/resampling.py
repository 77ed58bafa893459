"""Bootstrap: how much would scores vary on another sample of sentences of the same kind?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]

CHUNK_SIZE = 2_000_000  # the number of drawn sentences in memory at a time
ENOUGH = 20  # sentences; with fewer, intervals are too narrow and p-values too small


def resampled_sums(counts: NDArray[np.int64], n_resamples: int, seed: int) -> NDArray[np.float64]:
    """Sum the counts of bootstrap samples of the sentences, drawn with replacement."""
    if len(counts) < 2:
        return np.zeros((0, *counts.shape[1:]))
    if not counts.size:
        return np.zeros((n_resamples, *counts.shape[1:]))
    columns = counts.reshape(len(counts), math.prod(counts.shape[1:])).astype(np.float64)
    sums = [weights @ columns for weights in _weights(len(counts), n_resamples, seed)]
    return np.concatenate(sums).reshape(n_resamples, *counts.shape[1:])


def percentile_interval(values: NDArray[np.float64], confidence: float = 0.95) -> Interval | None:
    """Compute the central interval that contains most values."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(known, [tail, 100.0 - tail])
    return float(low), float(high)


def few_sentences(n: int, found: str) -> str:
    """Warn about bootstrap results from few sentences, which seem more certain than they are."""
    if n >= ENOUGH:
        return ""
    only = f"only {n} sentence{'s' * (n != 1)}"
    problem = "are not reliable" if n > 1 else "need at least two"
    return (
        f"Warning: {only}; bootstrap {found} {problem}. "
        "A document without sentence boundaries is one sentence."
    )


def _weights(n: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each of n sentences is drawn, for a chunk of resamples at a time."""
    rng = np.random.default_rng(seed)
    size = max(1, CHUNK_SIZE // max(n, 1))
    for first in range(0, n_resamples, size):
        rows = min(size, n_resamples - first)
        drawn = rng.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
