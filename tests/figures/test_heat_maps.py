"""Heat maps: what is in the image, and where."""

from __future__ import annotations

import re

import numpy as np
import pytest

from spacy_psa.figures.heat_maps import heat_map, heat_maps
from spacy_psa.figures.style import EMPTY, GROWING, SIGNED, shade, shorten

from .reading import texts

CELL = re.compile(r'<path d="M[\d.,]+h[\d.]+v[\d.]+h-[\d.]+Z" fill="rgb\((\d+), (\d+), (\d+)\)"')


def drawn(values: list[list[float]], **settings: object) -> str:
    rows, columns = [f"r{i}" for i in range(len(values))], [f"c{i}" for i in range(len(values[0]))]
    return heat_map(values, rows, columns, "x", "y", "count", **settings)


def fills(svg: str) -> list[tuple[int, ...]]:
    """The colors of the cells."""
    return [tuple(map(int, found)) for found in CELL.findall(svg)]


def rgb(color: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(color[1:]))


def test_greater_numbers_are_darker() -> None:
    shades = [sum(fill) for fill in fills(drawn([[0.0, 1.0], [2.0, 3.0]]))]
    assert shades == sorted(shades, reverse=True) and len(set(shades)) == 4


def test_range_of_colours_can_be_given() -> None:
    values = [[0.0, 50.0, 100.0, 200.0]]
    found = fills(drawn(values, value_range=(0.0, 100.0)))
    assert found == [rgb(GROWING[0]), rgb(GROWING[2]), rgb(GROWING[-1]), rgb(GROWING[-1])]


def test_numbers_that_are_not_finite_are_empty_cells_that_are_explained() -> None:
    svg = drawn([[float("nan"), 1.0], [0.0, 1.0]], empty="impossible", title="T")
    assert len(fills(svg)) == 3 and f'fill="{EMPTY}"' in svg
    assert "gray cells: impossible" in texts(svg)
    assert "gray cells: impossible" not in texts(drawn([[1.0]], empty="impossible", title="T"))


def test_names_and_legend_are_shown_and_names_may_be_repeated() -> None:
    svg = heat_map([[0.0, 1.0]] * 2, ["the", "the"], ["<a>", "b"], "x", "y", "count", "Title")
    found = texts(svg)
    assert found.count("the") == 2
    assert {"Title", "x", "y", "count", "<a>", "b"} <= set(found)


def test_texts_replace_numbers() -> None:
    assert "one <&>" in texts(drawn([[1.0]], texts=[["one <&>"]]))


def test_long_names_that_begin_alike_are_told_apart() -> None:
    names = [r"(S[dcl]\NP)/(S[b]\NP)", r"(S[dcl]\NP)/(S[to]\NP)", "VERY_LONG_LABEL_1"]
    found = texts(heat_map([[1.0]] * 3, names, ["b"], "x", "y", "count"))
    assert len({shorten(name) for name in names} & set(found)) == 3


@pytest.mark.parametrize(("n", "longest", "n_written"), [(3, "-12.5", 9), (40, "-1234.5", 0)])
def test_numbers_are_written_into_all_cells_or_none(n: int, longest: str, n_written: int) -> None:
    shown = [[longest if i == j == 0 else "0.1" for j in range(n)] for i in range(n)]
    found = texts(drawn([[1.0] * n] * n, texts=shown))
    assert sum(text in ("0.1", longest) for text in found) == n_written


def test_numbers_with_a_sign_are_coloured_by_their_distance_from_zero() -> None:
    found = fills(drawn([[-2.0, 0.0, 2.0]], signed=True))
    assert found == [rgb(SIGNED[0]), rgb(SIGNED[3]), rgb(SIGNED[-1])]
    assert fills(drawn([[0.0]], signed=True)) == [rgb(SIGNED[3])]


def test_numbers_can_be_read_on_their_colours() -> None:
    def luminance(color: tuple[int, ...]) -> float:
        parts = [part / 255 for part in color]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for signed in (False, True):
        values = [[i / 20 for i in range(-20, 21)]]
        svg = drawn(values, signed=signed, texts=[["1"] * 41])
        inks = re.findall(r'font-size="[\d.]+px" fill="(#\w+)">1<', svg)
        assert len(inks) == 41
        for fill, ink in zip(fills(svg), inks, strict=True):
            light, dark = sorted((luminance(fill), luminance(rgb(ink))), reverse=True)
            assert (light + 0.05) / (dark + 0.05) > 3.8


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P280\]"):
        drawn([[float("nan")]])
    with pytest.raises(ValueError, match=r"\[P280\]"):
        heat_maps({}, ["a"], ["b"], "x", "y", "count", "T", value_range=(0, 1))


def test_matrices_share_names_and_colours() -> None:
    matrices = {f"head {i}": np.full((2, 3), 25.0 * i) for i in range(5)}
    svg = heat_maps(
        matrices, ["a", "b"], ["c", "d", "e"], "to", "from", "weight", "T", value_range=(0, 100)
    )
    assert set(matrices) | {"T", "weight", "to", "from"} <= set(texts(svg))
    assert fills(svg) == [rgb(GROWING[i]) for i in range(5) for _ in range(6)]


def test_shades_of_shares_are_those_of_heat_maps() -> None:
    assert [shade(i / 4) for i in range(5)] == GROWING
    assert shade(-1.0) == GROWING[0] and shade(2.0) == GROWING[-1]


def test_names_are_not_cut_between_a_letter_and_its_marks() -> None:
    assert shorten("abcdefghijklmnopqrst") == "abcdefgh…nopqrst"
    assert shorten("e\u0301" * 12) == "e\u0301" * 4 + "…" + "e\u0301" * 3
    assert shorten("a" + "e\u0301" * 12) == "a" + "e\u0301" * 3 + "…" + "e\u0301" * 3
    assert shorten("\u0301" * 20) == "…"
