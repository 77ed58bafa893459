from __future__ import annotations

import numpy as np
import pytest

from spacy_psa.evaluation import significance
from spacy_psa.evaluation.sentences import SCORES, count
from spacy_psa.evaluation.significance import few_sentences, percentile_interval, resampled_sums

from .helpers import random_pairs


def test_sums_equal_those_of_drawing_sentence_by_sentence():
    counts = np.random.default_rng(0).integers(0, 9, size=(7, 5))
    drawn = np.random.default_rng(3).integers(0, 7, size=(20, 7))
    expected = [sum(counts[i] for i in row) for row in drawn]
    np.testing.assert_array_equal(resampled_sums(counts, 20, 3), expected)


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    counts = count(random_pairs(30, seed=4))

    def ends(seed: int) -> tuple[float, float] | None:
        return percentile_interval(SCORES["f1"](resampled_sums(counts, 200, seed)))

    assert ends(1) == ends(1) != ends(2)


def test_columns_are_drawn_together():
    counts = np.random.default_rng(1).integers(0, 9, size=(40, 2, 3))
    sums = resampled_sums(counts, 15, seed=0)
    assert sums.shape == (15, 2, 3)
    np.testing.assert_array_equal(sums[:, 1], resampled_sums(counts[:, 1], 15, seed=0))


def test_memory_is_bounded_by_drawing_in_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(significance, "CHUNK_SIZE", 30)
    counts = np.random.default_rng(2).integers(0, 9, size=(7, 5))
    sums = resampled_sums(counts, 10, seed=0)
    assert sums.shape == (10, 5)
    assert len({tuple(row) for row in sums.tolist()}) > 1


def test_interval_has_the_wanted_share_of_values():
    low, high = percentile_interval(np.arange(1001.0), 0.9)
    assert (low, high) == (pytest.approx(50.0), pytest.approx(950.0))


def test_values_that_are_not_known_are_left_out():
    assert percentile_interval(np.array([np.nan, 2.0, np.nan, 2.0])) == (2.0, 2.0)
    assert percentile_interval(np.array([np.nan])) is None


def test_equal_sentences_have_an_interval_without_width():
    counts = np.tile([4, 4, 3, 4, 3], (20, 1))
    values = SCORES["f1"](resampled_sums(counts, 50, seed=0))
    assert percentile_interval(values) == (0.75, 0.75)


def test_standard_error_is_that_of_the_binomial():
    # One token per sentence, 80 of 100 correct: the standard error is sqrt(0.8 * 0.2 / 100).
    counts = np.ones((100, 5), dtype=np.int64)
    counts[80:, [2, 4]] = 0
    values = SCORES["accuracy"](resampled_sums(counts, 4000, seed=0))
    assert values.std() == pytest.approx(0.04, rel=0.05)
    assert values.mean() == pytest.approx(0.8, abs=0.003)


def test_no_groups_have_no_sums():
    assert resampled_sums(np.zeros((3, 0, 3), dtype=np.int64), 5, 0).shape == (5, 0, 3)


def test_nothing_is_drawn_from_a_single_sentence():
    assert resampled_sums(np.ones((1, 2, 3), dtype=np.int64), 5, 0).shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (1, "only 1 sentence; bootstrap intervals need at least two."),
        (2, "only 2 sentences; bootstrap intervals are not reliable."),
        (19, "only 19 sentences; bootstrap intervals are not reliable."),
    ],
)
def test_few_sentences_are_warned_of(n: int, text: str):
    assert few_sentences(n, "intervals").startswith(f"Warning: {text} ")
    assert few_sentences(20, "intervals") == ""
