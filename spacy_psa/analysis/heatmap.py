"""Matrices as SVG images: the darker a cell, the greater its number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from ..errors import Errors
from . import axes
from .axes import GREY, RIGHT, WIDTH

TOP, GAP = 40, 12
LARGEST_CELL, SMALLEST_CELL = 44.0, 9.0
LONGEST_NAME = 16  # characters
BAR_WIDTH, BAR_HEIGHT = 200, 10
EMPTY = "#eeeeee"
# From light to dark in one hue, so that it can be read in grey, and by colour-blind people.
LIGHTEST, DARKEST = (247, 251, 255), (8, 48, 107)


def heat_map(
    values: Sequence[Sequence[float]],
    row_names: Sequence[str],
    column_names: Sequence[str],
    x_label: str,
    y_label: str,
    legend: str,
    title: str = "",
    *,
    texts: Sequence[Sequence[str]] | None = None,
    value_range: tuple[float, float] | None = None,
    largest_cell: float = LARGEST_CELL,
) -> str:
    """Draw a matrix. Each cell tells its value when the mouse is over it.

    values (Sequence[Sequence[float]]): The numbers; those that are not finite are drawn as empty
        cells. *Shape:* (rows, columns).
    row_names (Sequence[str]): The names of the rows, from the top.
    column_names (Sequence[str]): The names of the columns.
    x_label (str): What the columns are.
    y_label (str): What the rows are.
    legend (str): What the numbers are, with their unit.
    title (str): What to write above.
    texts (Optional[Sequence[Sequence[str]]]): What to write into the cells, where there is room,
        and to tell beside the names. By default the numbers.
    value_range (Optional[Tuple[float, float]]): The numbers of the lightest and of the darkest
        colour; by default the smallest and the largest one.
    largest_cell (float): How wide and high a cell may be, in pixels.
    RETURNS (str): An SVG image, which has no references to anything outside it.
    RAISES (ValueError): If there is no number to draw.
    """
    known = [value for row in values for value in row if math.isfinite(value)]
    if not known:
        raise ValueError(Errors.P280.format(title=title or legend))
    low, high = value_range or (min(known), max(known))
    longest = max(len(shorten(name)) for name in (*row_names, *column_names))
    left = 36 + longest * axes.CHARACTER
    cell = min(largest_cell, (WIDTH - RIGHT - left) / len(column_names))
    cell = max(SMALLEST_CELL, cell)
    bottom = TOP + cell * len(row_names)
    parts = [axes.text(WIDTH / 2, 22, title, "middle", 'font-weight="bold" font-size="14"')]
    for i, row_name in enumerate(row_names):
        y = TOP + cell * i
        parts.append(axes.text(left - 6, y + cell / 2 + 4, shorten(row_name), "end", _size(cell)))
        for j, column_name in enumerate(column_names):
            value = values[i][j]
            text = f"{value:.4g}" if texts is None else texts[i][j]
            share = (value - low) / (high - low) if high > low else 1.0
            hint = f"{row_name} \u2192 {column_name}: {text or format(value, '.4g')}"
            parts += _cell(left + cell * j, y, cell, share, text, hint)
    for j, name in enumerate(column_names):
        x = left + cell * (j + 0.5) + 4
        turned = f'transform="rotate(-90 {x:.5g} {bottom + 8:.5g})" {_size(cell)}'
        parts.append(axes.text(x, bottom + 8, shorten(name), "end", turned))
    floor = bottom + 12 + longest * axes.CHARACTER
    parts.append(axes.text(left + cell * len(column_names) / 2, floor + 14, x_label, "middle"))
    middle = (TOP + bottom) / 2
    turned = f'transform="rotate(-90 16 {middle:.5g})"'
    parts.append(axes.text(16, middle, y_label, "middle", turned))
    parts += _key(left, floor + 14 + GAP, low, high, legend)
    height = math.ceil(floor + 14 + GAP + BAR_HEIGHT + 36)
    width = max(WIDTH, math.ceil(left + cell * len(column_names) + RIGHT))
    return axes.image(parts, height, title or legend, width=width)


def shorten(name: str) -> str:
    """RETURNS (str): A name that is not too long to stand beside a matrix."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def colour(share: float) -> str:
    """The colour of a number.

    share (float): Where the number lies between the smallest (0) and the largest (1).
    RETURNS (str): The colour; a light grey for what is not a finite number.
    """
    if not math.isfinite(share):
        return EMPTY
    share = min(1.0, max(0.0, share))
    mixed = (round(a + share * (b - a)) for a, b in zip(LIGHTEST, DARKEST, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _size(cell: float) -> str:
    return f'font-size="{min(12.0, max(8.0, cell)):g}"'


def _cell(x: float, y: float, size: float, share: float, text: str, hint: str) -> list[str]:
    drawn = [
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{size:.5g}" height="{size:.5g}" '
        f'fill="{colour(share)}" stroke="#ffffff"><title>{escape(hint)}</title></rect>'
    ]
    fits = min(11.0, 1.6 * size / max(len(text), 1))
    if text and fits >= 7.0 and math.isfinite(share):
        ink = "#ffffff" if share > 0.5 else "#222222"
        style = f'font-size="{fits:.3g}" fill="{ink}" pointer-events="none"'
        drawn.append(axes.text(x + size / 2, y + size / 2 + fits / 3, text, "middle", style))
    return drawn


def _key(x: float, y: float, low: float, high: float, legend: str) -> list[str]:
    """A bar with all colours, and what they stand for."""
    steps = 40
    width = BAR_WIDTH / steps
    drawn = [
        f'<rect x="{x + i * width:.5g}" y="{y:.5g}" width="{width + 0.5:.5g}" '
        f'height="{BAR_HEIGHT}" fill="{colour(i / (steps - 1))}"/>'
        for i in range(steps)
    ]
    drawn.append(
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{BAR_WIDTH + 0.5}" height="{BAR_HEIGHT}" '
        f'fill="none" stroke="{GREY}"/>'
    )
    drawn.append(axes.text(x, y + BAR_HEIGHT + 14, f"{low:.4g}", "middle"))
    drawn.append(axes.text(x + BAR_WIDTH, y + BAR_HEIGHT + 14, f"{high:.4g}", "middle"))
    drawn.append(axes.text(x + BAR_WIDTH + 24, y + BAR_HEIGHT, legend, "start"))
    return drawn
