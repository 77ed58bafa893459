from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from spacy_psa.evaluation.breakdowns import ByVocabulary
from spacy_psa.evaluation.conlleval import Counts
from spacy_psa.evaluation.layers import EntsLayer, make_layer
from spacy_psa.evaluation.rendering import report_tables, summary, to_markdown
from spacy_psa.evaluation.report import Report, Settings, evaluate
from spacy_psa.evaluation.report_page import to_html

from .helpers import random_pairs, spanned, tagged

TAG, ENTS = make_layer("tag", ""), make_layer("ents", "")
FEW = Settings(n_resamples=50)


def rows(report: Report, name: str) -> dict[str, Counts]:
    return {row.name: row.counts for row in report.breakdowns[name].rows}


def test_scores_of_the_whole():
    sentences = [
        spanned("a b c d", [(0, 2, "PER"), (2, 3, "LOC")], [(0, 2, "PER")]),
        spanned("a b", [(0, 1, "LOC")], [(0, 1, "PER"), (1, 2, "LOC")]),
    ]
    report = evaluate(sentences, ENTS, FEW)
    assert report.total.counts == Counts(gold=3, predicted=3, correct=1)
    assert report.scores["f1"] == pytest.approx(1 / 3)
    assert report.scores["accuracy"] == pytest.approx(3 / 6)
    assert report.total.to_dict()["false_positives"] == 2
    assert report.total.to_dict()["false_negatives"] == 2


def test_every_breakdown_adds_up_to_the_whole():
    settings = Settings(n_resamples=20, vocabulary=ByVocabulary("w1".__ne__, "w2".__ne__))
    report = evaluate(random_pairs(30, seed=3), TAG, settings)
    assert set(report.breakdowns) == {"label", "length", "vocabulary"}
    for breakdown in report.breakdowns.values():
        for name in ("gold", "predicted", "correct"):
            total = sum(getattr(row.counts, name) for row in breakdown.rows)
            assert total == getattr(report.total.counts, name)


def test_rows_by_length_are_in_order_with_empty_ones():
    report = evaluate([tagged("X " * 12, "X " * 12), tagged("X", "Y")], TAG, FEW)
    found = rows(report, "length")
    assert list(found) == ["1\u20134", "5\u20139", "10\u201319", "20\u201339", "40+"]
    assert [counts.gold for counts in found.values()] == [1, 0, 12, 0, 0]
    assert report.breakdowns["length"].rows[1].interval is None


def test_rows_by_vocabulary_are_those_of_the_words():
    settings = Settings(n_resamples=5, vocabulary=ByVocabulary("new".__ne__, "rare".__ne__))
    sentence = tagged("X X X", "X Y X", "old new rare")
    found = rows(evaluate([sentence], TAG, settings), "vocabulary")
    assert list(found) == ["IV", "OOTV", "OOEV", "OOBV"]
    assert found["IV"] == Counts(1, 1, 1)
    assert found["OOTV"] == Counts(1, 1, 0)
    assert found["OOEV"] == Counts(1, 1, 1)
    assert found["OOBV"] == Counts()


def test_recall_by_complexity_is_the_accuracy_on_gold_categories():
    sentence = tagged("N NP/N (S\\NP)/NP NP/N", "N N/N S\\NP NP/N")
    found = rows(evaluate([sentence], TAG, FEW), "complexity")
    assert {name: counts.recall for name, counts in found.items()} == {"1": 1, "2": 0.5, "3": 0}


def test_labels_that_are_no_categories_have_no_complexity():
    assert "complexity" not in evaluate([tagged("NN VB", "NN NN")], TAG, FEW).breakdowns


def test_intervals_lie_around_the_scores_and_shrink_with_more_sentences():
    few, many = (evaluate(random_pairs(n, seed=5), TAG, FEW) for n in (20, 320))
    widths = []
    for report in (few, many):
        low, high = report.intervals["f1"]
        assert low < report.scores["f1"] < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 2


def test_a_single_sentence_has_no_intervals():
    report = evaluate([tagged("X X", "X Y")], TAG, FEW)
    assert set(report.intervals.values()) == {report.total.interval} == {None}
    assert all(row.interval is None for row in report.breakdowns["label"].rows)
    assert report.to_dict()["intervals"]["f1"] is None
    assert report_tables(report)[0].rows[0] == ["precision", "50.00", "-"]


def test_groups_of_a_single_sentence_have_no_intervals():
    report = evaluate([tagged("X X", "X Y"), tagged("X Z", "Y Z")], TAG, FEW)
    found = {row.name: row.interval for row in report.breakdowns["label"].rows}
    assert found["X"] is not None
    assert found["Z"] is None


@pytest.mark.parametrize(
    ("n", "warning"),
    [
        (1, "Warning: only 1 sentence; bootstrap intervals need at least two."),
        (2, "Warning: only 2 sentences; bootstrap intervals are not reliable."),
        (19, "Warning: only 19 sentences; bootstrap intervals are not reliable."),
    ],
)
def test_few_sentences_are_warned_of(n: int, warning: str):
    report = evaluate([tagged("X", "X")] * n, TAG, FEW)
    assert warning in summary(report)
    assert warning in to_markdown([report], "Title")


