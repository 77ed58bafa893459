"""Figures and pages of label maps."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from spacy_psa.analysis.label_map import LabelVectors, groups_of, map_labels
from spacy_psa.analysis.label_map_figure import FAINT, draw_maps, map_page

from ..figures.reading import SVG, marks, place, texts
from .inside import parse, tables
from .test_label_map import SPAN_TAGS, TAGS, distances, random_vectors


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_label_stands_on_every_map(n: int) -> None:
    models = [random_vectors(i, name=f"step {i}") for i in range(n)]
    shown = texts(draw_maps(map_labels(models), "Title"))
    assert all(shown.count(tag) == n for tag in TAGS)
    assert "Title" in shown
    assert all(any(text.startswith(f"step {i} (") for text in shown) for i in range(n))


def test_groups_have_their_own_colour_and_mark_in_map_and_legend() -> None:
    svg = draw_maps(map_labels([random_vectors(labels=SPAN_TAGS)]), "Title")
    looks: dict[str, set[tuple[str | None, str | None]]] = {}
    for label, node in marks(svg, "point").items():
        group = groups_of(SPAN_TAGS)[SPAN_TAGS.index(label)]
        looks.setdefault(group, set()).add((node.get("fill"), node.get("d")))
    assert list(looks) == ["O", "NP", "VP"]
    assert all(len(found) == 1 for found in looks.values())
    assert len({look for found in looks.values() for look in found}) == 3
    assert {"groups", "O", "NP", "VP"} <= set(texts(svg))


def test_points_stand_where_the_map_has_them() -> None:
    [found] = map_labels([random_vectors()])
    points = marks(draw_maps([found], "Title"), "point")
    places = np.array([place(points[label]) for label in found.labels]) * [1, -1]
    drawn, real = distances(places), distances(found.points)
    np.testing.assert_allclose(drawn, drawn.sum() / real.sum() * real, atol=0.3)
    assert np.argmax(places[:, 0]) == np.argmax(found.points[:, 0])


def boxes(svg: str, labels: list[str]) -> dict[str, tuple[float, float, float, float]]:
    """Approximate bounding boxes of the names on a map."""
    found = {}
    for node in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        if node.text in labels:
            (x, y), size = place(node), float(node.get("font-size", "").removesuffix("px"))
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
    # All points are drawn, and screen readers tell their labels.
    assert sorted(marks(svg, "point")) == sorted(labels)


def test_names_that_are_moved_away_have_a_line_to_their_point() -> None:
    labels = [f"LABEL-{i}" for i in range(12)]
    vectors = np.zeros((12, 2))
    vectors[-1] = 5.0
    svg = draw_maps(map_labels([LabelVectors("model", labels, vectors)]), "Title")
    assert 0 < svg.count(f'stroke="{FAINT}"') < len(boxes(svg, labels))


def test_page_has_the_map_and_its_numbers() -> None:
    labels = ["<b>", "&", "NN", "VB"]
    maps = map_labels([random_vectors(labels=labels, name="<x>")])
    page = map_page(maps, "Labels & more")
    root = parse(page)
    assert root.findtext("body/h1") == "Labels & more"
    assert len(list(root.iter(f"{SVG}svg"))) == 1
    assert "<script" not in page and "<b>" not in page
    nearest, places = tables(page).values()
    assert [row[0] for row in nearest[1:]] == maps[0].labels
    assert nearest[1][2] == f"{maps[0].nearest[0][0]} ({maps[0].nearest[0][1]:.2f})"
    np.testing.assert_allclose(
        [[float(cell) for cell in row[1:]] for row in places[1:]], maps[0].points, atol=5.1e-4
    )
