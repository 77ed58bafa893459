from __future__ import annotations

import pytest

from spacy_psa.evaluation.breakdowns import (
    ByLength,
    ByVocabulary,
    are_categories,
    by_complexity,
    complexity,
    natural_order,
)
from spacy_psa.evaluation.layers import Unit

from .helpers import tagged

NO_ONE = tagged("X", "X")


def test_names_of_buckets():
    assert ByLength().names == ["1\u20134", "5\u20139", "10\u201319", "20\u201339", "40+"]
    assert ByLength((2, 4)).names == ["1", "2\u20133", "4+"]


@pytest.mark.parametrize(
    ("length", "name"),
    [(1, "1\u20134"), (4, "1\u20134"), (5, "5\u20139"), (40, "40+"), (99, "40+")],
)
def test_sentences_are_in_the_bucket_of_their_length(length: int, name: str):
    sentence = tagged("X " * length, "X " * length)
    assert ByLength()(sentence, Unit(0, 1, "X")) == name


@pytest.mark.parametrize("starts", [(), (1, 5), (5, 5), (10, 5), (0,)])
def test_buckets_that_do_not_rise_are_errors(starts: tuple[int, ...]):
    with pytest.raises(ValueError, match=r"\[P260\]"):
        ByLength(starts)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("both", "IV"),
        ("vector", "OOTV"),
        ("train", "OOEV"),
        ("none", "OOBV"),
        # One word is enough, and each vocabulary may lack a different word of the span.
        ("both vector", "OOTV"),
        ("both train", "OOEV"),
        ("vector train", "OOBV"),
        ("both none", "OOBV"),
        ("both both", "IV"),
    ],
)
def test_vocabulary_classes(words: str, name: str):
    group = ByVocabulary(
        trained=lambda word: word in ("both", "train"),
        embedded=lambda word: word in ("both", "vector"),
    )
    n = len(words.split())
    sentence = tagged("X " * (n + 1), "X " * (n + 1), f"{words} none")
    assert group(sentence, Unit(0, n, "X")) == name


@pytest.mark.parametrize(
    ("category", "n"),
    [("S", 1), ("S/NP", 2), ("(S\\NP)/NP", 3), ("NP[nb]/N", 2), ("((S\\NP)\\(S\\NP))/NP", 5)],
)
def test_complexity_is_the_number_of_basic_categories(category: str, n: int):
    assert complexity(category) == n
    assert by_complexity(NO_ONE, Unit(0, 1, category)) == str(n)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"N", "NP[nb]/N", "(S[dcl]\\NP)/NP", ".", "((S\\NP)\\(S\\NP))/NP"}, True),
        ({"S[b]\\NP", "NP", "conj", "(N/N)/(N/N)"}, True),
        ({"NN", "VBD", ".", "``", "-LRB-"}, False),
        # One or two tags with a slash do not make a grammar.
        ({"NN", "VBD", "JJ", "NN/NNS"}, False),
        ({"S/NP", "(S/NP"}, False),
        ({"A|B/C", "N/N"}, False),
        ({"S/"}, False),
        (set(), False),
    ],
)
def test_categories_are_told_from_other_labels(labels: set[str], expected: bool):
    assert are_categories(labels) is expected


def test_numbers_are_sorted_by_value():
    assert natural_order(["10", "9", "2+", "B", "A10", "A9"]) == ["2+", "9", "10", "A9", "A10", "B"]


def test_digits_that_are_no_decimals_are_sorted_as_signs():
    assert natural_order(["\u2460", "NN", "x\u00b2", "\u0663", "2"]) == [
        "2",
        "\u0663",
        "NN",
        "x\u00b2",
        "\u2460",
    ]
