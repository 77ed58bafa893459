"""Line plots and bar plots as SVG images."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ..errors import Errors
from ..printable import escape
from . import axes
from .axes import BOTTOM, GRAY, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Scale, Style
from .heatmap import shorten

BAR_SHARE = 0.8  # the share of a category's space that its bars take
SLANT, NAME_SIZE = 60, 10  # the angle in degrees and the font size of names with little space
SHAPES = {
    "circle": "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",
    "square": "M-3 -3H3V3H-3Z",
    "diamond": "M0 -4.5L4.5 0L0 4.5L-4.5 0Z",
    "triangle": "M0 -4.5L4.2 3.2H-4.2Z",
    "cross": "M-1 -4H1V-1H4V1H1V4H-1V1H-4V-1H-1Z",
}

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
    diagonal: bool = False,
    breaks: Sequence[float] = (),
) -> str:
    """Draw lines through points. Hovering over a point shows its values.

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
    diagonal (bool): Whether to draw the line y = x, as in reliability diagrams.
    breaks (Sequence[float]): Positions on the x axis at which lines and bands are interrupted,
        because there are no values.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no point to draw, or a band does not have one pair per point.
    """
    lines: dict[str, list[Point]] = {}
    limits: dict[str, list[Point]] = {}
    for name, points in series.items():
        around = (bands or {}).get(name)
        if around is not None and len(around) != len(points):
            raise ValueError(Errors.P281.format(name=name, n=len(around), expected=len(points)))
        kept = [i for i, point in enumerate(points) if all(map(math.isfinite, point))]
        lines[name] = [points[i] for i in kept]
        if around is not None:
            limits[name] = [around[i] for i in kept]
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    if not xs:
        raise ValueError(Errors.P280.format(title=title or y_label))
    ys += [end for pairs in limits.values() for pair in pairs for end in pair]
    xs, ys = [*xs, *(x_range or ())], [*ys, *(y_range or ())]
    x_ticks = axes.ticks(min(xs), max(xs), at_most=10, whole=all(x == int(x) for x in xs))
    y_ticks = axes.ticks(min(ys), max(ys))
    x = Scale(x_ticks[0], x_ticks[-1], LEFT, WIDTH - RIGHT)
    y = Scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    parts = axes.frame(title, x_label, y_label, y_ticks, y)
    for value in x_ticks:
        parts.append(axes.line(x(value), y.start, x(value), y.start + 5, GRAY))
        name = axes.label(value, x_ticks[1] - x_ticks[0])
        parts.append(axes.text(x(value), y.start + 18, name, "middle"))
    if diagonal:
        low, high = max(x.low, y.low), min(x.high, y.high)
        parts.append(axes.line(x(low), y(low), x(high), y(high), GRAY))
    styles = axes.styles(len(lines))
    for (name, points), style in zip(lines.items(), styles, strict=True):
        pieces = _pieces([a for a, _ in points], breaks)
        around = limits.get(name)
        if around:
            parts += [_band(points[piece], around[piece], style, x, y) for piece in pieces]
        parts += _curve(name, points, pieces, style, x, y)
    return _with_legend(parts, list(lines), [line_key(style) for style in styles], title)


def bar_plot(
    series: Mapping[str, Mapping[str, float]],
    x_label: str,
    y_label: str,
    title: str = "",
    *,
    intervals: Mapping[str, Mapping[str, Point]] | None = None,
    y_range: Point | None = None,
) -> str:
    """Draw grouped bars. Hovering over a bar shows its value.

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
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no bar to draw.
    """
    categories = list(dict.fromkeys(name for bars in series.values() for name in bars))
    values = [v for bars in series.values() for v in bars.values() if math.isfinite(v)]
    if not values:
        raise ValueError(Errors.P280.format(title=title or y_label))
    ends = [end for pairs in (intervals or {}).values() for pair in pairs.values() for end in pair]
    span = [*values, *ends, *((0.0,) if y_range is None else y_range)]
    y_ticks = axes.ticks(min(span), max(span))
    y = Scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    names, floor = _category_names(categories, y.start)
    parts = [*axes.frame(title, x_label, y_label, y_ticks, y, floor=floor), *names]
    styles = axes.styles(len(series))
    space = (WIDTH - RIGHT - LEFT) / len(categories)
    width = space * BAR_SHARE / len(series)
    for i, ((name, bars), style) in enumerate(zip(series.items(), styles, strict=True)):
        ranges = (intervals or {}).get(name, {})
        for category, value in bars.items():
            if not math.isfinite(value):
                continue
            left = LEFT + space * (categories.index(category) + (1 - BAR_SHARE) / 2) + i * width
            parts.append(_bar(left, width, value, f"{name}, {category}: {value:.4g}", style, y))
            if category in ranges:
                low, high = ranges[category]
                parts.append(_whisker(left + width / 2, y(low), y(high)))
    return _with_legend(parts, list(series), list(map(bar_key, styles)), title, floor=floor)


def stack(images: Sequence[str]) -> str:
    """Stack images vertically.

    images (Sequence[str]): SVG images created by functions of this module.
    RETURNS (str): One SVG image.
    """
    widths = [int(_find(r' width="(\d+)"', image)) for image in images]
    heights = [int(_find(r' height="(\d+)"', image)) for image in images]
    parts, y = [], 0
    for image, height in zip(images, heights, strict=True):
        parts.append(image.replace("<svg ", f'<svg y="{y}" ', 1).strip())
        y += height
    titles = [html.unescape(_find("<title>(.*?)</title>", image)) for image in images]
    return axes.image(parts, y, "; ".join(titles), width=max(widths))


def _find(pattern: str, image: str) -> str:
    """Find an attribute or title that all our images have."""
    found = re.search(pattern, image)
    assert found is not None
    return found[1]


def _with_legend(
    parts: list[str], names: list[str], keys: list[str], title: str, *, floor: int = HEIGHT
) -> str:
    described = title or ", ".join(names)
    if len(names) == 1 and (not names[0] or names[0] == title):
        return axes.image(parts, floor, described)
    drawn, height = axes.legend(names, keys, floor=floor)
    return axes.image([*parts, *drawn], floor + height, described)


def _pieces(xs: Sequence[float], breaks: Sequence[float]) -> list[slice]:
    """The slices of points that are connected by a line."""
    cut = [i for i in range(1, len(xs)) if any(xs[i - 1] < place < xs[i] for place in breaks)]
    return [slice(start, end) for start, end in pairwise([0, *cut, len(xs)])] if xs else []


def _curve(
    name: str,
    points: Sequence[Point],
    pieces: Sequence[slice],
    style: Style,
    x: Scale,
    y: Scale,
) -> list[str]:
    places = [f"{x(a):.5g} {y(b):.5g}" for a, b in points]
    path = "".join(f"M{'L'.join(places[piece])}" for piece in pieces)
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    drawn = [f'<path d="{path}" stroke="{style.color}" stroke-width="2" fill="none"{dash}/>']
    for (a, b), place in zip(points, places, strict=True):
        hint = escape(f"{name}: {a:.4g}, {b:.4g}")
        drawn.append(
            f'<path d="{SHAPES[style.mark]}" transform="translate({place})" fill="{style.color}">'
            f"<title>{hint}</title></path>"
        )
    return drawn


def _band(
    points: Sequence[Point], limits: Sequence[Point], style: Style, x: Scale, y: Scale
) -> str:
    low = [f"{x(a):.5g} {y(end):.5g}" for (a, _), (end, _) in zip(points, limits, strict=True)]
    high = [f"{x(a):.5g} {y(end):.5g}" for (a, _), (_, end) in zip(points, limits, strict=True)]
    outline = "L".join([*low, *reversed(high)])
    return f'<path d="M{outline}Z" fill="{style.color}" fill-opacity="0.15"/>'


def _bar(left: float, width: float, value: float, hint: str, style: Style, y: Scale) -> str:
    ground = y(max(y.low, min(y.high, 0.0)))
    top, bottom = min(y(value), ground), max(y(value), ground)
    return (
        f'<rect x="{left:.5g}" y="{top:.5g}" width="{width:.5g}" height="{bottom - top:.5g}" '
        f'fill="{style.color}" stroke="#ffffff"><title>{escape(hint)}</title></rect>'
    )


def _whisker(x: float, low: float, high: float) -> str:
    return (
        f'<path d="M{x - 3:.5g} {low:.5g}h6M{x:.5g} {low:.5g}V{high:.5g}M{x - 3:.5g} {high:.5g}h6" '
        'stroke="#222222" fill="none"/>'
    )


def _category_names(categories: Sequence[str], ground: float) -> tuple[list[str], int]:
    """The names of categories, shortened and slanted if there is little space; and the bottom of
    the plot, including the axis label below them.
    """
    space = (WIDTH - RIGHT - LEFT) / len(categories)
    is_slanted = max(map(axes.text_width, categories)) > space
    drawn, floor = [], float(HEIGHT)
    for i, category in enumerate(categories):
        middle = LEFT + space * (i + 0.5)
        if not is_slanted:
            drawn.append(axes.text(middle, ground + 18, category, "middle"))
            continue
        name, level = shorten(category), ground + 12
        turned = f'transform="rotate(-{SLANT} {middle:.5g} {level:.5g})" font-size="{NAME_SIZE}"'
        drawn.append(axes.text(middle, level, name, "end", turned))
        depth = math.sin(math.radians(SLANT)) * axes.text_width(name, NAME_SIZE)
        # The axis label is 8 pixels above the bottom and 12 pixels high.
        floor = max(floor, level + depth + 26)
    return drawn, math.ceil(floor)


def line_key(style: Style) -> str:
    """Draw the key of a line in a legend.

    style (Style): The style of the line.
    RETURNS (str): SVG, 24 wide and 12 high.
    """
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    return (
        f'<path d="M0 6H24" stroke="{style.color}" stroke-width="2"{dash}/>'
        f'<path d="{SHAPES[style.mark]}" transform="translate(12 6)" fill="{style.color}"/>'
    )


def bar_key(style: Style) -> str:
    """Draw the key of a bar in a legend.

    style (Style): The style of the bar.
    RETURNS (str): SVG, 24 wide and 12 high.
    """
    return f'<rect x="8" width="12" height="12" fill="{style.color}"/>'
