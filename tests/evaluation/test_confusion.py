from __future__ import annotations

from spacy_psa.evaluation.confusion import confusion, matched
from spacy_psa.evaluation.layers import Unit

from .helpers import spanned, tagged


def test_tags_are_taken_for_each_other():
    result = confusion([tagged("X X Y", "X Y Y"), tagged("Z", "Y")])
    assert dict(result.counts) == {
        ("X", "X"): 1,
        ("X", "Y"): 1,
        ("Y", "Y"): 1,
        ("Z", "Y"): 1,
    }


def test_spans_of_other_boundaries_are_missed_and_invented():
    result = confusion(
        [spanned("a b c d", [(0, 2, "NP"), (3, 4, "VP")], [(0, 1, "NP"), (3, 4, "PP")])]
    )
    assert dict(result.counts) == {("NP", ""): 1, ("", "NP"): 1, ("VP", "PP"): 1}


def test_the_same_label_is_paired_first():
    gold = [Unit(0, 1, "A"), Unit(0, 1, "B")]
    predicted = [Unit(0, 1, "B"), Unit(0, 1, "C")]
    assert matched(gold, predicted) == [(gold[0], "A", "C"), (gold[1], "B", "B")]


def test_units_of_other_anchors_are_not_paired():
    gold, predicted = Unit(0, 1, "A0", anchor=2), Unit(0, 1, "A0", anchor=5)
    assert matched([gold], [predicted]) == [(gold, "A0", None), (predicted, None, "A0")]


def test_labels_are_ordered_by_frequency():
    result = confusion([tagged("X Y Y Y Z Z", "X Y Y Y Z Z")])
    assert result.labels() == ["Y", "Z", "X"]
    assert result.labels(1) == ["Y"]


def test_worst_confusions_come_first_and_right_ones_not_at_all():
    result = confusion([tagged("X X X Y Z", "X Y Y X Z")])
    assert result.worst() == [("X", "Y", 2), ("Y", "X", 1)]
    assert result.worst(1) == [("X", "Y", 2)]


def test_json_says_nothing_where_there_is_nothing():
    result = confusion([spanned("a b", [(0, 1, "NP")], [(1, 2, "VP")])])
    assert result.to_dict() == [
        {"gold": None, "predicted": "VP", "count": 1},
        {"gold": "NP", "predicted": None, "count": 1},
    ]
