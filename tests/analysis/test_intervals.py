from __future__ import annotations

from xml.etree import ElementTree

import pytest

from spacy_psa.analysis.intervals import interval_plot

SVG = "{http://www.w3.org/2000/svg}"
VALUES = {"short": 90.0, "long": 94.0}
INTERVALS = {"short": (85.0, 96.0), "long": (93.5, 94.5)}


def drawn(**settings: object) -> ElementTree.Element:
    return ElementTree.fromstring(interval_plot(VALUES, INTERVALS, "length", "F1 (%)", **settings))


def points(image: ElementTree.Element) -> list[tuple[float, float]]:
    """The positions of the points, without the one in the legend, which has no tooltip."""
    circles = [c for c in image.iter(f"{SVG}circle") if c.find(f"{SVG}title") is not None]
    return [(float(c.get("cx")), float(c.get("cy"))) for c in circles]


def test_greater_values_are_higher_and_categories_in_order():
    (left, low), (right, high) = points(drawn())
    assert left < right
    assert high < low


def test_points_tell_their_numbers():
    titles = [c.find(f"{SVG}title").text for c in drawn().iter(f"{SVG}circle")]
    assert titles == ["short: 90 (85 to 96)", "long: 94 (93.5 to 94.5)"]


def test_axes_and_legend_are_named():
    found = [node.text for node in drawn(title="Title", legend="F1").iter(f"{SVG}text")]
    assert {"Title", "length", "F1 (%)", "F1", "short", "long"} <= set(found)


def test_axis_covers_the_intervals():
    ticks = [node.text for node in drawn().iter(f"{SVG}text") if node.text.isdigit()]
    assert min(map(int, ticks)) <= 85
    assert max(map(int, ticks)) >= 96


def test_values_that_are_not_known_have_no_point_but_a_name():
    svg = interval_plot({"a": 1.0, "b": float("nan")}, {}, "x", "y")
    image = ElementTree.fromstring(svg)
    assert len(points(image)) == 1
    assert "b" in [node.text for node in image.iter(f"{SVG}text")]


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match=r"\[P280\]"):
        interval_plot({"a": float("nan")}, {}, "x", "y")
