from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spacy_psa.evaluation import comparison
from spacy_psa.evaluation.comparison import (
    Comparison,
    columns,
    compare,
    comparison_table,
    sentence_table,
    summary,
    to_markdown,
)
from spacy_psa.evaluation.layers import Unit, make_layer
from spacy_psa.evaluation.sentences import pair_sentences

from .helpers import doc_with, random_pairs, spanned, tagged

TAG, ENTS = make_layer("tag", ""), make_layer("ents", "")


def two_systems(**settings: object) -> Comparison:
    """The second system is better on two sentences, the first on one."""
    first = [tagged("X Y Z", "X X X"), tagged("X X", "Y X"), tagged("Y", "Y"), tagged("Z", "Z")]
    second = [tagged("X Y Z", "X Y Z"), tagged("X X", "X X"), tagged("Y", "X"), tagged("Z", "Z")]
    return compare(first, second, TAG, ("old", "new"), n_trials=200, **settings)


def test_scores_and_their_difference():
    result = two_systems()
    assert result.score == "accuracy"
    assert result.values == (pytest.approx(4 / 7), pytest.approx(6 / 7))
    assert result.difference == pytest.approx(2 / 7)
    assert result.interval[0] <= result.difference <= result.interval[1]


def test_sentences_are_counted_for_the_system_that_is_better():
    result = two_systems()
    assert (result.n_sentences, result.n_differing, result.better) == (4, 3, (1, 2))


