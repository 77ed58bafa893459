"""Is one system better than another, or only luckier with these sentences?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .resampling import Interval, percentile_interval, resampled_sums

CHUNK_SIZE = 2_000_000  # swaps that are held in memory at a time
SLACK = 1e-12  # differences that are equal but for rounding

Score = Callable[[NDArray], NDArray[np.float64]]


@dataclass(frozen=True)
class TestResult:
    """How likely a difference at least as large, in either direction, is by chance.

    name (str): The test.
    p_value (Optional[float]): The probability, above 0 and at most 1; None if there is nothing to
        look at.
    n_trials (int): How many resamples or permutations were looked at.
    exact (bool): Whether these were all that there are.
    """

    __test__ = False  # not one of pytest's

    name: str
    p_value: float | None
    n_trials: int
    exact: bool = False

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All of it, ready for JSON."""
        return asdict(self)


def difference(first: NDArray, second: NDArray, score: Score) -> float:
    """The score of the second system less that of the first.

    first (NDArray): The counts of each sentence for the first system. *Shape:* (S, 7).
    second (NDArray): The same for the second one.
    score (Score): From counts to a score, e.g. `counts.f1`.
    RETURNS (float): The difference. A score that is not defined counts as 0.
    """
    return float(_differences(first.sum(0), second.sum(0), score))


def paired_bootstrap(
    first: NDArray, second: NDArray, score: Score, *, n_trials: int = 10_000, seed: int = 0
) -> TestResult:
    """Test a difference by drawing sentences, the same ones for both systems.

    If both were equally good, differences of draws would vary around 0 as they do around the
    difference observed. So the p-value is the share of draws whose difference is as far from the
    observed one as that is from 0.

    first (NDArray): The counts of each sentence for the first system. *Shape:* (S, 7).
    second (NDArray): The same for the second one.
    score (Score): From counts to a score.
    n_trials (int): How often to draw.
    seed (int): Where the random numbers start.
    RETURNS (TestResult): The two-sided p-value, with one added to both sides of the fraction, so
        that it is never 0; none for a single sentence, of which all draws are the same.

    Source: Berg-Kirkpatrick, Burkett and Klein (2012), An Empirical Investigation of Statistical
        Significance in NLP, figure 1; for both directions.
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
    """The interval in which the difference lies with some confidence. See `paired_bootstrap`.

    confidence (float): How sure it shall be.
    RETURNS (Optional[Tuple[float, float]]): Its ends; None for a single sentence.
    """
    draws = _drawn_differences(first, second, score, n_trials, seed)
    return percentile_interval(draws, confidence)


def approximate_randomization(
    first: NDArray, second: NDArray, score: Score, *, n_trials: int = 10_000, seed: int = 0
) -> TestResult:
    """Test a difference by swapping the outputs of the two systems, sentence by sentence.

    If both were equally good, it would not matter which system an output is from. So the p-value
    is the share of swaps whose difference is at least as large as the observed one. If there are
    no more than `n_trials` ways to swap, all of them are looked at, and the p-value is exact.

    first (NDArray): The counts of each sentence for the first system. *Shape:* (S, 7).
    second (NDArray): The same for the second one.
    score (Score): From counts to a score.
    n_trials (int): How many swaps to look at.
    seed (int): Where the random numbers start.
    RETURNS (TestResult): The two-sided p-value; where it is not exact, with one added to both sides
        of the fraction.

    Source: Noreen (1989), Computer-Intensive Methods for Testing Hypotheses; Yeh (2000), More
        accurate tests for the statistical significance of result differences.
    """
    observed = abs(difference(first, second, score))
    # To swap what is equal changes nothing: only the other sentences have a say.
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
        # Floats, because matrix products of whole numbers are slow; all are exact up to 2^53.
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
