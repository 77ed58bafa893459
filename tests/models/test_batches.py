"""Batches: rows of documents are joined and split, and every token is read exactly once, with as
much context as possible."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thinc.api import NumpyOps

from spacy_psa.models.batches import flatten, make_layout, unflatten

OPS = NumpyOps()
ROWS = np.arange(12, dtype="f").reshape(6, 2)


def read_back(layout) -> np.ndarray:
    """For each token, the token at the position it is read from."""
    return np.concatenate([bucket.index.reshape(-1) for bucket in layout.buckets])[layout.rows]


configs = st.integers(1, 12).flatmap(
    lambda length: st.tuples(st.just(length), st.integers(0, length - 1))
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), configs, st.integers(1, 80))
def test_layout_keeps_every_token_and_its_sequence(lengths, config, positions):
    max_length, overlap = config
    layout = make_layout(
        lengths, max_length=max_length, overlap=overlap, bucket_positions=positions
    )
    n = sum(lengths)
    assert np.array_equal(read_back(layout), np.arange(n))
    # Distinct positions, none in the padding.
    assert len(set(layout.rows.tolist())) == n
    real = [np.arange(bucket.index.shape[1]) < bucket.lengths[:, None] for bucket in layout.buckets]
    assert np.concatenate([mask.reshape(-1) for mask in real])[layout.rows].all()
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    for bucket in layout.buckets:
        assert bucket.index.shape[1] == bucket.lengths.max() <= max_length
        assert bucket.index.shape[1] == 1 or bucket.index.size <= max(
            positions, bucket.index.shape[1]
        )
        for row, size in zip(bucket.index, bucket.lengths, strict=True):
            # A window is a run of tokens of one sequence; padding repeats the last token.
            assert np.array_equal(row[:size], np.arange(row[0], row[0] + size))
            assert (row[size:] == row[size - 1]).all()
            assert len(set(sequence[row].tolist())) == 1


def test_short_sequences_are_one_window_each_from_the_longest():
    layout = make_layout([2, 3, 1], max_length=3, overlap=1)
    (bucket,) = layout.buckets
    assert bucket.lengths.tolist() == [3, 2, 1]
    assert bucket.index.tolist() == [[2, 3, 4], [0, 1, 1], [5, 5, 5]]
    assert layout.rows.tolist() == [3, 4, 0, 1, 2, 6]
    assert layout.lengths == (2, 3, 1)


def test_equal_lengths_keep_their_order():
    (bucket,) = make_layout([2, 2, 2], max_length=5, overlap=0).buckets
    assert bucket.index[:, 0].tolist() == [0, 2, 4]


def test_buckets_end_where_they_are_full():
    layout = make_layout([3, 3, 3], max_length=5, overlap=0, bucket_positions=7)
    assert [len(bucket.lengths) for bucket in layout.buckets] == [2, 1]


@pytest.mark.parametrize(("length", "overlap"), [(25, 4), (23, 6), (11, 9), (40, 0)])
def test_tokens_are_read_where_they_have_most_context(length, overlap):
    layout = make_layout([length], max_length=10, overlap=overlap)
    places = np.concatenate([bucket.index.reshape(-1) for bucket in layout.buckets])
    column = np.arange(len(places)) % 10
    # The nearer edge of the window bounds the context, unless it is an end of the sequence.
    first, last = places - column == 0, places - column + 10 == length
    left = np.where(first, 1_000, column)
    right = np.where(last, 1_000, 9 - column)
    context = np.minimum(left, right)
    for token in range(length):
        assert context[layout.rows[token]] == context[places == token].max()


@pytest.mark.parametrize("overlap", [0, 3, 9])
def test_neighbouring_windows_share_the_overlap_at_least(overlap):
    layout = make_layout([47], max_length=10, overlap=overlap)
    starts = sorted(int(row[0]) for bucket in layout.buckets for row in bucket.index)
    assert all(b - a <= 10 - overlap for a, b in pairwise(starts))
    assert starts[0] == 0
    assert starts[-1] == 37


@pytest.mark.parametrize(("max_length", "overlap"), [(64, 64), (32, 64), (64, -5), (0, 0)])
def test_windows_that_do_not_advance_are_an_error(max_length: int, overlap: int) -> None:
    with pytest.raises(ValueError, match=r"P208.*max_length"):
        make_layout([3, 100], max_length=max_length, overlap=overlap)


@pytest.mark.parametrize("lengths", [[6], [2, 0, 4], [1, 5]])
def test_what_has_been_split_is_joined_again(lengths: list[int]) -> None:
    parts = unflatten(OPS, ROWS, lengths)
    assert [len(part) for part in parts] == lengths
    np.testing.assert_array_equal(flatten(OPS, parts), ROWS)
