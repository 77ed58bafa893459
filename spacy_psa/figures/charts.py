"""Charts of lines, bars and intervals, drawn with Altair and rendered to SVG."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from ..errors import Errors
from ..printable import printable, width_of
from .images import to_svg
from .style import COLORS, DASHES, GRAY, HEIGHT, LIGHT, MARKS, WIDTH, shorten

SLANT = -60  # the angle of category names that have little space
MOST_TICKS = 10  # on the axis of whole numbers
CHARACTER = 6.8  # the mean width of a letter in pixels

Y = ["y", "low", "high"]

Point = tuple[float, float]


def line_plot(
    series: Mapping[str, Sequence[Point]],
    x_label: str,
    y_label: str,
    title: str = "",
    *,
    bands: Mapping[str, Sequence[Point]] | None = None,
    x_range: Point | None = None,
    y_range: Point | None = None,
    diagonal: str = "",
    breaks: Sequence[float] = (),
    owners: Mapping[str, str] | None = None,
) -> str:
    """Draw lines through points.

    series (Mapping[str, Sequence[Tuple[float, float]]]): The points (x, y) of each line, by its
        name in the legend. Points with non-finite numbers are skipped.
    x_label (str): The label of the x axis, with its unit, if any, e.g. "time (s)".
    y_label (str): The label of the y axis, with its unit.
    title (str): The title.
    bands (Optional[Mapping[str, Sequence[Tuple[float, float]]]]): The lower and upper ends of a
        band around the points, e.g. a confidence interval, for some or all lines.
    x_range (Optional[Tuple[float, float]]): The range that the x axis must cover, in addition to
        the points.
    y_range (Optional[Tuple[float, float]]): The same for the y axis.
    diagonal (str): The meaning of the line y = x, as in reliability diagrams; empty to draw none.
    breaks (Sequence[float]): Positions on the x axis at which lines and bands are interrupted,
        because there are no values.
    owners (Optional[Mapping[str, str]]): What each line belongs to, such as a training run. The
        lines of one have its color and marker, which are the same in all charts that are drawn with
        the same owners in the same order. Lines that are not listed come after those.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no point to draw, or a band does not have one pair per point.
    """
    rows: list[dict[str, Any]] = []
    for name, points in series.items():
        around = (bands or {}).get(name)
        if around is not None and len(around) != len(points):
            raise ValueError(Errors.P281.format(name=name, n=len(around), expected=len(points)))
        for i, (x, y) in enumerate(points):
            if math.isfinite(x) and math.isfinite(y):
                piece = sum(x > place for place in breaks)  # the part of the line between breaks
                ends = {} if around is None else {"low": around[i][0], "high": around[i][1]}
                rows.append({"series": name, "x": x, "y": y, "piece": piece, **ends})
    if not rows:
        raise ValueError(Errors.P280.format(title=title or y_label))
    looks = _looks(series, owners or {})
    if diagonal:
        rows += _diagonal(rows, x_range, y_range, diagonal)
        looks[diagonal] = (GRAY, [6, 4], "stroke")
    colors, dashes, marks = zip(*looks.values(), strict=True)
    scale = _scale(rows, ["x"], *(x_range or ()))
    # A few whole numbers, such as epochs, have no ticks between them.
    low, high = scale["domain"]
    whole = high - low <= MOST_TICKS and all(row["x"] == int(row["x"]) for row in rows)
    values = list(range(int(low), int(high) + 1)) if whole else alt.Undefined
    form = "d" if whole else alt.Undefined
    axis = alt.Axis(grid=False, labelFlush=False, values=values, format=form)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:Q", title=x_label, scale=scale, axis=axis),
        y=alt.Y("y:Q", title=y_label, scale=_scale(rows, Y, *(y_range or ()))),
        color=_by_series(alt.Color, looks, colors),
        detail="piece:N",
    )
    bounded = base.transform_filter("isValid(datum.low)")
    dashed = _by_series(alt.StrokeDash, looks, dashes)
    if len({(color, mark) for color, _, mark in looks.values()}) == len(looks):
        # Without a scale, the legend does not dash the outlines of the markers.
        dashed = alt.StrokeDashValue(
            condition=[
                {"test": f"datum.series == {json.dumps(name)}", "value": dash}
                for name, (_, dash, _) in looks.items()
            ],
            value=[1, 0],
        )
    points = base.transform_filter("isValid(datum.piece)").mark_point(filled=True, size=45)
    layers = [
        bounded.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(strokeDash=dashed),
        points.encode(shape=_by_series(alt.Shape, looks, marks), opacity=alt.value(1.0)),
    ]
    return _finish(layers if bands else layers[1:], title, y_label)


def bar_plot(
    series: Mapping[str, Mapping[str, float]],
    x_label: str,
    y_label: str,
    title: str = "",
    *,
    intervals: Mapping[str, Mapping[str, Point]] | None = None,
    y_range: Point | None = None,
    logarithmic: bool = False,
) -> str:
    """Draw grouped bars.

    series (Mapping[str, Mapping[str, float]]): The value of each category, by the name of the
        series in the legend. Categories are in order of first occurrence; a series can lack some,
        and non-finite values have no bar.
    x_label (str): The label of the categories.
    y_label (str): The label of the y axis, with its unit, if any.
    title (str): The title.
    intervals (Optional[Mapping[str, Mapping[str, Tuple[float, float]]]]): The lower and upper ends
        of whiskers, e.g. a confidence interval, for some or all bars.
    y_range (Optional[Tuple[float, float]]): The range that the y axis must cover, in addition to
        the values. Bars start at 0, or at the lower end of this range if that is greater.
    logarithmic (bool): Whether the y axis is logarithmic, for counts. Bars then start at 1/2, so
        that a count of 1 has one.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no bar to draw.
    """
    categories = list(dict.fromkeys(name for bars in series.values() for name in bars))
    rows = [
        {"series": name, "category": category, "y": value, **_ends(intervals, name, category)}
        for name, bars in series.items()
        for category, value in bars.items()
        if math.isfinite(value) and not (logarithmic and value <= 0.0)
    ]
    if not rows:
        raise ValueError(Errors.P280.format(title=title or y_label))
    scale, axis = _scale(rows, Y, *(y_range or (0.0,))), alt.Axis()
    start = max(0.0, scale["domain"][0])
    if logarithmic:
        start = 0.5
        # Up to a power of ten, so that the axis ends with a tick
        digits = max(0, math.ceil(math.log10(scale["domain"][1])))
        scale = alt.Scale(type="log", domain=[start, 10**digits])
        axis = alt.Axis(values=[10**n for n in range(digits + 1)], format=",d")
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=_categories(categories, x_label),
        xOffset=alt.XOffset("series:N", sort=list(series)),
        y=alt.Y("y:Q", title=y_label, scale=scale, axis=axis),
    )
    drawn = base.mark_bar(stroke="#ffffff").encode(
        y2=alt.Y2Datum(start), color=_color(list(series))
    )
    return _finish([drawn, *_whiskers(base, rows)], title, y_label)


def interval_plot(
    values: Mapping[str, float],
    intervals: Mapping[str, Point],
    x_label: str,
    y_label: str,
    title: str = "",
    *,
    legend: str = "",
) -> str:
    """Draw a point with whiskers for each category. Unlike bars, points do not require an axis that
    starts at 0, which makes intervals easier to see.

    values (Mapping[str, float]): The value of each category, in order. Non-finite values have no
        point.
    intervals (Mapping[str, Tuple[float, float]]): The lower and upper ends of the intervals, for
        some or all categories.
    x_label (str): The label of the categories.
    y_label (str): The label of the y axis, with its unit.
    title (str): The title.
    legend (str): The meaning of points and whiskers; empty for no legend.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no point to draw.
    """
    rows = [
        {"series": legend, "category": name, "y": y, **_ends({"": intervals}, "", name)}
        for name, y in values.items()
        if math.isfinite(y)
    ]
    if not rows:
        raise ValueError(Errors.P280.format(title=title or y_label))
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=_categories(list(values), x_label),
        y=alt.Y("y:Q", title=y_label, scale=_scale(rows, Y)),
    )
    points = base.mark_point(filled=True, size=64, opacity=1.0).encode(color=_color([legend]))
    return _finish([*_whiskers(base, rows), points], title, y_label)


def _scale(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], *more: float) -> alt.Scale:
    """A scale over the values of some columns, and over more numbers."""
    values = [*(row[key] for row in rows for key in keys if key in row), *more]
    low, high = min(values), max(values)
    pad = 0.0 if low < high else abs(low) * 0.1 or 1.0
    return alt.Scale(domain=[low - pad, high + pad], nice=True, zero=False)


def _ends(
    intervals: Mapping[str, Mapping[str, Point]] | None, name: str, category: str
) -> dict[str, float]:
    found = (intervals or {}).get(name, {}).get(category)
    return {} if found is None else {"low": found[0], "high": found[1]}


def _whiskers(base: alt.Chart, rows: Sequence[Mapping[str, Any]]) -> list[alt.Chart]:
    if not any("low" in row for row in rows):
        return []
    known = base.transform_filter("isValid(datum.low)")
    ends = [
        known.mark_tick(color="#222222", size=7).encode(y=f"{end}:Q") for end in ("low", "high")
    ]
    return [known.mark_rule(color="#222222").encode(y="low:Q", y2="high:Q"), *ends]


def _categories(names: Sequence[str], label: str) -> alt.X:
    """The axis of categories, whose names are slanted where they have little space."""
    names = [printable(name) for name in names]
    space = WIDTH / len(names)
    is_slanted = CHARACTER * max(map(width_of, names)) > space
    shown = {name: shorten(name) if is_slanted else name for name in names}
    return alt.X(
        "category:N",
        title=label,
        scale=alt.Scale(domain=names),
        axis=alt.Axis(
            grid=False,
            labelAngle=SLANT if is_slanted else 0,
            labelLimit=0,
            labelOverlap=False,
            labelExpr=f"({json.dumps(shown)})[datum.value]",
        ),
    )


def _looks(
    series: Iterable[str], owners: Mapping[str, str]
) -> dict[str, tuple[str, list[int], str]]:
    """The color, dashes and marker of each line."""
    names = {name: owners.get(name, name) for name in series}
    order = list(dict.fromkeys([*owners.values(), *names.values()]))
    looks = {name: _look(order.index(owner)) for name, owner in names.items()}
    if len(set(names.values())) == len(names):
        return looks
    # Only dashes distinguish the lines of one owner
    kinds = Counter[str]()
    for name, owner in names.items():
        color, _, mark = looks[name]
        looks[name] = color, DASHES[kinds[owner] % len(DASHES)], mark
        kinds[owner] += 1
    return looks


def _look(i: int) -> tuple[str, list[int], str]:
    return COLORS[i % len(COLORS)], DASHES[i % len(DASHES)], MARKS[i % len(MARKS)]


def _by_series(channel: Any, names: Iterable[str], values: Sequence[Any]) -> Any:
    """An encoding of the series, with a legend unless there is only one without a name."""
    domain = list(names)
    legend = alt.Legend(title=None, symbolOpacity=1.0) if any(domain) else None
    return channel("series:N", scale=alt.Scale(domain=domain, range=list(values)), legend=legend)


def _color(names: Iterable[str]) -> alt.Color:
    return _by_series(alt.Color, names, [_look(i)[0] for i, _ in enumerate(names)])


def _diagonal(
    rows: Sequence[Mapping[str, Any]], x_range: Point | None, y_range: Point | None, name: str
) -> list[dict[str, Any]]:
    """The ends of the line y = x, as far as the axes reach."""
    xs = [*(row["x"] for row in rows), *(x_range or ())]
    ys = [*(row["y"] for row in rows), *(y_range or ())]
    ends = max(min(xs), min(ys)), min(max(xs), max(ys))
    return [{"series": name, "x": end, "y": end} for end in ends]


def _finish(layers: Sequence[alt.Chart], title: str, y_label: str) -> str:
    chart = alt.layer(*layers, width=WIDTH, height=HEIGHT, title=title or alt.Undefined)
    return to_svg(configure(chart), title or y_label)


def configure(chart: Any) -> Any:
    """Give a chart the look of all figures."""
    return (
        chart.configure(font="sans-serif", background="#ffffff", padding=10)
        .configure_title(fontSize=14)
        .configure_axis(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            gridColor=LIGHT,
            domainColor=GRAY,
            tickColor=GRAY,
        )
        .configure_legend(
            orient="bottom",
            direction="horizontal",
            columns=2,
            labelFontSize=12,
            labelLimit=0,
            titleFontSize=12,
            titleFontWeight="normal",
            titleLimit=0,
            symbolSize=70,
        )
        .configure_view(stroke=None)
    )
