"""Reliability diagrams and scores by threshold: what is in the image, and where."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from spacy_psa.analysis.axes import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from spacy_psa.evaluation.calibration import precision_recall_by_threshold, reliability
from spacy_psa.evaluation.reliability_plots import reliability_diagram, threshold_plot

SVG = "{http://www.w3.org/2000/svg}"
BEFORE = reliability([0.05] * 4 + [0.95] * 1000, [True] * 2 + [False] * 2 + [True] * 1000)
AFTER = reliability([0.35] * 10, [True] * 3 + [False] * 7)
DIAGRAMS = {"before <b>": BEFORE, "after & all": AFTER}


def drawn() -> ElementTree.Element:
    return ElementTree.fromstring(reliability_diagram(DIAGRAMS, "spans", "Title"))


def texts(image: ElementTree.Element) -> list[str]:
    return [node.text for node in image.iter(f"{SVG}text")]


def hinted(image: ElementTree.Element, tag: str) -> dict[str, ElementTree.Element]:
    """Points or bars, by tooltip."""
    return {
        node.find(f"{SVG}title").text: node
        for node in image.iter(f"{SVG}{tag}")
        if node.find(f"{SVG}title") is not None
    }


def place(node: ElementTree.Element) -> tuple[float, float]:
    x, y = re.match(r"translate\((\S+) (\S+)\)", node.get("transform")).groups()
    return float(x), float(y)


def test_points_lie_where_confidence_and_accuracy_are():
    width, height = WIDTH - RIGHT - LEFT, HEIGHT - BOTTOM - TOP
    expected = [(0.05, 0.5), (0.95, 1.0), (0.35, 0.3)]
    points = [place(node) for node in hinted(drawn(), "path").values()]
    assert len(points) == len(expected)
    for (x, y), (confidence, accuracy) in zip(points, expected, strict=True):
        assert x == pytest.approx(LEFT + confidence * width, abs=0.1)
        assert y == pytest.approx(HEIGHT - BOTTOM - accuracy * height, abs=0.1)


def test_points_and_bars_tell_their_numbers():
    image = drawn()
    points, bars = list(hinted(image, "path")), list(hinted(image, "rect"))
    assert points[0] == ("before <b>: 0 to 10 %, 4 spans, mean confidence 5 %, accuracy 50 %")
    assert bars == [
        "before <b>: 0 to 10 %, 4 spans",
        "before <b>: 90 to 100 %, 1000 spans",
        "after & all: 30 to 40 %, 10 spans",
    ]


def test_bars_grow_with_the_logarithm_and_stand_in_their_bins():
    few, many, other = hinted(drawn(), "rect").values()
    heights = np.array([float(bar.get("height")) for bar in (few, other, many)])
    logs = np.log10([4 / 0.5, 10 / 0.5, 1000 / 0.5])
    np.testing.assert_allclose(heights / heights[0], logs / logs[0], rtol=1e-3)
    width = (WIDTH - RIGHT - LEFT) / 10
    for bar, i in ((few, 0), (many, 9), (other, 3)):
        left = float(bar.get("x"))
        assert LEFT + i * width <= left
        assert left + float(bar.get("width")) <= LEFT + (i + 1) * width + 1e-3


def test_axes_units_and_legend_are_written():
    found = texts(drawn())
    for text in (
        "Title",
        "perfect calibration",
        "mean confidence of spans per bin (%)",
        "accuracy of spans per bin (%)",
        "spans per bin (log scale)",
        "confidence (%)",
        "1k",
    ):
        assert text in found
    # Once in the legend of the points, once in the legend of the bars
    assert [found.count(name) for name in DIAGRAMS] == [2, 2]


def test_curves_differ_by_more_than_colour():
    shapes = {node.get("d") for node in hinted(drawn(), "path").values()}
    assert len(shapes) == 2


def test_diagonal_is_dashed_and_goes_from_corner_to_corner():
    [diagonal] = [
        node
        for node in drawn().iter(f"{SVG}path")
        if node.get("d") == f"M{LEFT} {HEIGHT - BOTTOM}L{WIDTH - RIGHT} {TOP}"
    ]
    assert diagonal.get("stroke-dasharray")


def test_empty_bins_are_left_out_and_one_series_may_be_empty():
    image = ElementTree.fromstring(
        reliability_diagram({"a": AFTER, "b": reliability([], [])}, "tokens")
    )
    assert len(hinted(image, "path")) == len(hinted(image, "rect")) == 1


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match=r"\[P280\]"):
        reliability_diagram({"a": reliability([], [])}, "tokens")


def test_scores_by_threshold_are_drawn():
    curve = precision_recall_by_threshold(
        [0.2, 0.6, 0.9], [False, True, True], 4, thresholds=[0.0, 0.5, 0.95]
    )
    image = ElementTree.fromstring(threshold_plot(curve, "spans", "Scores"))
    assert {"precision", "recall", "F1", "Scores"} <= set(texts(image))
    hints = set(hinted(image, "path"))
    assert {"precision: 50, 100", "recall: 50, 50", "F1: 50, 66.67", "recall: 95, 0"} <= hints
    assert not any(hint.startswith("precision: 95") for hint in hints)
