"""Splitting the rows of a batch by document, and joining them again."""

import numpy as np
import pytest
from thinc.api import NumpyOps

from spacy_psa.models.thinc_arrays import flatten, unflatten

OPS = NumpyOps()
ROWS = np.arange(12, dtype="f").reshape(6, 2)


@pytest.mark.parametrize("lengths", [[6], [2, 0, 4], [1, 5]])
def test_joining_what_has_been_split_copies_nothing(lengths: list[int]) -> None:
    parts = unflatten(OPS, ROWS, lengths)
    assert [len(part) for part in parts] == lengths
    assert flatten(OPS, parts) is ROWS
    np.testing.assert_array_equal(flatten(OPS, list(parts)), ROWS)


def test_a_list_that_has_been_changed_is_joined_anew() -> None:
    parts = unflatten(OPS, ROWS, [2, 4])
    parts[0] = -parts[0]
    np.testing.assert_array_equal(flatten(OPS, parts), np.concatenate([-ROWS[:2], ROWS[2:]]))
    del parts[0]
    np.testing.assert_array_equal(flatten(OPS, parts), ROWS[2:])
    parts.append(ROWS[:1])
    np.testing.assert_array_equal(flatten(OPS, parts), np.concatenate([ROWS[2:], ROWS[:1]]))
