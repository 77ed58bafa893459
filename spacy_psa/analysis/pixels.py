"""Images of ours as pixels, for what shows no SVG."""

from __future__ import annotations

import math
import re
from pathlib import Path

from ..errors import Errors

SCALE = 2.0  # pixels of the file for each of the SVG image, for sharp text on paper and screens
MOST_PIXELS = 64_000_000  # of 4 bytes each in memory


def check_png(path: Path) -> None:
    """Check that images can be drawn as pixels, before the work begins.

    path (Path): The PNG file to be written.
    RAISES (ValueError): If what draws them is not installed.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ValueError(Errors.P295.format(path=path)) from error


def to_png(svg: str, path: Path) -> bytes:
    """Draw an image as pixels. What draws brings a font for Latin, Greek and Cyrillic letters;
    others are drawn by the fonts of the system.

    svg (str): An SVG image of ours.
    path (Path): The PNG file that it is for.
    RETURNS (bytes): The PNG image, smaller than usual if it would have too many pixels.
    RAISES (ValueError): If what draws it is not installed.
    """
    check_png(path)
    from vl_convert import svg_to_png

    found = re.search(r' width="(\d+)" height="(\d+)"', svg)
    assert found is not None
    scale = min(SCALE, math.sqrt(MOST_PIXELS / (int(found[1]) * int(found[2]))))
    return bytes(svg_to_png(svg, scale=scale))
