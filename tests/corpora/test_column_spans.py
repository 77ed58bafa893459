from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_psa.annotation.schemes import SCHEMES, read_spans
from spacy_psa.corpora.column_kinds import scheme_of
from spacy_psa.corpora.column_spans import SpanColumn
from spacy_psa.corpora.columns import Row
from spacy_psa.corpora.iob import read_iob
from spacy_psa.corpora.problems import Problems

COLUMNS = ("word", "NER")


def rows_of(sentences):
    """Rows of sentences given as strings of tags, numbered like the lines of a file."""
    line = 0
    for tags in sentences:
        rows = [Row(line + i, ("w", tag)) for i, tag in enumerate(tags.split(), start=1)]
        line += len(rows) + 1
        yield rows


def read(*sentences, scheme=None, lenient=False, strict=False):
    problems = Problems(lenient, strict)
    with SpanColumn("a.txt", 1, COLUMNS, scheme, problems) as column:
        return [column.read(rows) for rows in rows_of(sentences)], problems


def test_middles_may_be_m():
    assert read("B-PER M-PER M-PER E-PER S-LOC")[0] == [[(0, 4, "PER"), (4, 5, "LOC")]]


@pytest.mark.parametrize("tags", ["B-PER M-PER", "B-PER L-PER", "U-PER O"])
def test_letters_of_other_schemes_are_none_of_bio(tags):
    spans, problems = read(tags, scheme="BIO")
    assert spans == read(tags)[0]
    assert problems.notes.total() == 1


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
    ("sentences", "scheme", "found", "first"),
    [
        (["I-PER I-PER O", "B-LOC", "I-ORG"], "IOB1", 1, "line 5: 'B-LOC' at the start of"),
        (["I-PER O I-LOC O B-ORG"], "IOB1", 1, "line 5: 'B-ORG' after 'O'"),
        (["B-PER O", "I-LOC I-LOC"], "BIO", 1, "line 4: 'I-LOC' at the start of"),
        (["B-PER", "B-PER I-LOC"], "BIO", 1, "line 4: 'I-LOC' after 'B-PER'"),
        (["B-X I-X", "S-X", "B-X", "S-X", "I-Y"], "BIO", 3, "line 4: 'S-X' at the start"),
        (["S-X", "B-X E-X", "B-X"], "BIOES", 1, "line 6: 'B-X' at the end of a sentence"),
        (["U-X B-X L-X L-X", "U-X"], "BILOU", 1, "line 4: 'L-X' after 'L-X'"),
        (["S-X B-X M-X O", "S-X"], "BMES", 1, "line 4: 'O' after 'M-X'"),
    ],
)
def test_the_majority_decides_the_scheme_and_the_rest_is_counted(sentences, scheme, found, first):
    spans, problems = read(*sentences)
    letters = {"L-": "E-", "U-": "S-", "M-": "I-"}
    expected = [[letters.get(tag[:2], tag[:2]) + tag[2:] for tag in s.split()] for s in sentences]
    assert spans == [read_spans(tags) for tags in expected]
    (message,) = problems.notes
    assert f"tags in column NER of a.txt that do not fit its scheme, {scheme}, and" in message
    assert f"(the first in {first}" in message
    assert problems.notes.total() == found
    assert problems.total == 0
    with pytest.raises(
        ValueError, match=rf"P144.*{first}.*{scheme} \(the first of {found}\).*--strict"
    ):
        read(*sentences, strict=True)


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("B-X O B-X I-X O S-X", "BIO"),
        ("I-X O I-X O B-X", "IOB1"),
        ("i-x o i-x o", "IO"),
        ("S-X O B-X E-X O I-X", "BIOES"),
        ("U-X O B-X L-X O I-X", "BILOU"),
        ("S O B M E O", "BMES"),
        ("_ -X- *", "BIO"),
    ],
)
def test_detection_finds_the_same_scheme(tags, scheme):
    assert scheme_of([tags.split()]) == scheme


def test_b_after_another_label_does_not_tell_bio_from_iob1():
    spans, problems = read("I-PER B-LOC", "I-PER", "I-PER I-LOC")
    assert spans[:2] == [[(0, 1, "PER"), (1, 2, "LOC")], [(0, 1, "PER")]]
    assert (problems.notes.total(), "IOB1" in next(iter(problems.notes))) == (1, True)


def test_what_does_not_fit_is_reported_if_only_the_first_sentences_are_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a I-X\n\nb I-X\n\nc B-X\n\nd O\n", encoding="utf8")
    problems = Problems()
    sentences = read_iob(path, problems=problems)
    for _ in range(3):
        next(sentences)
    sentences.close()
    assert problems.notes.total() == 1


def test_an_error_is_not_hidden_by_tags_that_do_not_fit(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a I-X\nb O\nc B-X\nd\n", encoding="utf8")
    with pytest.raises(ValueError, match="P112"):
        list(read_iob(path, problems=Problems(strict=True)))


def test_pieces_between_outside_tags_are_read_on_their_own():
    # conlleval reads E-X B-X as one span where tags are ill-formed
    spans = read("B-X E-X B-X E-X O E-X B-X O S-X S-X")[0]
    assert spans == [[(0, 2, "X"), (2, 4, "X"), (5, 7, "X"), (8, 9, "X"), (9, 10, "X")]]


@pytest.mark.parametrize("tag", ["Q-PER", "X-PER", "O-PER", "b-PER", "-PER"])
def test_unknown_prefixes_are_errors(tag):
    with pytest.raises(ValueError, match=rf"P116.*line 2: '{tag}' in column NER"):
        read(f"O {tag}")


@pytest.mark.parametrize("tag", ["PER", "B", "B-", "_"])
def test_what_is_no_tag_is_an_error(tag):
    with pytest.raises(ValueError, match=rf"P116.*line 1: '{tag}' in column NER"):
        read(tag)


def test_what_is_no_tag_is_outside_if_lenient():
    spans, problems = read("B-PER PER I-PER", lenient=True)
    assert spans == [[(0, 1, "PER"), (2, 3, "PER")]]
    assert (problems.counts, problems.notes.total()) == ({"P116": 1}, 1)


@pytest.mark.parametrize(
    ("tags", "scheme", "count"),
    [("B-PER I-PER", "BIO", 0), ("I-PER", "BIO", 1), ("S-PER", "IOB1", 1), ("B-X I-X", "IO", 1)],
)
def test_a_named_scheme_is_the_scheme_whatever_the_majority(tags, scheme, count):
    spans, problems = read(tags, scheme=scheme)
    assert spans == read(tags)[0]
    assert problems.notes.total() == count
    assert all(f"its scheme, {scheme}," in message for message in problems.notes)


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
    spans, problems = read(*texts, strict=True)
    assert spans == [spans for _, spans in sentences]
    assert not problems.notes


def test_an_odd_tag_of_a_long_file_is_found_in_the_scheme_of_the_others():
    spans = [(0, 2, "PER"), (2, 3, "PER"), (4, 5, "LOC")]
    for name, odd in (("BIO", "I-LOC"), ("IOB1", "B-LOC"), ("BIOES", "B-LOC")):
        tags = SCHEMES[name].encode(spans, 6)
        texts = [" ".join(tags)] * 50 + [f"O {odd} O"] + [" ".join(tags)] * 50
        found, problems = read(*texts)
        assert found == [spans] * 50 + [[(1, 2, "LOC")]] + [spans] * 50
        assert problems.notes.total() == 1 and f"scheme, {name}," in next(iter(problems.notes))
