"""Bootstrap and significance tests: how much is the difference, or luck on these sentences?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]

CHUNK_SIZE = 2_000_000  # the number of drawn sentences, or swaps, in memory at a time
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


SLACK = 1e-12  # tolerance for rounding errors in differences

Score = Callable[[NDArray], NDArray[np.float64]]


@dataclass(frozen=True)
class TestResult:
    """The result of a two-sided test: how likely a difference at least as large is by chance.

    name (str): The name of the test.
    p_value (Optional[float]): The p-value, above 0 and at most 1; None if the test is not possible.
    n_trials (int): The number of resamples or permutations.
    exact (bool): Whether these were all possible permutations.
    """

    __test__ = False  # not a pytest class

    name: str
    p_value: float | None
    n_trials: int
    exact: bool = False


def difference(first: NDArray, second: NDArray, score: Score) -> float:
    """Compute the score of the second system minus the score of the first."""
    return float(_differences(first.sum(0), second.sum(0), score))


def paired_bootstrap(
    first: NDArray, second: NDArray, score: Score, *, n_trials: int = 10_000, seed: int = 0
) -> TestResult:
    """Test a difference with the paired bootstrap: draw the same sentences for both systems.

    If both systems were equally good, the differences of samples would vary around 0 as they vary
    around the observed difference. The p-value is therefore the share of samples whose difference
    is at least as far from the observed difference as that is from 0.
    """
    observed = difference(first, second, score)
    draws = _drawn_differences(first, second, score, n_trials, seed)
    if not len(draws):
        return TestResult("bootstrap", None, 0)
    extreme = int((np.abs(draws - observed) >= abs(observed) - SLACK).sum())
    return TestResult("bootstrap", (extreme + 1) / (n_trials + 1), n_trials)


def bootstrap_interval(
    first: NDArray,
    second: NDArray,
    score: Score,
    *,
    n_trials: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval | None:
    """Compute the bootstrap interval of the difference. See `paired_bootstrap`."""
    draws = _drawn_differences(first, second, score, n_trials, seed)
    return percentile_interval(draws, confidence)


def approximate_randomization(
    first: NDArray, second: NDArray, score: Score, *, n_trials: int = 10_000, seed: int = 0
) -> TestResult:
    """Test a difference by swapping the outputs of the two systems, sentence by sentence.

    If both systems were equally good, it would not matter which system an output is from. The
    p-value is therefore the share of permutations whose difference is at least as large as the
    observed one. If there are at most `n_trials` permutations, all of them are used, and the
    p-value is exact.
    """
    observed = abs(difference(first, second, score))
    # Swapping equal outputs changes nothing, so only the other sentences matter.
    gains = (second - first)[(first != second).any(axis=1)]
    n = len(gains)
    exact = n < 63 and 2**n <= n_trials
    total = 2**n if exact else n_trials
    rng = np.random.default_rng(seed)
    extreme = 0
    size = max(1, CHUNK_SIZE // max(n, 1))
    for begin in range(0, total, size):
        rows = min(size, total - begin)
        if exact:
            swaps = (np.arange(begin, begin + rows)[:, None] >> np.arange(n)) & 1
        else:
            swaps = rng.integers(0, 2, size=(rows, n))
        # Integer matrix multiplication is slow, and floats are exact up to 2^53.
        moved = swaps.astype(np.float64) @ gains.astype(np.float64)
        found = _differences(first.sum(0) + moved, second.sum(0) - moved, score)
        extreme += int((np.abs(found) >= observed - SLACK).sum())
    p_value = extreme / total if exact else (extreme + 1) / (total + 1)
    return TestResult("randomization", p_value, total, exact)


TESTS: dict[str, Callable[..., TestResult]] = {
    "bootstrap": paired_bootstrap,
    "randomization": approximate_randomization,
}


def _differences(first: NDArray, second: NDArray, score: Score) -> NDArray[np.float64]:
    return np.nan_to_num(score(second)) - np.nan_to_num(score(first))


def _drawn_differences(
    first: NDArray, second: NDArray, score: Score, n_trials: int, seed: int
) -> NDArray[np.float64]:
    sums = resampled_sums(np.stack([first, second], axis=1), n_trials, seed)
    return _differences(sums[:, 0], sums[:, 1], score)
