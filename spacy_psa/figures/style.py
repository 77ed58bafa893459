"""The look of all figures: sizes, colors and short names."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category

WIDTH, HEIGHT = 560, 262
GRAY, LIGHT = "#555555", "#dddddd"
# The Okabe-Ito palette without yellow, which is hard to see on white.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#000000"]
# The lengths of the lists are coprime, so that many lines look different, even in grayscale.
DASHES = [[1, 0], [7, 3], [2, 3], [9, 3, 2, 3]]
MARKS = ["circle", "square", "diamond", "triangle-up", "cross"]
# From light to dark in one hue: readable in grayscale and for color-blind readers.
GROWING = ["#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"]
# Orange below 0, blue above: distinguishable for color-blind readers.
SIGNED = ["#7f2704", "#e66101", "#fdbe85", "#fafafa", "#9ecae1", "#3182bd", "#08306b"]
EMPTY = "#d4d4d4"  # in none of the color scales
LIGHT_INK, DARK_INK = "#ffffff", "#222222"
LONGEST_NAME = 16  # characters


def shorten(name: str) -> str:
    """RETURNS (str): The name, shortened in the middle if it is too long for an axis, since names
    with the same beginning often differ at the end.
    """
    if len(name) <= LONGEST_NAME:
        return name
    half = LONGEST_NAME // 2
    start, end = half, len(name) - half + 1
    # A letter stays with its accents or vowel signs, or both are left out
    while start > 0 and _is_mark(name[start]):
        start -= 1
    while end < len(name) and _is_mark(name[end]):
        end += 1
    return f"{name[:start]}…{name[end:]}"


def _is_mark(character: str) -> bool:
    return category(character).startswith("M") or character in "\u200c\u200d"


def shade(share: float, stops: Sequence[str] = GROWING) -> str:
    """Get the color for a share from 0 to 1: by default, the darker the greater the number."""
    place = min(1.0, max(0.0, share)) * (len(stops) - 1)
    i = min(int(place), len(stops) - 2)
    low, high = (bytes.fromhex(stop[1:]) for stop in stops[i : i + 2])
    mixed = (round(a + (place - i) * (b - a)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def ink(color: str) -> str:
    """RETURNS (str): Black or white, whichever is easier to read on a color (WCAG 2)."""
    parts = (part / 255 for part in bytes.fromhex(color[1:]))
    linear = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    luminance = sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return DARK_INK if luminance > 0.19 else LIGHT_INK