def test_differing_sentences_are_listed_with_the_greatest_gain_first():
    result = two_systems(limit=2)
    assert [sentence.gain for sentence in result.sentences] == [4, 2]
    sentence = result.sentences[0]
    assert (sentence.gold, sentence.first, sentence.second) == (
        ["X", "Y", "Z"],
        ["X", "X", "X"],
        ["X", "Y", "Z"],
    )


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_no_more_sentences_are_laid_out_than_are_kept(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    laid_out = []
    monkeypatch.setattr(comparison, "side_by_side", lambda *given: laid_out.append(given))
    two_systems(limit=limit)
    assert len(laid_out) == limit


def test_both_tests_are_run_unless_one_is_chosen():
    assert [test.name for test in two_systems().tests] == ["bootstrap", "randomization"]
    assert [test.name for test in two_systems(tests=["bootstrap"]).tests] == ["bootstrap"]


def test_few_sentences_have_an_exact_p_value():
    [test] = two_systems(tests=["randomization"]).tests
    # Gains of 2, 1 and -1 tokens: only 2 of the 8 sign assignments give a difference below 2.
    assert (test.exact, test.n_trials, test.p_value) == (True, 8, 0.75)


def test_a_single_sentence_has_neither_an_interval_nor_a_p_value_of_the_bootstrap():
    result = compare([tagged("X Y", "X X")], [tagged("X Y", "X Y")], TAG, n_trials=50)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (data["interval"], data["tests"][0]["p_value"]) == (None, None)
    rows = dict(comparison_table(result).rows)
    assert (rows["95% interval"], rows["p (bootstrap)"]) == ("-", "-")
    assert rows["p (randomization, exact: all 2 permutations)"] == "1.0000"


@pytest.mark.parametrize("n", [1, 19, 20])
def test_few_sentences_are_warned_of(n: int):
    pairs = [tagged("X", "X")] * n
    result = compare(pairs, pairs, TAG, n_trials=50)
    warned = f"only {n} sentence" in summary(result)
    assert warned == (f"only {n} sentence" in to_markdown([result], "Title")) == (n < 20)


def test_identical_systems():
    pairs = random_pairs(10, seed=1)
    result = compare(pairs, pairs, TAG, n_trials=50)
    assert (result.difference, result.interval, result.n_differing) == (0.0, (0.0, 0.0), 0)
    assert [test.p_value for test in result.tests] == [1.0, 1.0]


def test_spans_are_compared_by_f1_or_by_another_score():
    first = [spanned("a b c", [(0, 2, "X")], [(0, 2, "X"), (2, 3, "X")])]
    second = [spanned("a b c", [(0, 2, "X")], [(0, 2, "X")])]
    assert compare(first, second, ENTS, n_trials=5).values == (pytest.approx(2 / 3), 1.0)
    assert compare(first, second, ENTS, n_trials=5, score="recall").difference == 0.0


def test_each_system_is_right_by_its_own_label_of_a_set():
    layer = make_layer("tag", "", "|")
    gold = doc_with(["a", "b"], tags=["NN|JJ", "VB"])
    found = [doc_with(["a", "b"], tags=[tag, "VB"]) for tag in ("NN", "JJ")]
    first, second = (pair_sentences([gold], [doc], layer) for doc in found)
    [sentence] = compare(first, second, layer, n_trials=5).sentences
    assert (sentence.gain, sentence.gold) == (0, ["NN or JJ", "VB"])


def test_spans_are_drawn_down_their_tokens():
    units = [Unit(0, 3, "NP"), Unit(4, 6, "VP"), Unit(6, 7, "PP")]
    assert columns(units, 7) == ["NP", "│", "└", "", "VP", "└", "PP"]


def test_spans_that_overlap_are_all_drawn():
    assert columns([Unit(0, 2, "A"), Unit(1, 2, "B"), Unit(1, 2, "C")], 2) == ["A", "B+C"]


def test_the_work_of_drawing_grows_with_the_length_alone():
    compared = []

    class Place(int):
        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return int(self) == other

        __hash__ = int.__hash__

    n = 200
    assert columns([Unit(Place(i), Place(i + 1), "X") for i in range(n)], n) == ["X"] * n
    assert len(compared) < 20 * n


def test_tokens_far_from_a_difference_are_left_out():
    gold = "X " * 20
    predicted = ["X"] * 20
    predicted[10] = "Y"
    result = compare([tagged(gold, gold)], [tagged(gold, " ".join(predicted))], TAG, n_trials=5)
    rows = sentence_table(result.sentences[0], ("old", "new")).rows
    assert [row[0] for row in rows] == ["…", "w8", "w9", "w10", "w11", "w12", "…"]
    assert rows[3] == ["w10", "X", "X", "Y"]


def test_differences_at_the_ends_have_no_ellipsis_beyond():
    result = compare([tagged("X Y", "X Y")], [tagged("X Y", "Y X")], TAG, n_trials=5)
    rows = sentence_table(result.sentences[0], ("a", "b")).rows
    assert [row[0] for row in rows] == ["w0", "w1"]


def test_json_is_json():
    data = json.loads(json.dumps(two_systems().to_dict(), allow_nan=False))
    assert data["systems"] == ["old", "new"]
    assert data["tests"][1]["exact"] is True
    assert len(data["differences"]) == 3


def test_markdown_names_systems_and_p_values():
    result = two_systems()
    text = to_markdown([result], "old and new")
    assert "| old | 57.14 % |" in text
    assert "| p (randomization, exact: all 8 permutations) | 0.7500 |" in text
    assert comparison_table(result).rows[2] == ["difference", "+28.57 %"]


def test_words_and_labels_are_those_of_the_text_also_in_markdown():
    words, labels = ("*", "<br>", "a|b", "\n", "&lt;", "_x_"), "(S\\NP)\\(S\\NP)"
    side = [replace(tagged("X " * 6, f"{label} " * 6), words=words) for label in ("X", labels)]
    result = compare(side[:1], side[1:], TAG, ("a_1", "a_2"), n_trials=5)
    text = to_markdown([result], "a*b")
    assert text.startswith("# a\\*b\n")
    *_, table = text.partition("### Document 1")[2].partition("\n\n")
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert lines[0][-2:] == ["a_1", "a_2"]
    shown = ["\\*", "\\<br\\>", "a\\|b", "\u2423", "\\&lt;", "\\_x\\_"]
    assert [line[0] for line in lines[2:]] == shown
    assert {line[3] for line in lines[2:]} == {"(S\\\\NP)\\\\(S\\\\NP)"}
