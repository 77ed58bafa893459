"""Axes, scales and legends of plots, as parts of an SVG image."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle, islice

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 58
CHARACTER, LEGEND_LINE, KEY = 6.8, 20, 34
GREY, LIGHT = "#555555", "#dddddd"
# Okabe and Ito's palette without its yellow, which is hard to see on white.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#000000"]
# Colours come round before dashes and marks do: no two of many lines look alike, not even in grey.
DASHES = ["", "7 3", "2 3", "9 3 2 3"]
MARKS = ["circle", "square", "diamond", "triangle", "cross"]
TICK_STEPS = [1.0, 2.0, 2.5, 5.0, 10.0]


@dataclass(frozen=True)
class Style:
    """How one series is drawn.

    colour (str): Of its lines or bars.
    dash (str): SVG's dash array of its lines; empty for none.
    mark (str): The shape of its points.
    """

    colour: str
    dash: str
    mark: str


def styles(n: int) -> list[Style]:
    """Styles that people tell apart, colour-blind or not.

    n (int): The number of series.
    RETURNS (List[Style]): A style of each.
    """
    looks = zip(cycle(COLOURS), cycle(DASHES), cycle(MARKS))
    return [Style(*look) for look in islice(looks, n)]


@dataclass(frozen=True)
class Scale:
    """From values to pixels.

    low (float): The value at `start`.
    high (float): The value at `end`.
    start (float): In pixels.
    end (float): In pixels.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """value (float): A value. RETURNS (float): Its place in pixels."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, *, at_most: int = 7, whole: bool = False) -> list[float]:
    """Round numbers that cover a range: the first is not above it, the last not below it.

    low (float): The smallest value.
    high (float): The largest value.
    at_most (int): How many spaces between ticks there may be.
    whole (bool): Whether only whole numbers make sense.
    RETURNS (List[float]): The numbers, two or more.
    """
    if high <= low:
        pad = abs(low) * 0.1 or 1.0
        low, high = low - pad, high + pad
    power = 10.0 ** math.floor(math.log10((high - low) / at_most))
    steps = [factor * power * scale for scale in (1.0, 10.0) for factor in TICK_STEPS]
    if whole:
        steps = [step for step in [*steps, 1.0] if step >= 1.0 and step == int(step)]
    # A hair's breadth beyond a tick is rounding, not a value to make room for.
    slack = 1e-9 * (high - low)
    for step in sorted(steps):
        first, last = math.floor((low + slack) / step), math.ceil((high - slack) / step)
        if last - first <= at_most:
            break
    return [i * step for i in range(first, last + 1)]


def label(value: float, step: float) -> str:
    """Write a number of an axis.

    value (float): The number.
    step (float): The distance to the next, which says how many decimals matter.
    RETURNS (str): The number, with a proper minus sign.
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
    """Draw what is around a plot: the title, the names of the axes, the lines across.

    title (str): The title.
    x_label (str): What the x axis shows, with its unit.
    y_label (str): What the y axis shows, with its unit.
    y_ticks (Sequence[float]): Where lines go across.
    y (Scale): The y axis.
    floor (float): Where the plot ends, with all that is written below the x axis.
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
    parts.append(line(LEFT, y.start, WIDTH - RIGHT, y.start, GREY))
    parts.append(line(LEFT, y.start, LEFT, y.end, GREY))
    parts.append(text(middle, floor - 8, x_label, "middle"))
    turned = f'transform="rotate(-90 16 {height:g})"'
    parts.append(text(16, height, y_label, "middle", turned))
    return parts


def legend(
    names: Sequence[str], keys: Sequence[str], *, floor: int = HEIGHT
) -> tuple[list[str], int]:
    """Draw a legend below the plot, in as many rows as it takes.

    names (Sequence[str]): What the series are called.
    keys (Sequence[str]): SVG elements that show what they look like, drawn in a box of 24 by 12
        pixels.
    floor (int): Where the plot ends.
    RETURNS (Tuple[List[str], int]): SVG elements, and the height that they take.
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
    """Put elements into an image.

    parts (Sequence[str]): SVG elements.
    height (int): The height of the image.
    title (str): What it shows, for those who cannot see it.
    width (int): The width of the image.
    RETURNS (str): The SVG image, which has no references to anything outside it.
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    )
    background = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", background, *parts, "</svg>"]) + "\n"


def text_width(content: str, size: float = 12.0) -> float:
    """About how wide a text is: fonts differ, and are not known here.

    content (str): The text.
    size (float): The size of its font.
    RETURNS (float): Its width in pixels.
    """
    # Signs of Chinese, Japanese and Korean are as wide as high.
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in content)
    capitals = sum(map(str.isupper, content))
    return (CHARACTER * (len(content) - wide) + 12.0 * wide + 1.2 * capitals) * size / 12.0


def text(x: float, y: float, content: str, anchor: str, attributes: str = "") -> str:
    """RETURNS (str): A piece of text."""
    space = " " if attributes else ""
    return (
        f'<text x="{x:.5g}" y="{y:.5g}" text-anchor="{anchor}"{space}{attributes}>'
        f"{escape(content)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    """RETURNS (str): A thin straight line."""
    return f'<path d="M{x1:.5g} {y1:.5g}L{x2:.5g} {y2:.5g}" stroke="{colour}" fill="none"/>'
