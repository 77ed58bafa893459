from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_psa.annotation.schemes import (
    SCHEMES,
    get_scheme,
    read_spans,
    split_tag,
    transition_mask,
)

LABELS = ["X", "Y", "some-type"]


@st.composite
def sentences(draw, touching=True):
    """Draw spans that do not overlap, and the number of tokens."""
    spans, position = [], 0
    for _ in range(draw(st.integers(0, 6))):
        label = draw(st.sampled_from(LABELS))
        gap = draw(st.integers(0, 2))
        if not touching and spans and spans[-1][2] == label:
            gap = max(gap, 1)
        start = position + gap
        position = start + draw(st.integers(1, 4))
        spans.append((start, position, label))
    return spans, position + draw(st.integers(0, 3))


tag_strings = st.one_of(
    st.sampled_from(["O", "B-X", "I-X", "E-X", "S-X", "I-Y", "B", "I", "-", "", ".", "[-X", "]-Y"]),
    st.text(max_size=5),
)
in_every_scheme = pytest.mark.parametrize("name", list(SCHEMES))


@pytest.mark.parametrize("name", ["BIOES", "BIO", "IOB1"])
@given(sentence=sentences())
def test_spans_survive_tags(name, sentence):
    spans, length = sentence
    scheme = SCHEMES[name]
    assert scheme.decode(scheme.encode(spans, length)) == spans


@given(sentence=sentences(touching=False))
def test_spans_that_do_not_touch_survive_io(sentence):
    spans, length = sentence
    assert SCHEMES["IO"].decode(SCHEMES["IO"].encode(spans, length)) == spans


def test_io_merges_adjacent_spans_of_the_same_label():
    tags = SCHEMES["IO"].encode([(0, 2, "X"), (2, 3, "X"), (3, 4, "Y")], 4)
    assert SCHEMES["IO"].decode(tags) == [(0, 3, "X"), (3, 4, "Y")]


@in_every_scheme
@given(sentence=sentences())
def test_encoded_spans_have_no_problems(name, sentence):
    spans, length = sentence
    tags = SCHEMES[name].encode(spans, length)
    assert len(tags) == length
    assert SCHEMES[name].problems(tags) == []


@in_every_scheme
@given(sentence=sentences())
def test_encoded_tags_follow_the_transition_mask(name, sentence):
    spans, length = sentence
    scheme = SCHEMES[name]
    labels = scheme.tags(LABELS)
    mask, start, end = transition_mask(scheme, labels)
    ids = [labels.index(tag) for tag in scheme.encode(spans, length)]
    assert all(mask[a, b] for a, b in pairwise(ids))
    assert not ids or (start[ids[0]] and end[ids[-1]])


@in_every_scheme
@given(tags=st.lists(tag_strings, max_size=12))
def test_any_tags_give_ordered_spans_that_do_not_overlap(name, tags):
    last = 0
    for start, end, _ in SCHEMES[name].decode(tags):
        assert last <= start < end <= len(tags)
        last = end


@pytest.mark.parametrize("name", ["BIOES", "BIO", "IOB1"])
@given(tags=st.lists(tag_strings, max_size=12))
def test_encoding_what_was_decoded_repairs_any_tags(name, tags):
    scheme = SCHEMES[name]
    spans = scheme.decode(tags)
    repaired = scheme.encode(spans, len(tags))
    assert scheme.problems(repaired) == []
    assert scheme.decode(repaired) == spans


@in_every_scheme
@given(tags=st.data())
def test_well_formed_tags_are_those_that_come_back_as_they_were(name, tags):
    scheme = SCHEMES[name]
    sequence = tags.draw(st.lists(st.sampled_from(scheme.tags(["X", "Y"])), max_size=6))
    again = scheme.encode(scheme.decode(sequence), len(sequence))
    assert (scheme.problems(sequence) == []) == (again == sequence)


@pytest.mark.parametrize(
    "name,expected",
    [
        ("BIOES", ["B-X", "E-X", "S-X", "B-X", "I-X", "E-X", "O", "S-Y"]),
        ("BIO", ["B-X", "I-X", "B-X", "B-X", "I-X", "I-X", "O", "B-Y"]),
        ("IOB1", ["I-X", "I-X", "B-X", "B-X", "I-X", "I-X", "O", "I-Y"]),
        ("IO", ["I-X", "I-X", "I-X", "I-X", "I-X", "I-X", "O", "I-Y"]),
    ],
)
def test_encoding(name, expected):
    spans = [(7, 8, "Y"), (0, 2, "X"), (3, 6, "X"), (2, 3, "X")]
    assert SCHEMES[name].encode(spans, 8) == expected


