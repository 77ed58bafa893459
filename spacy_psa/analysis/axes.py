"""Axes, scales and legends of plots, as parts of an SVG image."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from ..printable import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 58
CHARACTER, LEGEND_LINE, KEY = 6.8, 20, 34
GRAY, LIGHT = "#555555", "#dddddd"
# The Okabe-Ito palette without yellow, which is hard to see on white.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#000000"]
# The lengths of the lists are coprime, so that many lines look different, even in grayscale.
DASHES = ["", "7 3", "2 3", "9 3 2 3"]
MARKS = ["circle", "square", "diamond", "triangle", "cross"]
TICK_STEPS = [1.0, 2.0, 2.5, 5.0, 10.0]


@dataclass(frozen=True)
class Style:
    """The style of a series.

    color (str): The color of its lines or bars.
    dash (str): The SVG dash array of its lines; empty for none.
    mark (str): The shape of its points.
    """

    color: str
    dash: str
    mark: str


def styles(n: int) -> list[Style]:
    """Get styles that color-blind readers can distinguish.

    n (int): The number of series.
    RETURNS (List[Style]): A style for each.
    """
    looks = zip(cycle(COLORS), cycle(DASHES), cycle(MARKS))
    return [Style(*look) for look in islice(looks, n)]


@dataclass(frozen=True)
class Scale:
    """Map values to pixels.

    low (float): The value at `start`.
    high (float): The value at `end`.
    start (float): The start in pixels.
    end (float): The end in pixels.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """value (float): A value. RETURNS (float): Its position in pixels."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, *, at_most: int = 7, whole: bool = False) -> list[float]:
    """Choose round tick values that cover a range.

    low (float): The smallest value.
    high (float): The largest value.
    at_most (int): The maximum number of intervals between ticks.
    whole (bool): Whether to use only integers.
    RETURNS (List[float]): The tick values, at least two.
    """
    if high <= low:
        pad = abs(low) * 0.1 or 1.0
        low, high = low - pad, high + pad
    power = 10.0 ** math.floor(math.log10((high - low) / at_most))
    steps = [factor * power * scale for scale in (1.0, 10.0) for factor in TICK_STEPS]
    if whole:
        steps = [step for step in [*steps, 1.0] if step >= 1.0 and step == int(step)]
    # Exceeding a tick by a tiny amount is a rounding error and needs no further tick.
    slack = 1e-9 * (high - low)
    for step in sorted(steps):
        first, last = math.floor((low + slack) / step), math.ceil((high - slack) / step)
        if last - first <= at_most:
            break
    return [i * step for i in range(first, last + 1)]


def label(value: float, step: float) -> str:
    """Format a tick label.

    value (float): The number.
    step (float): The distance to the next tick, which determines the number of decimals.
    RETURNS (str): The number, with a typographic minus sign.
    """
    if abs(value) >= 1e6 or 0.0 < step < 1e-5:
        text = f"{value:.3g}"
    else:
        decimals = next(n for n in range(12) if abs(step * 10**n - round(step * 10**n)) < 1e-6)
        text = f"{value:.{decimals}f}"
    return text.replace("-", "\u2212") if float(text) else text.lstrip("-")


def frame(
    title: str,
    x_label: str,
    y_label: str,
    y_ticks: Sequence[float],
    y: Scale,
    *,
    floor: float = HEIGHT,
) -> list[str]:
    """Draw the frame of a plot: title, axes, axis labels and horizontal grid lines.

    title (str): The title.
    x_label (str): The label of the x axis, with its unit.
    y_label (str): The label of the y axis, with its unit.
    y_ticks (Sequence[float]): The values of the grid lines.
    y (Scale): The y axis.
    floor (float): The bottom of the plot, including the labels of the x axis.
    RETURNS (List[str]): SVG elements.
    """
    middle = (LEFT + WIDTH - RIGHT) / 2
    height = (TOP + HEIGHT - BOTTOM) / 2
    parts = (
        [text(middle, 22, title, "middle", 'font-weight="bold" font-size="14"')] if title else []
    )
    for value in y_ticks:
        parts.append(line(LEFT, y(value), WIDTH - RIGHT, y(value), LIGHT))
        parts.append(text(LEFT - 8, y(value) + 4, label(value, y_ticks[1] - y_ticks[0]), "end"))
    parts.append(line(LEFT, y.start, WIDTH - RIGHT, y.start, GRAY))
    parts.append(line(LEFT, y.start, LEFT, y.end, GRAY))
    parts.append(text(middle, floor - 8, x_label, "middle"))
    turned = f'transform="rotate(-90 16 {height:g})"'
    parts.append(text(16, height, y_label, "middle", turned))
    return parts


def legend(
    names: Sequence[str], keys: Sequence[str], *, floor: int = HEIGHT
) -> tuple[list[str], int]:
    """Draw a legend below the plot, in as many rows as necessary.

    names (Sequence[str]): The names of the series.
    keys (Sequence[str]): SVG elements that show their style, in a box of 24 by 12 pixels.
    floor (int): The bottom of the plot.
    RETURNS (Tuple[List[str], int]): SVG elements, and their height.
    """
    parts, x, y = [], float(LEFT), floor + 8
    for name, key in zip(names, keys, strict=True):
        width = KEY + text_width(name) + 14
        if x > LEFT and x + width > WIDTH:
            x, y = float(LEFT), y + LEGEND_LINE
        parts.append(f'<g transform="translate({x:g} {y - 6})">{key}</g>')
        parts.append(text(x + KEY - 4, y + 4, name, "start"))
        x += width
    return parts, y + LEGEND_LINE - floor


def image(parts: Sequence[str], height: int, title: str, *, width: int = WIDTH) -> str:
    """Make an image from elements.

    parts (Sequence[str]): SVG elements.
    height (int): The height of the image.
    title (str): The title, for screen readers.
    width (int): The width of the image.
    RETURNS (str): A self-contained SVG image.
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    )
    background = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", background, *parts, "</svg>"]) + "\n"


def text_width(content: str, size: float = 12.0) -> float:
    """Estimate the width of a text; the actual font is not known.

    content (str): The text.
    size (float): The font size.
    RETURNS (float): The width in pixels.
    """
    # Chinese, Japanese and Korean characters are as wide as they are high.
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in content)
    capitals = sum(map(str.isupper, content))
    return (CHARACTER * (len(content) - wide) + 12.0 * wide + 1.2 * capitals) * size / 12.0


def text(x: float, y: float, content: str, anchor: str, attributes: str = "") -> str:
    """RETURNS (str): An SVG text element."""
    space = " " if attributes else ""
    return (
        f'<text x="{x:.5g}" y="{y:.5g}" text-anchor="{anchor}"{space}{attributes}>'
        f"{escape(content)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    """RETURNS (str): A thin straight line."""
    return f'<path d="M{x1:.5g} {y1:.5g}L{x2:.5g} {y2:.5g}" stroke="{color}" fill="none"/>'
