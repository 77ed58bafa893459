import pytest

from spacy_psa.corpora.problems import MAX_EXAMPLES, Problems, check_overlaps, remedies_once
from spacy_psa.errors import Errors


def test_the_first_problem_is_raised_by_default():
    with pytest.raises(ValueError, match=r"\[P145\] a"):
        Problems().report("[P145] a")


def test_lenient_problems_are_counted_by_code():
    problems = Problems(lenient=True)
    problems.report("[P145] a")
    problems.report("[P112] b", count=3)
    assert problems.counts == {"P145": 1, "P112": 3}
    assert problems.total == 4
    assert problems.examples == ["[P145] a", "[P112] b"]


def test_examples_are_limited_for_each_code_but_counts_are_not():
    problems = Problems(lenient=True)
    for i in range(MAX_EXAMPLES + 5):
        problems.report(f"[P145] {i}")
    problems.report("[P112] b")
    assert problems.total == MAX_EXAMPLES + 6
    assert problems.examples[-2:] == [f"[P145] {MAX_EXAMPLES - 1}", "[P112] b"]


def test_a_remedy_is_given_once_for_each_code():
    messages = ["[P185] a. Try x.", "[P112] b.", "[P185] c. d. Try x.", "[P185] e. Try y or x."]
    assert remedies_once(messages) == messages
    assert remedies_once(messages[:3]) == ["[P185] a.", *messages[1:3]]
    assert remedies_once([*messages, messages[0]])[2] == "[P185] c. d."
    assert remedies_once(["[P112] b."] * 2) == ["[P112] b."] * 2


def test_notes_are_counted_and_never_raised():
    problems = Problems()
    problems.note("rejected texts, skipped")
    problems.note("rejected texts, skipped", count=2)
    assert problems.notes == {"rejected texts, skipped": 3} and problems.total == 0


def test_spans_that_do_not_overlap_are_put_in_order():
    spans = [(3, 5, "B"), (0, 3, "A")]
    assert check_overlaps(spans, "a.txt", 1, "entities", Problems()) == [(0, 3, "A"), (3, 5, "B")]


def test_spans_that_overlap_are_named():
    with pytest.raises(ValueError) as err:
        check_overlaps([(0, 3, "A"), (2, 4, "B")], "a.txt", 7, "entities", Problems())
    assert str(err.value).startswith(Errors.P146[:6])
    assert "a.txt, line 7" in str(err.value)
    assert "the entities (0, 3, 'A') and (2, 4, 'B') (start, end, label) overlap" in str(err.value)


def test_the_longer_one_of_spans_that_overlap_is_kept_if_lenient():
    problems = Problems(lenient=True)
    spans = [(0, 1, "A"), (0, 3, "B"), (2, 4, "C"), (4, 5, "D")]
    kept = check_overlaps(spans, "a.txt", 7, "entities", problems)
    assert kept == [(0, 3, "B"), (4, 5, "D")]
    assert problems.counts == {"P146": 2}