def test_twenty_sentences_are_enough():
    assert "Warning" not in summary(evaluate([tagged("X", "X")] * 20, TAG, FEW))


def test_documents_without_annotation_are_counted():
    report = evaluate([tagged("X", "X")], TAG, FEW, n_docs=3)
    assert report.n_skipped == 2
    assert "2 documents without annotation" in summary(report)


def test_one_of_a_kind_is_counted_in_the_singular():
    report = evaluate([tagged("X", "Y")], TAG, FEW, n_docs=2)
    text = "1 document, 1 sentence, 1 token. 1 document without annotation was skipped."
    assert summary(report).startswith(text)
    assert "**Document 1, token 0: 1 mistake, 1 gold token**" in to_markdown([report], "Title")


def test_everything_wrong_is_zero_and_not_undefined():
    report = evaluate([spanned("a", [(0, 1, "X")], [])] * 2, ENTS, FEW)
    assert report.scores == {"precision": 0, "recall": 0, "f1": 0, "accuracy": 0}
    assert report.intervals["f1"] == (0.0, 0.0)


def test_json_has_all_of_it_and_nothing_but_json():
    report = evaluate(random_pairs(10, seed=1), TAG, FEW, component="tagger")
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["component"] == "tagger"
    assert {row["name"] for row in data["by_label"]} == {"X", "Y", "Z"}
    assert np.isclose(data["f1"], report.scores["f1"])
    assert sum(entry["count"] for entry in data["confusion"]) == report.n_tokens
    assert data["worst_sentences"][0]["mistakes"]


def test_json_of_groups_without_units_is_json():
    data = evaluate([tagged("X", "X")], TAG, FEW).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False))["by_length"][4]["f1_interval"] is None


def test_markdown_has_scores_and_escapes_words():
    report = evaluate([tagged("X Y", "X X", "*a* _b_c")], TAG, FEW)
    text = to_markdown([report], "Title")
    assert text.startswith("# Title\n")
    assert "| F1 | 50.00 |" in text
    assert "\\*a\\* \\[\\_b_c\\]" in text


def test_markdown_keeps_the_backslashes_of_categories():
    report = evaluate([tagged("S\\NP (S\\NP)\\NP", "S\\NP S/NP")], TAG, FEW)
    text = to_markdown([report], "Title")
    assert "| S\\\\NP | 100.00 |" in text
    assert "| (S\\\\NP)\\\\NP | S/NP | 1 |" in text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("-", "b"), "- \\- \\[b\\] X predicted as Y"),
        (("1.", "b"), "- 1\\. \\[b\\] X predicted as Y"),
        (("+", "~"), "- \\+ \\[\\~\\] X predicted as Y"),
        (("a", "\n\n"), "- a \\[\u2423\\] X predicted as Y"),
        (("a\nc", "<br>"), "- a c \\[\\<br\\>\\] X predicted as Y"),
    ],
)
def test_a_mistake_is_one_line_of_a_list_in_markdown(words: tuple[str, ...], line: str):
    report = evaluate([replace(tagged("X X", "X Y"), words=words)], TAG, FEW)
    assert line in to_markdown([report], "Title").splitlines()


def test_tables_have_rows_as_long_as_their_headers():
    for table in report_tables(evaluate(random_pairs(10, seed=2), TAG, FEW)):
        assert all(len(row) == len(table.header) for row in table.rows)


def test_labels_are_limited_to_the_frequent_ones():
    report = evaluate([tagged("X X Y Z Z Z", "X X Y Z Z Z")], TAG, FEW)
    by_label = report_tables(report, n_labels=2)[1]
    assert [row[0] for row in by_label.rows] == ["X", "Z"]
    assert "2 most frequent of 3" in by_label.title


def test_ties_round_as_in_the_scripts():
    # 23 of 160 is 14.375 %; the script's F1 of 1 of 1 and 63 is a little more than 3.125.
    report = evaluate([tagged("X " * 160, "X " * 23 + "Y " * 137)], TAG, FEW)
    total, labels = report_tables(report)[:2]
    assert {row[1] for row in total.rows} == {"14.38"}
    assert labels.rows[0][2] == "14.38"
    many = spanned("a " * 63, [(0, 1, "X")], [(i, i + 1, "X") for i in range(63)])
    (scores, *_) = report_tables(evaluate([many], ENTS, FEW))
    assert ["F1", "3.13"] in [row[:2] for row in scores.rows]


def test_a_layer_of_your_own_chooses_scores_and_groups():
    class Precise(EntsLayer):
        main_score, scores, groups = "precision", ("precision",), ("length",)

    sentences = [spanned("a b", [(0, 1, "LOC")], [(0, 1, label)]) for label in ("LOC", "PER")]
    report = evaluate(sentences, Precise(), FEW)
    assert (list(report.scores), list(report.breakdowns)) == (["precision"], ["length"])
    assert report.total.interval is not None
    confusions = report_tables(report)[-1]
    assert confusions.rows == [["LOC", "PER", "1", "50.0"]]
    assert "Confusion matrix" in to_html([report], "Title")
