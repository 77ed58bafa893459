"""Figures and pages of label maps."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from spacy_psa.analysis.axes import styles
from spacy_psa.analysis.label_groups import groups_of
from spacy_psa.analysis.label_map import LabelVectors, map_labels
from spacy_psa.analysis.label_map_figure import FAINT, draw_maps, map_page
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
        group: {(style.color, SHAPES[style.mark])}
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


def boxes(svg: str, labels: list[str]) -> dict[str, tuple[float, float, float, float]]:
    """Approximate bounding boxes of the names on a map."""
    found = {}
    for node in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        if node.get("pointer-events") == "none" and node.text in labels:
            size, x, y = (float(node.get(name)) for name in ("font-size", "x", "y"))
            width = 0.6 * size * len(node.text)
            left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[node.get("text-anchor")]
            found[node.text] = (left, y - 0.7 * size, left + width, y)
    return found


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3, 4.0])
def test_no_name_covers_another_and_those_left_out_are_counted(spread: float) -> None:
    labels = [f"LABEL-{i}" for i in range(40)]
    vectors = spread * np.random.default_rng(0).normal(size=(40, 2))
    vectors[-1] = 5.0
    [found] = map_labels([LabelVectors("model", labels, vectors)])
    svg = draw_maps([found], "Title")
    shown = boxes(svg, labels)
    for (_, a), (_, b) in combinations(shown.items(), 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    left_out = len(labels) - len(shown)
    assert shown and (left_out > 0) == (spread < 1.0)
    above = next(text for text in texts(svg) if text.startswith("model ("))
    assert (f"; {left_out} of 40 names omitted)" in above) == (left_out > 0)
    # All points are drawn, with their labels as tooltips.
    marks = [node.findtext(f"{SVG}title") for node in parse(svg).iter(f"{SVG}path")]
    assert sorted(filter(None, marks)) == sorted(labels)


def test_names_that_are_moved_away_have_a_line_to_their_point() -> None:
    labels = [f"LABEL-{i}" for i in range(12)]
    vectors = np.zeros((12, 2))
    vectors[-1] = 5.0
    svg = draw_maps(map_labels([LabelVectors("model", labels, vectors)]), "Title")
    lines = [n for n in parse(svg).iter(f"{SVG}path") if n.get("stroke") == FAINT]
    assert 0 < len(lines) < len(boxes(svg, labels))


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
