"""Calibration and scores by threshold, checked against slow loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.calibration.reliability import (
    brier_score,
    expected_calibration_error,
    precision_recall_by_threshold,
    reliability,
)

RNG = np.random.default_rng(0)
CONFIDENCES = RNG.uniform(size=200)
CORRECT = RNG.uniform(size=200) < CONFIDENCES**2


def in_bin(confidence: float, i: int, n_bins: int) -> bool:
    low, high = i / n_bins, (i + 1) / n_bins
    return low < confidence <= high or (i == 0 and confidence == 0.0)


@pytest.mark.parametrize("n_bins", [1, 7, 10, 15])
def test_bins_equal_a_slow_count(n_bins):
    found = reliability(CONFIDENCES, CORRECT, n_bins=n_bins)
    for i in range(n_bins):
        own = [j for j, c in enumerate(CONFIDENCES) if in_bin(c, i, n_bins)]
        assert found.counts[i] == len(own)
        assert found.confidence[i] == pytest.approx(sum(CONFIDENCES[j] for j in own) / len(own))
        assert found.accuracy[i] == pytest.approx(sum(bool(CORRECT[j]) for j in own) / len(own))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    pairs=st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=30),
    n_bins=st.integers(1, 20),
)
def test_calibration_error_equals_a_slow_one(pairs, n_bins):
    error = 0.0
    for i in range(n_bins):
        own = [(c, right) for c, right in pairs if in_bin(c, i, n_bins)]
        if own:
            confidence = sum(c for c, _ in own) / len(own)
            accuracy = sum(right for _, right in own) / len(own)
            error += len(own) / len(pairs) * abs(accuracy - confidence)
    found = expected_calibration_error(*zip(*pairs, strict=True), n_bins=n_bins)
    assert found == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("i", range(11))
def test_bins_hold_their_upper_end(i):
    found = reliability([i / 10], [True])
    assert np.flatnonzero(found.counts).tolist() == [max(i - 1, 0)]


def test_empty_bins_have_no_numbers():
    found = reliability([0.95], [True])
    assert np.isnan(found.accuracy[:9]).all() and np.isnan(found.confidence[:9]).all()
    assert found.counts.tolist() == [0] * 9 + [1]


def test_brier_score_equals_a_slow_one():
    total = sum((c - bool(r)) ** 2 for c, r in zip(CONFIDENCES, CORRECT, strict=True))
    assert brier_score(CONFIDENCES, CORRECT) == pytest.approx(total / 200)


def test_scores_by_threshold_equal_slow_ones():
    thresholds = [0.0, 0.25, float(CONFIDENCES[3]), 0.8, 1.0]
    curve = precision_recall_by_threshold(CONFIDENCES, CORRECT, 150, thresholds=thresholds)
    for i, threshold in enumerate(thresholds):
        own = [bool(r) for c, r in zip(CONFIDENCES, CORRECT, strict=True) if c >= threshold]
        right = sum(own)
        assert curve.kept[i] == len(own)
        assert curve.recall[i] == pytest.approx(right / 150)
        if own:
            precision, recall = right / len(own), right / 150
            f1 = 2 * precision * recall / (precision + recall) if right else 0.0
            assert curve.precision[i] == pytest.approx(precision)
            assert curve.f1[i] == pytest.approx(f1)


def test_thresholds_go_from_0_to_1_by_default():
    curve = precision_recall_by_threshold(CONFIDENCES, CORRECT, 200)
    assert (curve.thresholds[0], curve.thresholds[-1], len(curve.thresholds)) == (0.0, 1.0, 101)
    assert curve.kept[0] == 200
    assert (np.diff(curve.recall) <= 0).all()


def test_scores_of_nothing():
    curve = precision_recall_by_threshold([0.5], [True], 2, thresholds=[0.6])
    assert math.isnan(curve.precision[0])
    assert (curve.recall[0], curve.f1[0]) == (0.0, 0.0)
    curve = precision_recall_by_threshold([0.5], [False], 0, thresholds=[0.0, 0.6])
    assert np.isnan(curve.recall).all()
    assert curve.f1[0] == 0.0 and math.isnan(curve.f1[1])


def test_no_predictions_have_no_error():
    assert math.isnan(expected_calibration_error([], []))
    assert math.isnan(brier_score([], []))
    assert precision_recall_by_threshold([], [], 3).recall.tolist() == [0.0] * 101


@pytest.mark.parametrize(
    ("confidences", "correct", "problem"),
    [
        ([0.5, 0.6], [True], "shape"),
        ([[0.5]], [[True]], "shape"),
        ([0.5], [1], "int64"),
        ([0.5, 1.5], [True, True], "1.5"),
        ([float("nan")], [True], "nan"),
    ],
)
@pytest.mark.parametrize("function", [reliability, expected_calibration_error, brier_score])
def test_what_does_not_fit_is_an_error(function, confidences, correct, problem):
    with pytest.raises(ValueError, match=rf"\[P345\].*{problem}"):
        function(confidences, correct)


def test_more_right_than_gold_is_an_error():
    with pytest.raises(ValueError, match=r"\[P345\].*2 of them are correct.* has 1"):
        precision_recall_by_threshold([0.5, 0.6], [True, True], 1)


@pytest.mark.parametrize("n_bins", [0, 2.5, True])
def test_bins_have_to_be_a_number(n_bins):
    with pytest.raises(ValueError, match=r"\[P014\].*n_bins"):
        reliability([0.5], [True], n_bins=n_bins)
