"""Images of charts: SVG and PNG, rendered by vl-convert, which needs no browser and no network."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from hashlib import blake2s
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ..printable import escape, printable

if TYPE_CHECKING:
    import altair

SCALE = 2.0  # PNG pixels per SVG pixel, for sharp text on paper and screens
MOST_PIXELS = 64_000_000  # with 4 bytes each in memory
_XLINK = ' xmlns:xlink="http://www.w3.org/1999/xlink"'  # never used
_ID = re.compile(r'(<\w+ id="|="url\(#)')
# The properties of all objects in JavaScript, which Vega takes for something of its own
_PROPERTIES = re.compile(
    r'(?<=")(constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|to(Locale)?String|valueOf'
    r'|__proto__|__(define|lookup)[GS]etter__)(?=\\?")'
)
_JOINER = "\u2060"  # has no width, and makes them other words


def check_plots(path: Path) -> None:
    """Check that charts can be drawn, before any work is done."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ValueError(Errors.P295.format(path=path, missing=error.name)) from error


def to_svg(chart: altair.TopLevelMixin, title: str) -> str:
    """Render a chart as a self-contained SVG image. Its identifiers are unique, so that a page can
    contain several images."""
    from vl_convert import vegalite_to_svg

    # vl-convert aborts the process at characters such as NUL.
    spec = json.dumps(_printable(chart.to_dict()))
    spec = _PROPERTIES.sub(r"\g<0>\\u2060", spec)
    own = blake2s(spec.encode("ascii"), digest_size=6).hexdigest()
    svg = _ID.sub(rf"\g<1>{own}-", vegalite_to_svg(spec)).replace(_XLINK, "", 1)
    svg = svg.replace(_JOINER, "")
    return svg.replace(">", f"><title>{escape(title)}</title>", 1) + "\n"


def to_png(svg: str, path: Path) -> bytes:
    """Convert an SVG image to PNG with vl-convert, scaled down if it would have too many pixels.
    vl-convert includes a font for Latin, Greek and Cyrillic letters; other scripts use the fonts of
    the system."""
    check_plots(path)
    from vl_convert import svg_to_png

    width, height = _size(svg)
    return bytes(svg_to_png(svg, scale=min(SCALE, math.sqrt(MOST_PIXELS / (width * height)))))


def stack(images: Sequence[str]) -> str:
    """Stack images vertically.

    images (Sequence[str]): SVG images created by this package.
    RETURNS (str): One SVG image.
    """
    sizes = [_size(image) for image in images]
    parts, y = [], 0.0
    for image, (_, height) in zip(images, sizes, strict=True):
        parts.append(image.replace("<svg ", f'<svg y="{y:g}" ', 1).strip())
        y += height
    width = max(width for width, _ in sizes)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{y:g}" '
        f'viewBox="0 0 {width:g} {y:g}">'
    )
    titles = (re.search("<title>(.*?)</title>", image, re.DOTALL) for image in images)
    title = "; ".join(found[1] for found in titles if found)
    return "\n".join([head, f"<title>{title}</title>", *parts, "</svg>"]) + "\n"


def _size(svg: str) -> tuple[float, float]:
    found = re.search(r' width="([\d.]+)" height="([\d.]+)"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def _printable(value: Any, key: str = "") -> Any:
    """A copy of a specification, with control characters made visible. In titles of axes, Vega
    would read a backslash as the start of such a character."""
    if isinstance(value, str):
        return printable(value).replace("\\", "\u29f5") if key == "title" else printable(value)
    if isinstance(value, dict):
        return {printable(name): _printable(part, name) for name, part in value.items()}
    return [_printable(part) for part in value] if isinstance(value, list) else value
