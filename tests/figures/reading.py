"""Helpers that read images."""

from __future__ import annotations

import re
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """The texts in an image, in drawing order."""
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def marks(svg: str, kind: str) -> dict[str, ElementTree.Element]:
    """Points ("point") or bars ("bar") by what a screen reader says of them."""
    return {
        node.get("aria-label", ""): node
        for node in ElementTree.fromstring(svg).iter(f"{SVG}path")
        if node.get("aria-roledescription") == kind and node.get("aria-label")
    }


def place(node: ElementTree.Element) -> tuple[float, float]:
    """The position of a point in its chart."""
    found = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", node.get("transform", ""))
    assert found is not None
    return float(found[1]), float(found[2])


def extent(node: ElementTree.Element) -> tuple[float, float, float, float]:
    """The left, upper, right and lower ends of a bar or cell."""
    found = re.match(r"M([-\d.]+),([-\d.]+)h([\d.]+)v([-\d.]+)", node.get("d", ""))
    assert found is not None
    x, y, width, height = map(float, found.groups())
    return x, min(y, y + height), x + width, max(y, y + height)


def curves(svg: str, kind: str = "mark-line") -> list[str]:
    """The paths of lines ("mark-line") or bands ("mark-area")."""
    return [
        path.get("d", "")
        for group in ElementTree.fromstring(svg).iter(f"{SVG}g")
        if kind in group.get("class", "").split()
        for path in group.iter(f"{SVG}path")
    ]
