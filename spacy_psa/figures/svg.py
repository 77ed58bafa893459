"""The elements of images that are no charts: texts, lines and the image around them."""

from __future__ import annotations

from collections.abc import Sequence

from ..printable import escape

CHARACTER = 6.8  # the mean width of a letter of the normal size in pixels


def image(parts: Sequence[str], width: float, height: float, title: str) -> str:
    """Make an image from elements."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" '
        'font-size="12">'
    )
    background = f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", background, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, content: str, anchor: str, attributes: str = "") -> str:
    """RETURNS (str): A text element."""
    space = " " if attributes else ""
    return (
        f'<text x="{x:.5g}" y="{y:.5g}" text-anchor="{anchor}"{space}{attributes}>'
        f"{escape(content)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    """RETURNS (str): A thin straight line."""
    return f'<path d="M{x1:.5g} {y1:.5g}L{x2:.5g} {y2:.5g}" stroke="{color}" fill="none"/>'
