from __future__ import annotations

import numpy as np
import pytest

from spacy_psa.evaluation.breakdowns import by_label
from spacy_psa.evaluation.sentences import N_COUNTS, SCORES, count, count_groups

from .helpers import spanned, tagged


def test_counts_of_spans_and_tokens():
    sentence = spanned("a b c d", [(0, 2, "NP"), (2, 3, "VP")], [(0, 2, "NP"), (3, 4, "VP")])
    assert count([sentence]).tolist() == [[2, 2, 1, 4, 2, 0, 0]]


def test_groups_of_each_label():
    names, counts = count_groups([tagged("X X Y", "X Y Y")], by_label)
    assert dict(zip(names, counts[0].tolist(), strict=True)) == {"X": [2, 1, 1], "Y": [1, 2, 1]}


def test_units_without_a_group_are_left_out():
    names, counts = count_groups(
        [tagged("X Y", "X X")], lambda sentence, unit: unit.label if unit.label == "Y" else None
    )
    assert names == ["Y"]
    assert counts.tolist() == [[[1, 0, 0]]]


@pytest.mark.parametrize(
    ("name", "value"), [("precision", 0.6), ("recall", 0.75), ("f1", 6 / 9), ("accuracy", 0.9)]
)
def test_scores_of_counts(name: str, value: float):
    assert SCORES[name](np.array([4, 5, 3, 10, 9])) == pytest.approx(value)


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_nothing_are_not_defined(name: str):
    assert np.isnan(SCORES[name](np.zeros(N_COUNTS)))
