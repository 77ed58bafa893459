from __future__ import annotations

import numpy as np
import pytest

from spacy_psa.evaluation import significance
from spacy_psa.evaluation.significance import percentile_interval, resampled_sums


def test_sums_equal_those_of_drawing_sentence_by_sentence():
    counts = np.random.default_rng(0).integers(0, 9, size=(7, 5))
    drawn = np.random.default_rng(3).integers(0, 7, size=(20, 7))
    expected = [sum(counts[i] for i in row) for row in drawn]
    np.testing.assert_array_equal(resampled_sums(counts, 20, 3), expected)


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


def test_no_groups_have_no_sums():
    assert resampled_sums(np.zeros((3, 0, 3), dtype=np.int64), 5, 0).shape == (5, 0, 3)


def test_nothing_is_drawn_from_a_single_sentence():
    assert resampled_sums(np.ones((1, 2, 3), dtype=np.int64), 5, 0).shape == (0, 2, 3)
