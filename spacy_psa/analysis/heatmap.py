"""Heat maps as SVG images: darker cells have greater values, or values further from 0."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import Errors
from ..printable import escape
from . import axes
from .axes import GRAY, RIGHT, WIDTH

TOP, GAP = 40, 12
LARGEST_CELL, SMALLEST_CELL = 44.0, 9.0
LARGEST_TEXT, SMALLEST_TEXT = 11.0, 6.0  # font sizes of the numbers in cells
LONGEST_NAME = 16  # characters
BAR_WIDTH, BAR_HEIGHT = 200, 10
TITLE_SIZE = 14
# Color scales have no gray, and no stroke through their cells.
EMPTY, STROKE = "#d4d4d4", "#b0b0b0"
LIGHT_INK, DARK_INK = "#ffffff", "#222222"
# From light to dark in one hue: readable in grayscale and for color-blind readers.
LIGHTEST, DARKEST = (247, 251, 255), (8, 48, 107)
GROWING = (LIGHTEST, DARKEST)
# Orange below 0, blue above: distinguishable for color-blind readers.
BELOW = ((127, 39, 4), (230, 97, 1), (253, 190, 133))
ABOVE = ((158, 202, 225), (49, 130, 189), DARKEST)
SIGNED = (*BELOW, (250, 250, 250), *ABOVE)


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
    signed: bool = False,
    empty: str = "",
) -> str:
    """Draw a heat map. Hovering over a cell shows its value.

    values (Sequence[Sequence[float]]): The numbers; non-finite ones are drawn as empty cells.
        *Shape:* (rows, columns).
    row_names (Sequence[str]): The names of the rows, from the top.
    column_names (Sequence[str]): The names of the columns.
    x_label (str): The label of the columns.
    y_label (str): The label of the rows.
    legend (str): The meaning and unit of the numbers.
    title (str): The title.
    texts (Optional[Sequence[Sequence[str]]]): The texts to show on hovering, and in the cells if
        the longest one fits; defaults to the numbers.
    value_range (Optional[Tuple[float, float]]): The numbers with the lightest and the darkest
        color; defaults to the minimum and the maximum.
    largest_cell (float): The maximum width and height of a cell in pixels.
    signed (bool): Whether to use different colors below and above 0. The color scale is then
        symmetric around 0.
    empty (str): The meaning of empty cells, shown in the legend if there are any.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no finite number.
    """
    known = [value for row in values for value in row if math.isfinite(value)]
    if not known:
        raise ValueError(Errors.P280.format(title=title or legend))
    low, high = value_range or (min(known), max(known))
    if signed:
        high = max(abs(low), abs(high)) or 1.0
        low = -high
    left = 36 + max(axes.text_width(shorten(name)) for name in row_names)
    cell = min(largest_cell, (WIDTH - RIGHT - left) / len(column_names))
    cell = max(SMALLEST_CELL, cell)
    bottom = TOP + cell * len(row_names)
    shown = [[f"{v:.4g}" for v in row] for row in values] if texts is None else texts
    pairs = [pair for row in zip(values, shown, strict=True) for pair in zip(*row, strict=True)]
    size = _text_size([text for value, text in pairs if math.isfinite(value)], cell)
    parts = []
    for i, row_name in enumerate(row_names):
        y = TOP + cell * i
        parts.append(axes.text(left - 6, y + cell / 2 + 4, shorten(row_name), "end", _size(cell)))
        for j, column_name in enumerate(column_names):
            value, text = values[i][j], shown[i][j]
            share = _share(value, low, high)
            hint = f"{row_name} \u2192 {column_name}: {text or format(value, '.4g')}"
            fill = color(share, signed=signed)
            parts += _cell(left + cell * j, y, cell, fill, text if size else "", size, hint)
    for j, name in enumerate(column_names):
        x = left + cell * (j + 0.5) + 4
        turned = f'transform="rotate(-90 {x:.5g} {bottom + 8:.5g})" {_size(cell)}'
        parts.append(axes.text(x, bottom + 8, shorten(name), "end", turned))
    floor = bottom + 12 + max(axes.text_width(shorten(name)) for name in column_names)
    parts.append(axes.text(left + cell * len(column_names) / 2, floor + 14, x_label, "middle"))
    middle = (TOP + bottom) / 2
    turned = f'transform="rotate(-90 16 {middle:.5g})"'
    parts.append(axes.text(16, middle, y_label, "middle", turned))
    key = empty if len(known) < len(pairs) else ""
    parts += _key(left, floor + 14 + GAP, low, high, legend, signed=signed, empty=key)
    height = math.ceil(floor + 14 + GAP + BAR_HEIGHT + 36)
    right = max(left + cell * len(column_names), left + _key_width(legend, key))
    # Titles are bold and therefore slightly wider.
    width = max(WIDTH, right + RIGHT, 1.1 * axes.text_width(title, TITLE_SIZE) + 2 * RIGHT)
    width = math.ceil(width)
    bold = f'font-weight="bold" font-size="{TITLE_SIZE}"'
    parts.insert(0, axes.text(width / 2, 22, title, "middle", bold))
    return axes.image(parts, height, title or legend, width=width)


def shorten(name: str) -> str:
    """RETURNS (str): The name, shortened in the middle if it is too long for an axis, since names
    with the same beginning often differ at the end.
    """
    if len(name) <= LONGEST_NAME:
        return name
    half = LONGEST_NAME // 2
    return f"{name[:half]}…{name[half + 1 - LONGEST_NAME :]}"


def color(share: float, *, signed: bool = False) -> str:
    """Get the color for a number.

    share (float): The position of the number between the smallest (0) and the largest (1).
    signed (bool): Whether to use the color scale that is symmetric around 0.
    RETURNS (str): The color; gray if the number is not finite.
    """
    if not math.isfinite(share):
        return EMPTY
    stops = SIGNED if signed else GROWING
    place = min(1.0, max(0.0, share)) * (len(stops) - 1)
    i = min(int(place), len(stops) - 2)
    mixed = (round(a + (place - i) * (b - a)) for a, b in zip(*stops[i : i + 2], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _share(value: float, low: float, high: float) -> float:
    """The relative position of a number in a range, which can be empty; NaN if not finite."""
    if not math.isfinite(value):
        return math.nan
    return (value - low) / (high - low) if high > low else 1.0


def _text_size(texts: Sequence[str], cell: float) -> float:
    """The font size at which all texts fit into their cells; 0 if it would be too small to read.
    Showing only the short texts would make the other cells look empty."""
    # The width of digits is about 0.62 of the font size; signs and points are half as wide.
    widths = (0.62 * len(text) - 0.27 * sum(text.count(sign) for sign in "-.") for text in texts)
    size = min(LARGEST_TEXT, 0.98 * cell / max([*widths, 0.1]))
    return size if size >= SMALLEST_TEXT else 0.0


def _size(cell: float) -> str:
    return f'font-size="{min(12.0, max(8.0, cell)):g}"'


def _cell(
    x: float, y: float, size: float, fill: str, text: str, text_size: float, hint: str
) -> list[str]:
    drawn = [
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{size:.5g}" height="{size:.5g}" '
        f'fill="{fill}" stroke="#ffffff"><title>{escape(hint)}</title></rect>'
    ]
    if fill == EMPTY:
        drawn.append(_stroke(x, y, size))
    elif text:
        style = f'font-size="{text_size:.3g}" fill="{_ink(fill)}" pointer-events="none"'
        drawn.append(axes.text(x + size / 2, y + size / 2 + text_size / 3, text, "middle", style))
    return drawn


def _stroke(x: float, y: float, size: float) -> str:
    """Mark empty cells, so that they can be recognized without color."""
    return (
        f'<path d="M{x + 0.2 * size:.5g} {y + 0.8 * size:.5g}l{0.6 * size:.5g} {-0.6 * size:.5g}" '
        f'stroke="{STROKE}" fill="none" pointer-events="none"/>'
    )


def _ink(fill: str) -> str:
    """Dark or light text, whichever has more contrast on a color."""
    contrasts = {
        ink: (max(a, b) + 0.05) / (min(a, b) + 0.05)
        for ink in (LIGHT_INK, DARK_INK)
        for a, b in [(_luminance(ink), _luminance(fill))]
    }
    return max(contrasts, key=lambda ink: contrasts[ink])


def _luminance(fill: str) -> float:
    """The relative luminance of a color, as defined by WCAG 2."""
    parts = (int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _key(
    x: float,
    y: float,
    low: float,
    high: float,
    legend: str,
    *,
    signed: bool = False,
    empty: str = "",
) -> list[str]:
    """A color bar with its legend, and the key of empty cells, if there are any."""
    steps = 40
    width = BAR_WIDTH / steps
    drawn = [
        f'<rect x="{x + i * width:.5g}" y="{y:.5g}" width="{width + 0.5:.5g}" '
        f'height="{BAR_HEIGHT}" fill="{color(i / (steps - 1), signed=signed)}"/>'
        for i in range(steps)
    ]
    drawn.append(
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{BAR_WIDTH + 0.5}" height="{BAR_HEIGHT}" '
        f'fill="none" stroke="{GRAY}"/>'
    )
    for value in dict.fromkeys((low, (low + high) / 2, high) if signed else (low, high)):
        place = x + BAR_WIDTH * _share(value, low, high)
        drawn.append(axes.text(place, y + BAR_HEIGHT + 14, f"{value:.4g}", "middle"))
    drawn.append(axes.text(x + BAR_WIDTH + 24, y + BAR_HEIGHT, legend, "start"))
    if empty:
        x += BAR_WIDTH + 24 + axes.text_width(legend) + 24
        side = BAR_HEIGHT + 4
        drawn.append(
            f'<rect x="{x:.5g}" y="{y - 2:.5g}" width="{side}" height="{side}" fill="{EMPTY}"/>'
        )
        drawn.append(_stroke(x, y - 2, side))
        drawn.append(axes.text(x + side + 6, y + BAR_HEIGHT, empty, "start"))
    return drawn


def _key_width(legend: str, empty: str) -> float:
    """The width of the key."""
    room = BAR_WIDTH + 24 + axes.text_width(legend)
    return room + (24 + BAR_HEIGHT + 4 + 6 + axes.text_width(empty) if empty else 0.0)
