"""Matrices side by side."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from spacy_psa.analysis.attention_page import HELP
from spacy_psa.analysis.heatmap import EMPTY, color
from spacy_psa.analysis.panels import SHADES, heat_maps

SVG = "{http://www.w3.org/2000/svg}"


def drawn(matrices: dict[str, list[list[float]]], top: float = 1.0) -> ElementTree.Element:
    n_rows, n_columns = np.shape(next(iter(matrices.values())))
    rows, columns = [f"r{i}" for i in range(n_rows)], [f"c{j}" for j in range(n_columns)]
    settings = {"value_range": (0.0, top)}
    return ElementTree.fromstring(
        heat_maps(matrices, rows, columns, "x", "y", "share", "T", **settings)
    )


def areas(image: ElementTree.Element) -> dict[str, float]:
    """The area of the cells of each color."""
    found: dict[str, float] = {}
    for path in image.iter(f"{SVG}path"):
        fill = path.get("fill")
        if fill != "none":
            pieces = re.findall(r"h([\d.]+)v([\d.]+)h-", path.get("d"))
            area = sum(float(width) * float(height) for width, height in pieces)
            found[fill] = found.get(fill, 0.0) + area
    return found


def test_cells_have_the_colour_of_their_number() -> None:
    found = areas(drawn({"a": [[0.0, 0.0, 1.0], [1.0, float("nan"), 0.0]]}))
    unit = found[EMPTY]
    assert found == {EMPTY: unit, color(0.0): 3 * unit, color(1.0): 2 * unit}


def test_numbers_between_shades_get_the_nearest() -> None:
    share = 7 / (SHADES - 1)
    assert set(areas(drawn({"a": [[2 * share + 0.01]]}, top=2.0))) == {color(share)}


def test_cells_tell_no_numbers_as_the_page_says() -> None:
    titles = [node.text for node in drawn({"head 1": [[0.5]]}).iter(f"{SVG}title")]
    assert titles == ["T"]
    assert "except in figures with several heads" in HELP


def test_all_matrices_have_titles_and_names_of_columns() -> None:
    image = drawn({f"head {i}": [[0.0, 0.5]] for i in range(6)})
    texts = [node.text for node in image.iter(f"{SVG}text")]
    assert [text for text in texts if text.startswith("head")] == [f"head {i}" for i in range(6)]
    assert texts.count("c1") == 6
    # Four fit side by side and share their row names.
    assert texts.count("r0") == 2
    assert {"T", "columns: x; rows: y", "share"} <= set(texts)


@pytest.mark.parametrize("n", [1, 12, 40, 200])
def test_matrices_are_inside_the_picture_and_apart(n: int) -> None:
    image = drawn({str(k): np.ones((n, n)).tolist() for k in range(5)})
    width, height = float(image.get("width")), float(image.get("height"))
    frames = [
        tuple(map(float, match.groups()))
        for path in image.iter(f"{SVG}path")
        if path.get("stroke") == "#dddddd"
        and (match := re.match(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h", path.get("d")))
    ]
    assert len(frames) == 5
    for i, (x, y, across, down) in enumerate(frames):
        assert x >= 0 and x + across <= width and y >= 0 and y + down <= height
        for a, b, other_across, other_down in frames[:i]:
            beside = x >= a + other_across or a >= x + across
            assert beside or y >= b + other_down or b >= y + down


def test_no_matrix_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P280\]"):
        heat_maps({}, ["r"], ["c"], "x", "y", "share", "T", value_range=(0.0, 1.0))


def test_names_as_wide_as_high_have_room() -> None:
    name = "\u5b57" * 10
    image = ElementTree.fromstring(
        heat_maps({"a": [[0.5]]}, [name], ["c"], "x", "y", "share", "T", value_range=(0.0, 1.0))
    )
    (label,) = (node for node in image.iter(f"{SVG}text") if node.text == name)
    assert label.get("text-anchor") == "end"
    assert float(label.get("x")) >= len(name) * float(label.get("font-size"))
