"""Figures and pages of label maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import altair as alt
import numpy as np

from ..figures.charts import configure
from ..figures.images import to_svg
from ..figures.pages import render
from ..figures.style import COLORS, GRAY, MARKS
from ..figures.tables import Table
from .label_map import LabelMap, groups_of

ONE, SEVERAL = 640, 440
MOST_BESIDE = 2
FONT, SMALL_FONT, MANY = 11.0, 8.5, 60
REACHES = (6.0, 14.0, 24.0, 36.0)  # distances of a label from its point; with a line if far
LETTER = 0.62  # the mean width of a capital letter or digit, relative to the font size
FAINT = "#999999"
# Label positions: to the right of the point, to the left, above, below, and diagonally.
SIDES = [
    (1.0, 0.35, "left"),
    (-1.0, 0.35, "right"),
    (0.0, -0.6, "center"),
    (0.0, 1.3, "center"),
    (0.8, -0.3, "left"),
    (-0.8, -0.3, "right"),
    (0.8, 1.0, "left"),
    (-0.8, 1.0, "right"),
]

HELP = (
    "The model treats labels that are close together as similar. Colors and markers show groups: "
    "the label of a span, or the first letter of a tag. Two dimensions show only part of the "
    "differences; the table below the map lists the most similar label by all dimensions. Where "
    "points are crowded, names are attached by lines, or omitted and counted above the map; the "
    "last table has all coordinates."
)

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Place:
    """The position of a point's name.

    x (float): The x coordinate of the text anchor.
    y (float): The y coordinate of the baseline.
    align (str): Which end of the text is at x.
    box (Tuple[float, float, float, float]): The bounding box.
    is_far (bool): Whether a line must connect it with the point.
    """

    x: float
    y: float
    align: str
    box: Box
    is_far: bool


def draw_maps(maps: Sequence[LabelMap], title: str) -> str:
    """Draw maps side by side, all at the same scale. Labels in a group have the same color and
    marker. Names that would overlap others are omitted and counted above the map.
    """
    size = ONE if len(maps) == 1 else SEVERAL
    places = np.concatenate([m.points for m in maps])
    low, high = places.min(axis=0), places.max(axis=0)
    # Labels need space beyond the outermost points.
    half = 0.5 * max(1e-9, float((high - low).max())) * (1.24 if size == ONE else 1.34)
    drawn = []
    for found in maps:
        pixels = (found.points - (low + high) / 2) / half * (size / 2) * [1, -1] + size / 2
        drawn.append(_map(found, pixels, size))
    chart = alt.concat(*drawn, columns=MOST_BESIDE, title=alt.Title(title, anchor="middle"))
    return to_svg(configure(chart).configure_view(stroke=GRAY), title)


def map_page(maps: Sequence[LabelMap], title: str) -> str:
    """Make a page of maps, with tables of the most similar labels and of the coordinates."""
    labels, groups = maps[0].labels, groups_of(maps[0].labels)
    nearest = [
        [label, group, *(f"{m.nearest[i][0]} ({m.nearest[i][1]:.2f})" for m in maps)]
        for i, (label, group) in enumerate(zip(labels, groups, strict=True))
    ]
    header = ["label", "group", *(m.name for m in maps)]
    tables = [Table("Most similar label (cosine similarity)", header, nearest)]
    for m in maps:
        rows = [[label, *(f"{v:.3f}" for v in m.points[i])] for i, label in enumerate(labels)]
        tables.append(Table(f"Coordinates: {m.name}", ["label", "x", "y"], rows))
    return render(
        "plots.html.jinja", title, intro=HELP, images=[draw_maps(maps, title)], tables=tables
    )


def _map(found: LabelMap, pixels: np.ndarray, size: int) -> Any:
    font = FONT if len(pixels) <= MANY else SMALL_FONT
    groups = groups_of(found.labels)
    taken: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in pixels]
    names, lines = [], []
    for (x, y), label in zip(pixels.tolist(), found.labels, strict=True):
        place = _free_place(x, y, label, font, taken, size)
        if place is None:
            continue
        taken.append(place.box)
        names.append({"x": place.x, "y": place.y, "label": label, "align": place.align})
        if place.is_far:
            end_x, end_y = np.clip((x, y), place.box[:2], place.box[2:]).tolist()
            lines.append({"x": x, "y": y, "x2": end_x, "y2": end_y})
    points = [
        {"x": x, "y": y, "label": label, "group": group}
        for (x, y), label, group in zip(pixels.tolist(), found.labels, groups, strict=True)
    ]
    notes = [] if found.shown is None else [f"{100 * found.shown:.0f} % of the variance"]
    if len(names) < len(points):
        notes.append(f"{len(points) - len(names)} of {len(points)} names omitted")
    title = f"{found.name} ({'; '.join(notes)})" if notes else found.name
    known = list(dict.fromkeys(groups))
    x, y = (
        axis(f"{axis.__name__.lower()}:Q", axis=None, scale=alt.Scale(domain=span, nice=False))
        for axis, span in ((alt.X, [0, size]), (alt.Y, [size, 0]))
    )
    marks = (
        alt.Chart(alt.Data(values=points))
        .mark_point(filled=True, size=45, opacity=1.0)
        .encode(
            x=x,
            y=y,
            color=_by_group(alt.Color, known, COLORS),
            shape=_by_group(alt.Shape, known, MARKS),
            description="label:N",
        )
    )
    rules = alt.Chart(alt.Data(values=lines)).mark_rule(color=FAINT, strokeWidth=1)
    texts = [
        alt.Chart(alt.Data(values=[name for name in names if name["align"] == align]))
        .mark_text(fontSize=font, align=align, baseline="alphabetic")
        .encode(x=x, y=y, text="label:N")
        for align in ("left", "right", "center")
    ]
    layers = [rules.encode(x=x, y=y, x2="x2:Q", y2="y2:Q"), marks, *texts]
    heading = alt.Title(title, fontSize=12, fontWeight="normal")
    return alt.layer(*layers, width=size, height=size, title=heading)


def _by_group(channel: Any, groups: list[str], looks: Sequence[str]) -> Any:
    values = [looks[i % len(looks)] for i in range(len(groups))]
    legend = alt.Legend(title="groups", columns=8)
    return channel("group:N", scale=alt.Scale(domain=groups, range=values), legend=legend)


def _free_place(
    x: float, y: float, label: str, font: float, taken: Sequence[Box], size: int
) -> _Place | None:
    """The nearest position of a name at which it overlaps nothing; None if there is none, since one
    readable name is better than two that overlap."""
    width = LETTER * font * len(label)
    for reach, (across, down, align) in product(REACHES, SIDES):
        at_x, at_y = x + reach * across, y + (reach + 4) * down
        left = {"left": at_x, "center": at_x - width / 2, "right": at_x - width}[align]
        box = (left, at_y - 0.85 * font, left + width, at_y + 0.25 * font)
        inside = min(box) >= 0.0 and max(box) <= size
        if inside and not _overlap(box, taken):
            return _Place(at_x, at_y, align, box, is_far=reach > REACHES[0])
    return None


def _overlap(box: Box, others: Sequence[Box]) -> bool:
    left, top, right, bottom = np.asarray(others).T
    across = np.minimum(right, box[2]) - np.maximum(left, box[0])
    down = np.minimum(bottom, box[3]) - np.maximum(top, box[1])
    return bool(((across > 0.0) & (down > 0.0)).any())
