from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from spacy_psa.evaluation import significance
from spacy_psa.evaluation.sentences import SCORES, accuracy, f1
from spacy_psa.evaluation.significance import (
    TESTS,
    approximate_randomization,
    difference,
    paired_bootstrap,
)


def right_or_wrong(pattern: str) -> NDArray[np.int64]:
    """Counts of one-token sentences: 1 is correct, 0 is wrong."""
    return np.array([[1, 1, int(c), 1, int(c)] for c in pattern])


def all_swaps(first: NDArray, second: NDArray, score: str) -> float:
    """The exact p-value, over all ways to swap the two outputs for each sentence."""

    def gap(swaps: tuple[bool, ...]) -> float:
        a = sum(b if swap else a for a, b, swap in zip(first, second, swaps, strict=True))
        b = sum(a if swap else b for a, b, swap in zip(first, second, swaps, strict=True))
        return abs(float(SCORES[score](b)) - float(SCORES[score](a)))

    ways = list(product([False, True], repeat=len(first)))
    observed = gap(ways[0])
    return sum(gap(swaps) >= observed - 1e-12 for swaps in ways) / len(ways)


def uneven_counts(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Span counts of two systems on sentences of various sizes."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(1, 6, size=n)
    systems = []
    for _ in range(2):
        predicted = rng.integers(1, 6, size=n)
        correct = rng.integers(0, np.minimum(gold, predicted) + 1)
        systems.append(np.stack([gold, predicted, correct, gold, correct], axis=1))
    return systems[0], systems[1]


@pytest.mark.parametrize(("n_trials", "exact"), [(7, False), (8, True), (9, True)])
def test_all_ways_are_looked_at_if_there_are_trials_enough(n_trials: int, exact: bool) -> None:
    first, second = right_or_wrong("000" + "11"), right_or_wrong("111" + "11")
    result = approximate_randomization(first, second, accuracy, n_trials=n_trials)
    assert (result.exact, result.n_trials) == (exact, min(n_trials, 2**3))
    assert (result.p_value == 2 / 2**3) == exact


def test_p_value_is_that_of_the_sign_test():
    # 7 sentences gained, 2 lost: a two-sided binomial test with 9 fair coins.
    first, second = right_or_wrong("0000000" + "11"), right_or_wrong("1111111" + "00")
    expected = 2 * sum(comb(9, k) for k in (7, 8, 9)) / 2**9
    assert approximate_randomization(first, second, accuracy).p_value == pytest.approx(expected)


def test_as_much_won_as_lost_is_no_difference():
    first, second = right_or_wrong("0011"), right_or_wrong("1100")
    assert approximate_randomization(first, second, accuracy).p_value == 1.0
    assert paired_bootstrap(first, second, accuracy, n_trials=100).p_value == 1.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("score", ["f1", "precision"])
def test_few_sentences_are_permuted_exhaustively(score: str, seed: int):
    first, second = uneven_counts(6, seed)
    result = approximate_randomization(first, second, SCORES[score])
    assert result.exact
    assert result.p_value == pytest.approx(all_swaps(first, second, score), abs=1e-12)


@pytest.mark.parametrize("seed", [2, 5])
def test_random_swaps_come_close_to_all_of_them(seed: int):
    first, second = uneven_counts(11, seed)
    n_differing = int((first != second).any(axis=1).sum())
    # With one more trial, all swaps would be enumerated instead of sampled.
    drawn = approximate_randomization(first, second, f1, n_trials=2**n_differing - 1, seed=1)
    assert not drawn.exact
    assert drawn.p_value == pytest.approx(all_swaps(first, second, "f1"), abs=0.08)


def test_swaps_in_parts_give_the_exact_value_too(monkeypatch: pytest.MonkeyPatch):
    first, second = uneven_counts(6, seed=3)
    monkeypatch.setattr(significance, "CHUNK_SIZE", 13)
    result = approximate_randomization(first, second, f1)
    assert result.p_value == pytest.approx(all_swaps(first, second, "f1"), abs=1e-12)


def test_bootstrap_equals_a_slow_one():
    first, second = uneven_counts(8, seed=6)
    drawn = np.random.default_rng(4).integers(0, 8, size=(100, 8))
    observed = difference(first, second, f1)
    extreme = 0
    for rows in drawn:
        gap = float(f1(second[rows].sum(0))) - float(f1(first[rows].sum(0)))
        extreme += abs(gap - observed) >= abs(observed) - 1e-12
    result = paired_bootstrap(first, second, f1, n_trials=100, seed=4)
    assert result.p_value == (extreme + 1) / 101


@pytest.mark.parametrize("test", TESTS)
def test_clear_differences_have_small_p_values_that_are_not_zero(test: str):
    first, second = right_or_wrong("0" * 60 + "1" * 40), right_or_wrong("1" * 100)
    result = TESTS[test](first, second, accuracy, n_trials=500)
    assert result.p_value == 1 / 501


@pytest.mark.parametrize("test", TESTS)
def test_direction_does_not_matter(test: str):
    first, second = uneven_counts(30, seed=8)
    there = TESTS[test](first, second, f1, n_trials=300, seed=2)
    back = TESTS[test](second, first, f1, n_trials=300, seed=2)
    assert there.p_value == back.p_value
