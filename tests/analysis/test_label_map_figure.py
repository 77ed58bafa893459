"""Pictures and pages of maps of labels."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from spacy_psa.analysis.axes import styles
from spacy_psa.analysis.label_groups import groups_of
from spacy_psa.analysis.label_map import map_labels
from spacy_psa.analysis.label_map_figure import draw_maps, map_page
from spacy_psa.analysis.plots import SHAPES

from .inside import SVG, parse, tables, texts
from .test_label_map import SPAN_TAGS, TAGS, distances, random_vectors


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_label_stands_on_every_map(n: int) -> None:
    models = [random_vectors(i, name=f"step {i}") for i in range(n)]
    svg = draw_maps(map_labels(models), "Title")
    shown = texts(svg)
    assert all(shown.count(tag) == n for tag in TAGS)
    assert shown[0] == "Title"
    for i in range(n):
        assert any(text.startswith(f"step {i} (") for text in shown)
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    for node in root.iter(f"{SVG}text"):
        assert 0 <= float(node.get("x")) <= width and 0 <= float(node.get("y")) <= height


def test_groups_have_their_own_colour_and_mark_in_map_and_legend() -> None:
    svg = draw_maps(map_labels([random_vectors(labels=SPAN_TAGS)]), "Title")
    root = ElementTree.fromstring(svg)
    marks = [node for node in root.iter(f"{SVG}path") if node.get("d") in SHAPES.values()]
    looks = {}
    for node in marks:
        label = node.findtext(f"{SVG}title")
        if label is not None:
            looks.setdefault(groups_of(SPAN_TAGS)[SPAN_TAGS.index(label)], set()).add(
                (node.get("fill"), node.get("d"))
            )
    expected = {
        group: {(style.colour, SHAPES[style.mark])}
        for group, style in zip(["O", "NP", "VP"], styles(3), strict=True)
    }
    assert looks == expected
    assert len(marks) == len(SPAN_TAGS) + 3
    assert texts(svg)[-3:] == ["O", "NP", "VP"]


def test_points_stand_where_the_map_has_them() -> None:
    [found] = map_labels([random_vectors()])
    root = ElementTree.fromstring(draw_maps([found], "Title"))
    places = []
    for node in root.iter(f"{SVG}path"):
        if node.find(f"{SVG}title") is not None:
            x, y = node.get("transform").removeprefix("translate(").rstrip(")").split()
            places.append([float(x), -float(y)])
    drawn, real = distances(np.array(places)), distances(found.points)
    scale = drawn.sum() / real.sum()
    np.testing.assert_allclose(drawn, scale * real, atol=0.3)
    right = np.argmax(found.points[:, 0])
    assert np.argmax(np.array(places)[:, 0]) == right


def test_page_has_the_map_and_its_numbers() -> None:
    labels = ["<b>", "&", "NN", "VB"]
    maps = map_labels([random_vectors(labels=labels, name="<x>")])
    page = map_page(maps, "Labels & more")
    root = parse(page)
    assert root.findtext("body/h1") == "Labels & more"
    assert len(list(root.iter(f"{SVG}svg"))) == 1
    assert "script" not in page and "<b>" not in page
    nearest, places = tables(page).values()
    assert [row[0] for row in nearest[1:]] == maps[0].labels
    assert nearest[1][2] == f"{maps[0].nearest[0][0]} ({maps[0].nearest[0][1]:.2f})"
    np.testing.assert_allclose(
        [[float(cell) for cell in row[1:]] for row in places[1:]], maps[0].points, atol=5.1e-4
    )
