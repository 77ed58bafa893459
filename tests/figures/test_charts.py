"""Charts: what is in the image, and where."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from spacy_psa.figures.charts import bar_plot, interval_plot, line_plot
from spacy_psa.figures.style import HEIGHT, WIDTH

from .reading import curves, extent, marks, place, texts


def test_points_lie_where_the_axes_say() -> None:
    svg = line_plot({"a": [(0, 10), (5, 15), (10, 20)]}, "epochs", "F1 (%)", "Title")
    low, middle, high = map(place, marks(svg, "point").values())
    assert low == (0.0, HEIGHT) and high == (WIDTH, 0.0)
    assert middle == pytest.approx((WIDTH / 2, HEIGHT / 2))


def test_points_tell_their_values() -> None:
    svg = line_plot({"a": [(0.5, 93.25), (1, 94)]}, "epochs", "F1 (%)")
    first, second = marks(svg, "point")
    assert first.startswith("epochs: 0.5; F1 (%): 93.25; series: a")
    assert second.startswith("epochs: 1; F1 (%): 94; series: a")


def test_labels_and_names_are_written_once() -> None:
    svg = line_plot({"BiLSTM & LAN": [(0, 1)], "<b>": [(1, 2)]}, "time (s)", "F1 (%)", "a < b")
    found = texts(svg)
    assert all(found.count(text) == 1 for text in ("BiLSTM & LAN", "<b>", "time (s)", "a < b"))


def test_lines_differ_by_more_than_colour() -> None:
    svg = line_plot({str(i): [(0, i), (1, i)] for i in range(4)}, "x", "y")
    assert len({node.get("d") for node in marks(svg, "point").values()}) == 4
    assert len(set(filter(None, (part.partition('"')[0] for part in svg.split('dasharray="'))))) > 3


def test_whole_numbers_have_whole_ticks() -> None:
    found = texts(line_plot({"a": [(1, 0.5), (3, 0.7)]}, "epochs", "y"))
    assert [text for text in found if text in ("1", "1.5", "2", "2.5", "3")] == ["1", "2", "3"]


def test_numbers_that_are_not_finite_are_left_out() -> None:
    points = [(0.0, 1.0), (1.0, math.nan), (2.0, math.inf), (3.0, 2.0)]
    assert len(marks(line_plot({"a": points}, "x", "y"), "point")) == 2
    assert len(marks(bar_plot({"a": {"x": 1.0, "y": math.nan}}, "x", "y"), "bar")) == 1
    assert len(marks(interval_plot({"x": 1.0, "y": math.nan}, {}, "x", "y"), "point")) == 1


def test_one_point_is_a_plot() -> None:
    assert [place(n) for n in marks(line_plot({"a": [(0, 0)]}, "x", "y"), "point").values()] == [
        (WIDTH / 2, HEIGHT / 2)
    ]


def test_bands_lie_around_their_lines() -> None:
    svg = line_plot({"a": [(0, 50), (1, 60)]}, "x", "y", bands={"a": [(40, 55), (50, 70)]})
    [band] = curves(svg, "mark-area")
    ends = [tuple(map(float, part.split(","))) for part in band.strip("MZ").split("L")]
    (_, first), (_, second) = map(place, marks(svg, "point").values())
    at_first = sorted(y for x, y in ends if x == 0)
    at_second = sorted(y for x, y in ends if x == WIDTH)
    assert at_first[0] < first < at_first[-1] and at_second[0] < second < at_second[-1]


@pytest.mark.parametrize(("breaks", "n"), [([], 1), ([0.0], 2), ([5.0], 1)])
def test_lines_and_bands_do_not_go_across_breaks(breaks: list[float], n: int) -> None:
    series, bands = {"a": [(x, 1.0) for x in (-2.0, -1.0, 1.0, 2.0)]}, {"a": [(0.0, 2.0)] * 4}
    svg = line_plot(series, "x", "y", bands=bands, breaks=breaks)
    assert len(marks(svg, "point")) == 4
    assert len(curves(svg)) == len(curves(svg, "mark-area")) == n


def test_a_band_of_another_length_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P281\].*'a' has 1 pairs.*2 points"):
        line_plot({"a": [(0, 1), (1, 2)]}, "x", "y", bands={"a": [(0, 1)]})


def test_axes_cover_what_is_asked_for_and_the_values() -> None:
    points = {"a": [(0.5, 0.5), (0.6, 1.5)]}
    svg = line_plot(points, "x", "y", x_range=(0, 1), y_range=(0, 1))
    assert {"0.0", "1.0", "1.4"} <= set(texts(svg))
    first, second = map(place, marks(svg, "point").values())
    assert first[0] == pytest.approx(WIDTH / 2) and second[1] >= 0.0


def test_the_diagonal_has_its_name_and_no_points() -> None:
    svg = line_plot(
        {"a": [(20, 30)]}, "x", "y", x_range=(0, 100), y_range=(0, 100), diagonal="ideal"
    )
    assert "ideal" in texts(svg)
    assert len(marks(svg, "point")) == 1
    assert f"M0,{HEIGHT}L{WIDTH},0" in "".join(curves(svg))


@pytest.mark.parametrize("series", [{}, {"a": {}}, {"a": {"x": math.nan}}])
def test_a_plot_of_nothing_is_an_error(series: dict) -> None:
    points = {name: [(0.0, y) for y in bars.values()] for name, bars in series.items()}
    with pytest.raises(ValueError, match=r"\[P280\].*'Title'"):
        line_plot(points, "x", "y", "Title")
    with pytest.raises(ValueError, match=r"\[P280\].*'Title'"):
        bar_plot(series, "x", "y", "Title")
    with pytest.raises(ValueError, match=r"\[P280\].*'Title'"):
        interval_plot(series.get("a", {}), {}, "x", "y", "Title")


def test_bars_are_as_high_as_their_values() -> None:
    svg = bar_plot({"a": {"PER": 80, "LOC": 40}, "b": {"LOC": 20}}, "type", "F1 (%)")
    bars = marks(svg, "bar")
    assert [name.partition(";")[0] for name in bars] == ["type: PER", "type: LOC", "type: LOC"]
    heights = [bottom - top for _, top, _, bottom in map(extent, bars.values())]
    assert heights == pytest.approx([heights[0], heights[0] / 2, heights[0] / 4])


def test_bars_do_not_overlap() -> None:
    svg = bar_plot({n: {"x": 1, "y": 2, "z": 3} for n in "abc"}, "type", "n")
    spans = sorted((left, right) for left, _, right, _ in map(extent, marks(svg, "bar").values()))
    assert len(spans) == 9
    assert all(end <= start + 0.1 for (_, end), (start, _) in pairwise(spans))


def test_negative_bars_hang_below_zero() -> None:
    up, down = map(extent, marks(bar_plot({"a": {"x": 1, "y": -1}}, "t", "n"), "bar").values())
    assert up[3] == pytest.approx(down[1]) and down[3] == HEIGHT


def test_bars_begin_where_a_range_above_zero_does() -> None:
    svg = bar_plot({"a": {"x": 90.0, "y": 95.0}}, "t", "n", y_range=(80.0, 100.0))
    low, high = map(extent, marks(svg, "bar").values())
    assert low[3] == high[3] == HEIGHT
    assert high[3] - high[1] == pytest.approx(1.5 * (low[3] - low[1]))


def test_bars_grow_with_the_logarithm_of_counts_and_one_is_visible() -> None:
    svg = bar_plot({"a": {"x": 1.0, "y": 1000.0, "z": 0.0}}, "t", "n", logarithmic=True)
    few, many = (bottom - top for _, top, _, bottom in map(extent, marks(svg, "bar").values()))
    assert few / many == pytest.approx(math.log(2) / math.log(2000))
    assert {"x", "y", "z", "1,000"} <= set(texts(svg))


def test_axes_of_counts_end_with_a_tick() -> None:
    for most, tick in ((1.0, "1"), (100.0, "100"), (341.0, "1,000")):
        svg = bar_plot({"a": {"x": 1.0, "y": most}}, "t", "n", logarithmic=True)
        assert tick in texts(svg)


@pytest.mark.parametrize("draw", [bar_plot, interval_plot])
def test_values_may_have_whiskers(draw: object) -> None:
    values, ends = {"x": 50.0, "y": 40.0}, {"x": (45.0, 60.0)}
    if draw is bar_plot:
        svg = bar_plot({"a": values}, "t", "F1", intervals={"a": ends})
    else:
        svg = interval_plot(values, ends, "t", "F1", legend="F1 with interval")
        assert "F1 with interval" in texts(svg)
    assert svg.count('aria-roledescription="rule mark"') == 1
    assert svg.count('aria-roledescription="tick"') == 2


@pytest.mark.parametrize("name", ["R-ARGM-T{}", "VERY_LONG_LABEL_{}"])
def test_names_without_room_are_slanted_and_all_different(name: str) -> None:
    names = [name.format(i) for i in range(10, 34)]
    found = texts(bar_plot({"": dict.fromkeys(names, 1.0)}, "label", "n"))
    shown = [text for text in found if text.startswith(name[:4])]
    assert len(set(shown)) == len(names) and max(map(len, shown)) <= 16


def test_names_that_have_room_stand_as_they_are() -> None:
    found = texts(bar_plot({"": {"a name of some length": 1, "LOC": 2}}, "label", "n"))
    assert {"a name of some length", "LOC"} <= set(found)


def test_a_series_without_a_name_has_no_legend() -> None:
    assert "role-legend" not in bar_plot({"": {"x": 1}}, "x", "y")
    assert "role-legend" in bar_plot({"a": {"x": 1}}, "x", "y")
