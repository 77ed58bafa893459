"""Reliability diagrams and scores by threshold: what is in the image, and where."""

from __future__ import annotations

import pytest

from spacy_psa.calibration.reliability import (
    precision_recall_by_threshold,
    reliability,
    reliability_diagram,
    threshold_plot,
)
from spacy_psa.figures.style import HEIGHT, WIDTH

from ..figures.reading import marks, place, texts

BEFORE = reliability([0.05] * 4 + [0.95] * 1000, [True] * 2 + [False] * 2 + [True] * 1000)
AFTER = reliability([0.35] * 10, [True] * 3 + [False] * 7)
DIAGRAMS = {"before <b>": BEFORE, "after & all": AFTER}


def test_points_lie_where_confidence_and_accuracy_are() -> None:
    svg = reliability_diagram(DIAGRAMS, "spans", "Title")
    found = [place(node) for node in marks(svg, "point").values()]
    # Not of the bin of four spans, whose accuracy is mostly chance
    expected = [(0.95, 1.0), (0.35, 0.3)]
    assert found == [pytest.approx((WIDTH * x, HEIGHT * (1 - y)), abs=0.01) for x, y in expected]


def test_small_bins_have_points_if_there_are_no_others() -> None:
    few = reliability([0.05] * 4, [True] * 2 + [False] * 2)
    svg = reliability_diagram({"a": few}, "spans")
    assert len(marks(svg, "point")) == 1 and "bins of" not in svg


def test_bars_tell_their_bins_and_counts() -> None:
    assert list(marks(reliability_diagram(DIAGRAMS, "spans"), "bar")) == [
        "confidence (%): 0–10; spans per bin (log scale): 4; series: before <b>",
        "confidence (%): 90–100; spans per bin (log scale): 1,000; series: before <b>",
        "confidence (%): 30–40; spans per bin (log scale): 10; series: after & all",
    ]


def test_axes_units_and_legend_are_written() -> None:
    found = texts(reliability_diagram(DIAGRAMS, "spans", "Title"))
    assert {
        "Title",
        "perfect calibration",
        "mean confidence of spans per bin (%); bins of 10 or more",
        "accuracy of spans per bin (%)",
        "spans per bin (log scale)",
        "confidence (%)",
        "1,000",
    } <= set(found)
    # Once in the legend of the points, once in the legend of the bars
    assert [found.count(name) for name in DIAGRAMS] == [2, 2]


def test_empty_bins_are_left_out_and_one_series_may_be_empty() -> None:
    svg = reliability_diagram({"a": AFTER, "b": reliability([], [])}, "tokens")
    assert len(marks(svg, "point")) == len(marks(svg, "bar")) == 1


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P280\]"):
        reliability_diagram({"a": reliability([], [])}, "tokens")


def test_scores_by_threshold_are_drawn() -> None:
    curve = precision_recall_by_threshold(
        [0.2, 0.6, 0.9], [False, True, True], 4, thresholds=[0.0, 0.5, 0.95]
    )
    svg = threshold_plot(curve, "spans", "Scores")
    assert {"precision", "recall", "F1", "Scores"} <= set(texts(svg))
    at_half = {m.split("; ")[-2] + m.split("(%)")[-1] for m in marks(svg, "point") if ": 50;" in m}
    told = " ".join(at_half)
    assert "precision" in told and "66.66" in told
    points = [name for name in marks(svg, "point") if ": 95;" in name]
    assert points and not any("precision" in name for name in points)
