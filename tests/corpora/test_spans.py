from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.corpora.columns import Row
from spacy_psa.corpora.problems import Problems
from spacy_psa.corpora.spans import SpanColumn

COLUMNS = ("word", "NER")


def rows_of(sentences):
    """Rows of sentences given as strings of tags, numbered like the lines of a file."""
    line = 0
    for tags in sentences:
        rows = [Row(line + i, ("w", tag)) for i, tag in enumerate(tags.split(), start=1)]
        line += len(rows) + 1
        yield rows


def read(*sentences, scheme=None, lenient=False):
    problems = Problems(lenient)
    column = SpanColumn("a.txt", 1, COLUMNS, scheme, problems)
    return [column.read(rows) for rows in rows_of(sentences)], problems


def test_middles_may_be_m():
    assert read("B-PER M-PER M-PER E-PER S-LOC")[0] == [[(0, 4, "PER"), (4, 5, "LOC")]]


@pytest.mark.parametrize("tags", ["B-PER M-PER", "B-PER L-PER", "U-PER O"])
def test_letters_of_other_schemes_are_none_of_bio(tags):
    with pytest.raises(ValueError, match="P144"):
        read(tags, scheme="BIO")


@pytest.mark.parametrize(("tags", "culprit"), [("B-PER O M-PER", "M-PER"), ("O L-PER", "L-PER")])
def test_messages_have_the_tag_of_the_file(tags, culprit):
    with pytest.raises(ValueError, match=f"'{culprit}' in column"):
        read(tags)


@pytest.mark.parametrize(
    "tags",
    [
        "B-PER I-PER O B-LOC B-LOC",
        "I-PER I-PER O I-LOC B-LOC",
        "B-PER E-PER O S-LOC S-LOC",
        "B-PER L-PER O U-LOC U-LOC",
    ],
    ids=["BIO", "IOB1", "BIOES", "BILOU"],
)
def test_all_schemes_give_the_same_spans(tags):
    assert read(tags)[0] == [[(0, 2, "PER"), (3, 4, "LOC"), (4, 5, "LOC")]]


@pytest.mark.parametrize(
    "sentences,line",
    [
        (["B-PER O I-PER"], 3),
        (["O I-PER", "O B-PER"], 2),
        (["B-PER I-LOC"], 2),
        (["S-PER", "I-PER"], 3),
    ],
)
def test_a_beginning_with_i_in_a_file_that_is_not_iob1_is_named(sentences, line):
    with pytest.raises(ValueError, match=rf"P144.*a\.txt, line {line}: 'I-.*B-(PER|LOC) was exp"):
        read(*sentences)


def test_beginnings_with_i_before_the_first_b_are_counted_as_well():
    spans, problems = read("I-PER O", "I-PER O", "B-PER O", "I-PER", lenient=True)
    assert problems.counts == {"P144": 3}
    assert spans == [[(0, 1, "PER")]] * 4


def test_b_after_another_label_does_not_tell_bio_from_iob1():
    assert read("I-PER B-LOC", "I-PER")[0] == [[(0, 1, "PER"), (1, 2, "LOC")], [(0, 1, "PER")]]


def test_an_end_without_beginning_is_an_error():
    with pytest.raises(ValueError, match=r"P144.*line 2: 'E-PER'.*B-PER was expected"):
        read("O E-PER")


@pytest.mark.parametrize("tag", ["Q-PER", "X-PER", "O-PER", "b-PER", "-PER"])
def test_unknown_prefixes_are_errors(tag):
    with pytest.raises(ValueError, match=rf"P144.*line 2: '{tag}' in column NER.*B-, I-, E-"):
        read(f"O {tag}")


@pytest.mark.parametrize("tag", ["PER", "B", "B-", "_"])
def test_what_is_no_tag_is_an_error(tag):
    with pytest.raises(ValueError, match=rf"P116.*line 1: '{tag}' in column NER"):
        read(tag)


def test_what_is_no_tag_is_outside_if_lenient():
    spans, problems = read("B-PER PER I-PER", lenient=True)
    assert spans == [[(0, 1, "PER"), (2, 3, "PER")]]
    assert problems.counts == {"P116": 1, "P144": 1}


def test_a_named_scheme_is_checked_strictly():
    assert read("B-PER I-PER", scheme="BIO")[0] == [[(0, 2, "PER")]]
    with pytest.raises(ValueError, match=r"P144.*line 1: 'I-PER'.*may not follow the start.*BIO"):
        read("I-PER", scheme="BIO")
    with pytest.raises(ValueError, match=r"P144.*line 1: 'S-PER'.*not a tag of the scheme IOB1"):
        read("S-PER", scheme="IOB1")


def test_unknown_schemes_are_errors():
    with pytest.raises(ValueError, match=r"P100.*IOB3"):
        read("O", scheme="IOB3")


def test_a_sentence_without_spans_has_an_empty_list():
    assert read("O O", ". O")[0] == [[], []]


@st.composite
def spans_of_sentence(draw):
    length = draw(st.integers(1, 12))
    cuts = sorted(draw(st.sets(st.integers(0, length), min_size=2)))
    labels = st.sampled_from(["PER", "B-x", None])
    pairs = pairwise(cuts)
    spans = [(s, e, label) for s, e in pairs if (label := draw(labels)) is not None]
    return length, spans


@given(st.lists(spans_of_sentence()), st.sampled_from(["BIO", "IOB1", "BIOES"]))
def test_what_a_scheme_writes_is_read_without_problems(sentences, name):
    texts = [" ".join(SCHEMES[name].encode(spans, length)) for length, spans in sentences]
    assert read(*texts)[0] == [spans for _, spans in sentences]
