"""Convert our SVG images to PNG."""

from __future__ import annotations

import math
import re
from pathlib import Path

from ..errors import Errors

SCALE = 2.0  # PNG pixels per SVG pixel, for sharp text on paper and screens
MOST_PIXELS = 64_000_000  # with 4 bytes each in memory


def check_png(path: Path) -> None:
    """Check that PNG images can be created, before any work is done.

    path (Path): The PNG file to write.
    RAISES (ValueError): If vl-convert-python is not installed.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ValueError(Errors.P295.format(path=path)) from error


def to_png(svg: str, path: Path) -> bytes:
    """Convert an SVG image to PNG with vl-convert, which includes a font for Latin, Greek and
    Cyrillic letters; other scripts use the fonts of the system.

    svg (str): An SVG image created by this package.
    path (Path): The PNG file that it is for.
    RETURNS (bytes): The PNG image, scaled down if it would have too many pixels.
    RAISES (ValueError): If vl-convert-python is not installed.
    """
    check_png(path)
    from vl_convert import svg_to_png

    found = re.search(r' width="(\d+)" height="(\d+)"', svg)
    assert found is not None
    scale = min(SCALE, math.sqrt(MOST_PIXELS / (int(found[1]) * int(found[2]))))
    return bytes(svg_to_png(svg, scale=scale))
