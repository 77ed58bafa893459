from __future__ import annotations

from xml.etree import ElementTree

import pytest

from spacy_psa.analysis.axes import RIGHT, WIDTH, text_width
from spacy_psa.analysis.heatmap import EMPTY, color, heat_map, shorten

SVG = "{http://www.w3.org/2000/svg}"


def drawn(values: list[list[float]], **settings: object) -> ElementTree.Element:
    names = [f"n{i}" for i in range(len(values))]
    return ElementTree.fromstring(heat_map(values, names, names, "x", "y", "count", **settings))


def fills(image: ElementTree.Element) -> list[str]:
    """The colors of the cells, which are the rectangles with a tooltip."""
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
    assert fills(drawn([[50.0]], value_range=(0.0, 100.0))) == [color(0.5)]


def test_numbers_that_are_not_finite_are_empty_cells():
    assert fills(drawn([[float("nan"), 1.0], [0.0, 1.0]]))[0] == color(float("nan"))


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
    assert "a" * 8 + "…" + "a" * 7 in texts(ElementTree.fromstring(svg))


def test_long_names_that_begin_alike_are_told_apart():
    names = [
        "(S[dcl]\\NP)/(S[b]\\NP)",
        "(S[dcl]\\NP)/(S[to]\\NP)",
        *map("VERY_LONG_LABEL_{}".format, "12"),
    ]
    assert len({shorten(name) for name in names}) == len(names)
    assert {len(shorten(name)) for name in names} == {16}


@pytest.mark.parametrize("n", [1, 5, 21])
def test_cells_are_inside_the_picture(n: int):
    image = drawn([[float(i + j) for j in range(n)] for i in range(n)])
    width, height = float(image.get("width")), float(image.get("height"))
    for rect in image.iter(f"{SVG}rect"):
        right = float(rect.get("x", 0)) + float(rect.get("width"))
        assert right <= width + 1e-6
        assert float(rect.get("y", 0)) + float(rect.get("height")) <= height + 1e-6


def in_cells(image: ElementTree.Element) -> list[ElementTree.Element]:
    """The texts in cells, which ignore the mouse."""
    return [n for n in image.iter(f"{SVG}text") if n.get("pointer-events") == "none"]


def scores(n: int, longest: str) -> list[list[str]]:
    return [[longest if i == j == 0 else "0.1" for j in range(n)] for i in range(n)]


@pytest.mark.parametrize(("n", "longest"), [(3, "-12.5"), (18, "-0.1"), (34, "-0.1")])
def test_numbers_are_written_into_all_cells_in_the_size_of_the_longest(n: int, longest: str):
    image = drawn([[1.0] * n] * n, texts=scores(n, longest))
    assert [node.text for node in in_cells(image)] == [longest] + ["0.1"] * (n * n - 1)
    [size] = {float(node.get("font-size")) for node in in_cells(image)}
    cell = next(r for r in image.iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None)
    # Relative widths of Arial's digits and signs
    width = size * sum(0.56 if sign.isdigit() else 0.33 for sign in longest)
    assert size > 5.5 and width <= float(cell.get("width"))


def test_no_cell_has_a_number_where_the_longest_has_no_room():
    assert in_cells(drawn([[1.0] * 40] * 40, texts=scores(40, "-1234.5"))) == []


def test_a_cell_that_is_empty_takes_no_room_for_its_text():
    n = 34
    values = [[float("nan") if i == j == 0 else 1.0 for j in range(n)] for i in range(n)]
    image = drawn(values, texts=scores(n, "impossible, whatever comes"))
    assert [node.text for node in in_cells(image)] == ["0.1"] * (n * n - 1)


@pytest.mark.parametrize("signed", [False, True])
def test_no_number_has_the_colour_of_empty_cells(signed: bool):
    shades = {color(i / 1000, signed=signed) for i in range(1001)}
    assert EMPTY not in shades
    for shade in shades:
        red, green, blue = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
        # Unlike grays, all but the lightest shades have a hue.
        assert max(red, green, blue) - min(red, green, blue) > 8 or lightness(shade) > 3 * 240


def test_the_legend_says_what_empty_cells_are():
    with_gap = drawn([[float("nan"), 1.0], [0.0, 1.0]], empty="impossible")
    assert texts(with_gap)[-2:] == ["count", "impossible"]
    # The cell and its legend entry.
    assert [n.get("fill") for n in with_gap.iter(f"{SVG}rect")].count(EMPTY) == 2
    assert "impossible" not in texts(drawn([[1.0]], empty="impossible"))


def test_numbers_with_a_sign_are_coloured_by_their_distance_from_zero():
    image = drawn([[-2.0, 0.0], [0.5, 1.0]], signed=True)
    assert fills(image) == [color(share, signed=True) for share in (0.0, 0.5, 0.625, 0.75)]
    assert texts(image)[-4:] == ["-2", "0", "2", "count"]
    assert lightness(color(0.5, signed=True)) > 3 * 245
    below, above = (color(share, signed=True) for share in (0.2, 0.8))
    assert int(below[1:3], 16) > int(below[5:], 16) and int(above[1:3], 16) < int(above[5:], 16)


def test_only_zeros_are_neither_above_nor_below_zero():
    assert fills(drawn([[0.0]], signed=True)) == [color(0.5, signed=True)]


def test_numbers_can_be_read_on_their_colours():
    def luminance(fill: str) -> float:
        parts = [int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for signed in (False, True):
        image = drawn([[i / 20 for i in range(-20, 21)]], signed=signed, texts=[["1"] * 41])
        for fill, node in zip(fills(image), in_cells(image), strict=True):
            light, dark = sorted((luminance(fill), luminance(node.get("fill"))), reverse=True)
            assert (light + 0.05) / (dark + 0.05) > 3.8


def test_the_legend_and_the_title_are_inside_the_picture():
    legend = "what the numbers are, with their unit, and what the ends of the scale stand for"
    names = ["context fusion 1"]
    for title in ("Title", "A title that is much longer than the matrix below it, " * 2):
        svg = heat_map([[1.0]], names, ["b"], "x", "y", legend, title, empty="none")
        image = ElementTree.fromstring(svg)
        width = float(image.get("width"))
        [key] = [node for node in image.iter(f"{SVG}text") if node.text == legend]
        assert float(key.get("x")) + text_width(legend) + RIGHT <= width
        [above] = [node for node in image.iter(f"{SVG}text") if node.text == title]
        assert float(above.get("x")) == width / 2 >= text_width(title, 14) / 2
    assert drawn([[1.0]]).get("width") == str(WIDTH)


def test_the_name_of_the_axis_stands_below_the_names_of_its_columns():
    def height(row: str, column: str) -> float:
        svg = heat_map([[1.0]], [row], [column], "columns", "y", "count")
        image = ElementTree.fromstring(svg)
        return next(float(n.get("y")) for n in image.iter(f"{SVG}text") if n.text == "columns")

    assert height("a" * 12, "b") == height("a", "b") < height("a", "b" * 12)


def test_wide_letters_have_more_room():
    assert text_width("漢字") == 24.0 > text_width("ab")
    assert text_width("漢字", 6.0) == 12.0
    assert text_width("LABEL") > text_width("label")


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match=r"\[P280\]"):
        drawn([[float("nan")]])
