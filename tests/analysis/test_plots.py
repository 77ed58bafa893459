"""Plots: what is in the image, and where."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from spacy_psa.analysis.axes import (
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    label,
    styles,
    text_width,
    ticks,
)
from spacy_psa.analysis.intervals import interval_plot
from spacy_psa.analysis.plots import NAME_SIZE, SLANT, bar_plot, line_plot, stack

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """The texts in an image."""
    return [node.text for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def hints(svg: str) -> dict[str, ElementTree.Element]:
    """The points and bars, by tooltip."""
    root = ElementTree.fromstring(svg)
    return {
        node.find(f"{SVG}title").text: node for node in root if node.find(f"{SVG}title") is not None
    }


def place(node: ElementTree.Element) -> tuple[float, float]:
    x, y = re.match(r"translate\((\S+) (\S+)\)", node.get("transform")).groups()
    return float(x), float(y)


def height(node: ElementTree.Element) -> float:
    return float(node.get("height"))


def test_points_lie_where_the_axes_say() -> None:
    svg = line_plot({"a": [(0, 10), (5, 15), (10, 20)]}, "epochs", "F1 (%)", "Title")
    low, middle, high = (place(node) for node in hints(svg).values())
    assert low[0] == pytest.approx(LEFT)
    assert high == pytest.approx((WIDTH - RIGHT, TOP))
    assert middle == pytest.approx(((low[0] + high[0]) / 2, (low[1] + high[1]) / 2), abs=0.1)
    assert low[1] > high[1]


def test_points_tell_their_values() -> None:
    svg = line_plot({"a": [(0.5, 93.25), (1, 94)]}, "epochs", "F1 (%)")
    assert list(hints(svg)) == ["a: 0.5, 93.25", "a: 1, 94"]


def test_labels_and_names_are_written() -> None:
    svg = line_plot({"BiLSTM & LAN": [(0, 1)], "<b>": [(1, 2)]}, "time (s)", "F1 (%)", "a < b")
    assert {"BiLSTM & LAN", "<b>", "time (s)", "F1 (%)", "a < b"} <= set(texts(svg))


def test_lines_differ_by_more_than_colour() -> None:
    looks = styles(20)
    assert len({(look.dash, look.mark) for look in looks}) == 20
    assert len(set(looks)) == 20


def test_whole_numbers_have_whole_ticks() -> None:
    svg = line_plot({"a": [(1, 0.5), (3, 0.7)]}, "epochs", "y")
    assert [text for text in texts(svg) if text in ("1", "1.5", "2", "2.5", "3")] == ["1", "2", "3"]


def test_numbers_that_are_not_finite_are_left_out() -> None:
    points = [(0.0, 1.0), (1.0, math.nan), (2.0, math.inf), (3.0, 2.0)]
    assert len(hints(line_plot({"a": points}, "x", "y"))) == 2


def test_one_point_is_a_plot() -> None:
    assert len(hints(line_plot({"a": [(0, 0)]}, "x", "y"))) == 1


def test_bands_lie_around_their_lines() -> None:
    points, band = [(0, 50), (1, 60)], [(40, 55), (50, 70)]
    svg = line_plot({"a": points}, "x", "y", bands={"a": band})
    (area,) = (n for n in ElementTree.fromstring(svg) if n.get("fill-opacity"))
    ys = [float(y) for _, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", area.get("d"))]
    points = [place(node)[1] for node in hints(svg).values()]
    assert ys[0] > points[0] > ys[3]
    assert ys[1] > points[1] > ys[2]


def test_lines_and_bands_do_not_go_across_breaks() -> None:
    points = [(float(x), 1.0) for x in (-2, -1, 1, 2)]
    series, bands = {"a": points}, {"a": [(0.0, 2.0)] * 4}

    def drawn(breaks: list[float]) -> list[list[str]]:
        """The segments of the line, and the bands."""
        svg = line_plot(series, "x", "y", bands=bands, breaks=breaks)
        assert len(hints(svg)) == 4
        nodes = list(ElementTree.fromstring(svg))
        lines = [n.get("d").split("M")[1:] for n in nodes if n.get("stroke-width") == "2"]
        return [lines[0], [n.get("d") for n in nodes if n.get("fill-opacity")]]

    assert [len(found) for found in drawn([])] == [1, 1]
    assert [len(found) for found in drawn([0.0])] == [2, 2]
    left, right = drawn([0.0])[0]
    assert left.count("L") == right.count("L") == 1
    # A break at a point or beyond the last one cuts nothing, and no point is lost.
    assert [len(found) for found in drawn([1.0, 5.0])] == [1, 1]


def test_a_band_of_another_length_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P281\].*'a' has 1 pairs.*2 points"):
        line_plot({"a": [(0, 1), (1, 2)]}, "x", "y", bands={"a": [(0, 1)]})


def test_axes_cover_what_is_asked_for() -> None:
    svg = line_plot({"a": [(0.4, 0.5), (0.6, 0.7)]}, "x", "y", x_range=(0, 1), y_range=(0, 1))
    assert {"0.0", "1.0"} <= set(texts(svg))


@pytest.mark.parametrize("series", [{}, {"a": []}, {"a": [(0, math.nan)]}])
def test_a_plot_of_nothing_is_an_error(series: dict) -> None:
    with pytest.raises(ValueError, match=r"\[P280\].*'Title'"):
        line_plot(series, "x", "y", "Title")
    with pytest.raises(ValueError, match=r"\[P280\].*'Title'"):
        bar_plot({name: dict(bars) for name, bars in series.items()}, "x", "y", "Title")


def test_bars_are_as_high_as_their_values() -> None:
    svg = bar_plot({"a": {"PER": 80, "LOC": 40}, "b": {"LOC": 20}}, "type", "F1 (%)")
    bars = hints(svg)
    assert list(bars) == ["a, PER: 80", "a, LOC: 40", "b, LOC: 20"]
    heights = [height(bar) for bar in bars.values()]
    assert heights == pytest.approx([heights[0], heights[0] / 2, heights[0] / 4], rel=1e-3)


def test_bars_do_not_overlap() -> None:
    bars = hints(bar_plot({n: {"x": 1, "y": 2, "z": 3} for n in "abc"}, "type", "n")).values()
    spans = sorted((float(b.get("x")), float(b.get("x")) + float(b.get("width"))) for b in bars)
    assert len(spans) == 9
    assert all(end <= start + 0.1 for (_, end), (start, _) in pairwise(spans))


def test_negative_bars_hang_below_zero() -> None:
    up, down = hints(bar_plot({"a": {"x": 1, "y": -1}}, "type", "n")).values()
    assert float(up.get("y")) + height(up) == pytest.approx(float(down.get("y")), abs=0.1)


def test_bars_may_have_whiskers() -> None:
    without = bar_plot({"a": {"x": 50}}, "t", "F1 (%)")
    with_one = bar_plot({"a": {"x": 50}}, "t", "F1 (%)", intervals={"a": {"x": (45, 60)}})
    assert with_one.count("<path") == without.count("<path") + 1 + 1
    assert "60" in texts(with_one)


def test_long_names_of_categories_are_shortened() -> None:
    svg = bar_plot({"a": {f"a very long label {i}": i for i in range(20)}}, "t", "n")
    assert "a very l…label 0" in texts(svg)


@pytest.mark.parametrize("name", ["R-ARGM-T{}", "VERY_LONG_LABEL_{}"])
def test_slanted_names_are_all_different_and_end_above_that_of_the_axis(name: str) -> None:
    names = [name.format(i) for i in range(10, 34)]
    bars = bar_plot({"": dict.fromkeys(names, 1.0)}, "label", "n")
    points = interval_plot(dict.fromkeys(names, 1.0), {}, "label", "n")
    for svg in (bars, points):
        image = ElementTree.fromstring(svg)
        slanted = [n for n in image.iter(f"{SVG}text") if n.get("font-size") == str(NAME_SIZE)]
        assert len({node.text for node in slanted}) == len(names)
        [below] = [n for n in image.iter(f"{SVG}text") if n.text == "label"]
        for node in slanted:
            # The name is rotated around its end, so that its first letter is the lowest.
            length = text_width(node.text, NAME_SIZE)
            depth = math.sin(math.radians(SLANT)) * length
            assert float(node.get("y")) + depth < float(below.get("y")) - 12
            assert float(node.get("x")) > math.cos(math.radians(SLANT)) * length
        assert float(below.get("y")) < float(image.get("height"))


def test_names_that_have_room_are_not_slanted() -> None:
    image = ElementTree.fromstring(bar_plot({"": {"PER": 1, "LOC": 2}}, "label", "n"))
    assert not [n for n in image.iter(f"{SVG}text") if n.get("font-size") == str(NAME_SIZE)]
    assert image.get("height") == str(HEIGHT)


def test_long_legends_go_on_in_the_next_row() -> None:
    few = line_plot({"a": [(0, 1)]}, "x", "y")
    many = line_plot({f"a run with a long name {i}": [(0, i)] for i in range(9)}, "x", "y")
    tall = [int(ElementTree.fromstring(svg).get("height")) for svg in (few, many)]
    assert tall[1] > tall[0] > HEIGHT
    right = [float(n.get("x")) for n in ElementTree.fromstring(many).iter(f"{SVG}text")]
    assert max(right) < WIDTH


def test_stacked_images_lie_below_each_other() -> None:
    images = [line_plot({"a": [(0, i)]}, "x", "y", f"<{i}>") for i in range(3)]
    root = ElementTree.fromstring(stack(images))
    parts = root.findall(f"{SVG}svg")
    heights = [int(part.get("height")) for part in parts]
    assert [int(part.get("y")) for part in parts] == [0, heights[0], sum(heights[:2])]
    assert int(root.get("height")) == sum(heights)
    assert root.find(f"{SVG}title").text == "<0>; <1>; <2>"


def test_images_load_nothing() -> None:
    svg = line_plot({"a": [(0, 1)]}, "x", "y") + bar_plot({"a": {"x": 1}}, "x", "y")
    assert "href" not in svg
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"] * 2


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (0.3, 0.31), (-5, 5), (0, 1e9), (93.1, 94.9), (2, 2), (0, 0), (-3, -3)],
)
def test_ticks_cover_the_range_in_equal_round_steps(low: float, high: float) -> None:
    found = ticks(low, high)
    steps = [b - a for a, b in pairwise(found)]
    assert found[0] <= low
    assert found[-1] >= high
    assert 1 <= len(steps) <= 7
    assert steps == pytest.approx([steps[0]] * len(steps))
    mantissa = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-9)
    assert any(mantissa == pytest.approx(round_) for round_ in (1, 2, 2.5, 5))


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (0.5, 0.25, "0.50"),
        (2.0, 1.0, "2"),
        (-1.0, 0.5, "−1.0"),
        (2e6, 1e6, "2e+06"),
        (-0.0, 1, "0"),
    ],
)
def test_numbers_are_as_precise_as_the_axis(value: float, step: float, text: str) -> None:
    assert label(value, step) == text