@pytest.mark.parametrize(
    "tags,spans",
    [
        (["I-X", "I-X", "O"], [(0, 2, "X")]),
        (["O", "I-X", "B-X"], [(1, 2, "X"), (2, 3, "X")]),
        (["B-X", "I-Y"], [(0, 1, "X"), (1, 2, "Y")]),
        (["B-X", "E-X", "I-X"], [(0, 2, "X"), (2, 3, "X")]),
        (["S-X", "E-X", "E-X"], [(0, 1, "X"), (1, 2, "X"), (2, 3, "X")]),
        (["B-X", "S-X", "I-X"], [(0, 1, "X"), (1, 2, "X"), (2, 3, "X")]),
        (["-X-", "O", "-", ""], []),
        (["Q-X", "Q-X"], [(0, 2, "X")]),
        ([], []),
    ],
)
def test_reading_ill_formed_tags(tags, spans):
    assert read_spans(tags) == spans


@pytest.mark.parametrize(
    "name,expected",
    [
        ("BIOES", ["O", "B-X", "I-X", "E-X", "S-X", "B-a-b", "I-a-b", "E-a-b", "S-a-b"]),
        ("BIO", ["O", "B-X", "I-X", "B-a-b", "I-a-b"]),
        ("IOB1", ["O", "B-X", "I-X", "B-a-b", "I-a-b"]),
        ("IO", ["O", "I-X", "I-a-b"]),
    ],
)
def test_tags_of_labels(name, expected):
    assert SCHEMES[name].tags(["X", "a-b"]) == expected


def test_labels_may_contain_hyphens():
    assert split_tag("B-some-type") == ("B", "some-type")


@pytest.mark.parametrize(
    "name,previous,tag,allowed",
    [
        ("BIOES", None, "I-X", False),
        ("BIOES", None, "S-X", True),
        ("BIOES", "B-X", "E-X", True),
        ("BIOES", "B-X", "E-Y", False),
        ("BIOES", "B-X", "O", False),
        ("BIOES", "E-X", "I-X", False),
        ("BIOES", "I-X", None, False),
        ("BIOES", "S-X", None, True),
        ("BIO", "O", "I-X", False),
        ("BIO", "B-X", "I-X", True),
        ("BIO", "B-X", "I-Y", False),
        ("BIO", "B-X", None, True),
        ("BIO", "O", "S-X", False),
        ("IOB1", "O", "B-X", False),
        ("IOB1", None, "B-X", False),
        ("IOB1", "I-X", "B-X", True),
        ("IOB1", "I-Y", "B-X", False),
        ("IOB1", "I-Y", "I-X", True),
        ("IO", "I-Y", "I-X", True),
        ("IO", None, "B-X", False),
    ],
)
def test_which_tags_may_follow_which(name, previous, tag, allowed):
    assert SCHEMES[name].may_follow(previous, tag) is allowed


def test_problems_name_each_position():
    found = SCHEMES["BIOES"].problems(["I-X", "E-X", "Q-X", "B-X"])
    assert [index for index, _ in found] == [0, 2, 3]
    assert "the start" in found[0][1]
    assert "Q-X" in found[1][1] and "S-LABEL" in found[1][1]
    assert "not closed" in found[2][1]


@pytest.mark.parametrize("span", [(-1, 1, "X"), (2, 2, "X"), (2, 4, "X"), (3, 2, "X")])
def test_spans_beyond_the_tokens_are_errors(span):
    with pytest.raises(ValueError, match="P101"):
        SCHEMES["BIO"].encode([span], 3)


def test_overlapping_spans_are_errors():
    with pytest.raises(ValueError, match="P102"):
        SCHEMES["BIO"].encode([(0, 2, "X"), (1, 3, "Y")], 3)


def test_unknown_schemes_are_errors_that_list_the_known_ones():
    with pytest.raises(ValueError, match=r"P100.*BIOES, BIO, IOB1, IO"):
        get_scheme("BILOU")


def test_transition_mask_of_no_tags_is_empty():
    mask, start, end = transition_mask("BIO", [])
    assert mask.shape == (0, 0) and start.shape == end.shape == (0,)


def test_transition_mask_rows_are_the_tags_before():
    mask, start, end = transition_mask("BIO", ["O", "B-X", "I-X"])
    np.testing.assert_array_equal(mask, [[True, True, False], [True] * 3, [True] * 3])
    np.testing.assert_array_equal(start, [True, True, False])
    np.testing.assert_array_equal(end, [True, True, True])
