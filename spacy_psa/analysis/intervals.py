"""Plots of values with intervals by category, as SVG images."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import Errors
from ..printable import escape
from . import axes
from .axes import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Scale
from .plots import _category_names, _whisker

RADIUS = 4.5
COLOR = axes.COLORS[0]

Interval = tuple[float, float]


def interval_plot(
    values: Mapping[str, float],
    intervals: Mapping[str, Interval],
    x_label: str,
    y_label: str,
    title: str = "",
    *,
    legend: str = "",
) -> str:
    """Draw a point with whiskers for each category. Hovering over a point shows its numbers. Unlike
    bars, points do not require an axis that starts at 0, which makes intervals easier to see.

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
    known = {name: value for name, value in values.items() if math.isfinite(value)}
    if not known:
        raise ValueError(Errors.P280.format(title=title or y_label))
    ends = [end for name in known if name in intervals for end in intervals[name]]
    y_ticks = axes.ticks(min([*known.values(), *ends]), max([*known.values(), *ends]))
    y = Scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    space = (WIDTH - RIGHT - LEFT) / len(values)
    names, floor = _category_names(list(values), y.start)
    parts = [*axes.frame(title, x_label, y_label, y_ticks, y, floor=floor), *names]
    for i, name in enumerate(values):
        if name not in known:
            continue
        x = LEFT + space * (i + 0.5)
        hint = f"{name}: {known[name]:.4g}"
        if name in intervals:
            low, high = intervals[name]
            hint += f" ({low:.4g} to {high:.4g})"
            parts.append(_whisker(x, y(low), y(high)))
        parts.append(
            f'<circle cx="{x:.5g}" cy="{y(known[name]):.5g}" r="{RADIUS}" fill="{COLOR}">'
            f"<title>{escape(hint)}</title></circle>"
        )
    if not legend:
        return axes.image(parts, floor, title or y_label)
    key = f'{_whisker(12, 0, 12)}<circle cx="12" cy="6" r="{RADIUS}" fill="{COLOR}"/>'
    drawn, height = axes.legend([legend], [key], floor=floor)
    return axes.image([*parts, *drawn], floor + height, title or y_label)
