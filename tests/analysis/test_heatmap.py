from __future__ import annotations

from xml.etree import ElementTree

import pytest

from spacy_psa.analysis.heatmap import colour, heat_map

SVG = "{http://www.w3.org/2000/svg}"


def drawn(values: list[list[float]], **settings: object) -> ElementTree.Element:
    names = [f"n{i}" for i in range(len(values))]
    return ElementTree.fromstring(heat_map(values, names, names, "x", "y", "count", **settings))


def fills(image: ElementTree.Element) -> list[str]:
    """The colours of the cells, which are those that tell their value."""
    cells = [rect for rect in image.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    return [cell.get("fill") for cell in cells]


def texts(image: ElementTree.Element) -> list[str]:
    return [node.text for node in image.iter(f"{SVG}text")]


def lightness(fill: str) -> int:
    return sum(int(fill[i : i + 2], 16) for i in (1, 3, 5))


def test_greater_numbers_are_darker():
    shades = [lightness(fill) for fill in fills(drawn([[0.0, 1.0], [2.0, 3.0]]))]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 4


def test_range_of_colours_can_be_given():
    assert fills(drawn([[50.0]], value_range=(0.0, 100.0))) == [colour(0.5)]


def test_numbers_that_are_not_finite_are_empty_cells():
    assert fills(drawn([[float("nan"), 1.0], [0.0, 1.0]]))[0] == colour(float("nan"))


def test_names_and_legend_are_shown():
    found = texts(drawn([[0.0, 1.0], [2.0, 3.0]], title="Title"))
    assert found.count("n0") == 2
    assert {"Title", "x", "y", "count"} <= set(found)


def test_texts_replace_numbers_and_are_told_beside_names():
    image = drawn([[1.0]], texts=[["one <&>"]])
    assert "one <&>" in texts(image)
    assert image.find(f".//{SVG}rect/{SVG}title").text == "n0 → n0: one <&>"


def test_long_names_are_shortened():
    svg = heat_map([[1.0]], ["a" * 40], ["b"], "x", "y", "count")
    assert "a" * 15 + "…" in texts(ElementTree.fromstring(svg))


@pytest.mark.parametrize("n", [1, 5, 21])
def test_cells_are_inside_the_picture(n: int):
    image = drawn([[float(i + j) for j in range(n)] for i in range(n)])
    width, height = float(image.get("width")), float(image.get("height"))
    for rect in image.iter(f"{SVG}rect"):
        right = float(rect.get("x", 0)) + float(rect.get("width"))
        assert right <= width + 1e-6
        assert float(rect.get("y", 0)) + float(rect.get("height")) <= height + 1e-6


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match=r"\[P280\]"):
        drawn([[float("nan")]])
