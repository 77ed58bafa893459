"""Figures and pages of label maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..printable import escape
from . import axes
from .axes import CHARACTER, GRAY, Style
from .label_groups import groups_of
from .label_map import LabelMap
from .page import make_page, make_table
from .plots import SHAPES

ONE, SEVERAL, GAP, MARGIN = 640, 440, 16, 16
TOP, BOTTOM, LEGEND_LINE = 54, 12, 20
MOST_BESIDE = 2
FONT, SMALL_FONT, MANY = 11.0, 8.5, 60
REACHES = (6.0, 14.0, 24.0, 36.0)  # distances of a label from its point; with a line if far
FAINT = "#999999"
# A white outline keeps lines from touching letters.
HALO = 'stroke="#ffffff" stroke-width="2.5" stroke-linejoin="round" paint-order="stroke"'
# Label positions: to the right of the point, to the left, above, below, and diagonally.
SIDES = [
    (1.0, 0.35, "start"),
    (-1.0, 0.35, "end"),
    (0.0, -0.6, "middle"),
    (0.0, 1.3, "middle"),
    (0.8, -0.3, "start"),
    (-0.8, -0.3, "end"),
    (0.8, 1.0, "start"),
    (-0.8, 1.0, "end"),
]

HELP = (
    "The model treats labels that are close together as similar. Colors and markers show groups: "
    "the label of a span, or the first letter of a tag. Two dimensions show only part of the "
    "differences; the table below the map lists the most similar label by all dimensions. Where "
    "points are crowded, names are attached by lines, or omitted and counted above the map. Hover "
    "over a point to see its label; the last table has all coordinates."
)

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Place:
    """The position of a point's name.

    x (float): The x coordinate of the text anchor.
    y (float): The y coordinate of the baseline.
    anchor (str): Which end of the text is at x.
    box (Tuple[float, float, float, float]): The bounding box.
    is_far (bool): Whether a line must connect it with the point.
    """

    x: float
    y: float
    anchor: str
    box: Box
    is_far: bool


def draw_maps(maps: Sequence[LabelMap], title: str) -> str:
    """Draw maps side by side, all at the same scale. Labels in a group have the same color and
    marker; hovering over a point shows its label. Names that would overlap others are omitted and
    counted above the map.

    maps (Sequence[LabelMap]): The maps, with the same labels in the same order.
    title (str): The title.
    RETURNS (str): A self-contained SVG image.
    """
    size = ONE if len(maps) == 1 else SEVERAL
    beside = min(len(maps), MOST_BESIDE)
    width = beside * size + (beside - 1) * GAP + 2 * MARGIN
    groups = groups_of(maps[0].labels)
    names = list(dict.fromkeys(groups))
    styles = dict(zip(names, axes.styles(len(names)), strict=True))
    own = [styles[group] for group in groups]
    places = np.concatenate([m.points for m in maps])
    low, high = places.min(axis=0), places.max(axis=0)
    middle = (low + high) / 2
    # Labels need space beyond the outermost points.
    half = 0.5 * max(1e-9, float((high - low).max())) * (1.24 if size == ONE else 1.34)
    parts = [axes.text(width / 2, 22, title, "middle", 'font-weight="bold" font-size="14"')]
    for i, found in enumerate(maps):
        x = MARGIN + (size + GAP) * (i % beside)
        y = TOP + (size + TOP) * (i // beside)
        scaled = (found.points - middle) / half * (size / 2) * [1, -1] + size / 2 + [x, y]
        parts += _map(found, scaled, own, (x, y, x + size, y + size))
    bottom = TOP + (size + TOP) * math.ceil(len(maps) / beside) - TOP + BOTTOM
    legend, height = _legend(styles, bottom, width)
    return axes.image([*parts, *legend], bottom + height, title, width=width)


def map_page(maps: Sequence[LabelMap], title: str) -> str:
    """Make a page of maps, with tables of the most similar labels and of the coordinates.

    maps (Sequence[LabelMap]): The maps.
    title (str): The title.
    RETURNS (str): A self-contained HTML page without scripts.
    """
    labels, groups = maps[0].labels, groups_of(maps[0].labels)
    nearest = [
        [label, group, *(f"{m.nearest[i][0]} ({m.nearest[i][1]:.2f})" for m in maps)]
        for i, (label, group) in enumerate(zip(labels, groups, strict=True))
    ]
    header = ["label", "group", *(m.name for m in maps)]
    body = f"<p>{HELP}</p>\n<figure>\n{draw_maps(maps, title)}</figure>\n"
    body += make_table("Most similar label (cosine similarity)", header, nearest)
    for m in maps:
        rows = [[label, *(f"{v:.3f}" for v in m.points[i])] for i, label in enumerate(labels)]
        body += make_table(f"Coordinates: {m.name}", ["label", "x", "y"], rows)
    return make_page(title, body)


def _map(found: LabelMap, points: np.ndarray, styles: Sequence[Style], frame: Box) -> list[str]:
    left, top, right, bottom = frame
    font = FONT if len(points) <= MANY else SMALL_FONT
    marks, names, lines = [], [], []
    taken: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    for (x, y), label, style in zip(points, found.labels, styles, strict=True):
        marks.append(
            f'<path d="{SHAPES[style.mark]}" transform="translate({x:.1f} {y:.1f})" '
            f'fill="{style.color}"><title>{escape(label)}</title></path>'
        )
        place = _free_place(x, y, label, font, taken, frame)
        if place is None:
            continue
        taken.append(place.box)
        look = f'font-size="{font:g}" pointer-events="none" {HALO}'
        names.append(axes.text(place.x, place.y, label, place.anchor, look))
        if place.is_far:
            end_x, end_y = np.clip((x, y), place.box[:2], place.box[2:])
            lines.append(axes.line(x, y, float(end_x), float(end_y), FAINT))
    notes = [] if found.shown is None else [f"{100 * found.shown:.0f} % of the variance"]
    if len(names) < len(points):
        notes.append(f"{len(points) - len(names)} of {len(points)} names omitted")
    title = f"{found.name} ({'; '.join(notes)})" if notes else found.name
    outline = f'<path d="M{left} {top}H{right}V{bottom}H{left}Z" stroke="{GRAY}" fill="none"/>'
    above = axes.text((left + right) / 2, top - 8, title, "middle")
    return [above, outline, *lines, *marks, *names]


def _free_place(
    x: float, y: float, label: str, font: float, taken: Sequence[Box], frame: Box
) -> _Place | None:
    """The nearest position of a name at which it overlaps nothing; None if there is none, since one
    readable name is better than two that overlap."""
    for reach in REACHES:
        for side in SIDES:
            place = _beside(x, y, label, font, side, reach)
            if not _overlap(place.box, taken) and not _is_outside(place.box, frame):
                return place
    return None


def _beside(
    x: float, y: float, label: str, font: float, side: tuple[float, float, str], reach: float
) -> _Place:
    """A candidate position of a name, with its bounding box."""
    across, down, anchor = side
    at_x, at_y = x + reach * across, y + (reach + 4) * down
    width = axes.text_width(label, font)
    left = {"start": at_x, "middle": at_x - width / 2, "end": at_x - width}[anchor]
    box = (left, at_y - 0.85 * font, left + width, at_y + 0.25 * font)
    return _Place(at_x, at_y, anchor, box, is_far=reach > REACHES[0])


def _overlap(box: Box, others: Sequence[Box]) -> bool:
    left, top, right, bottom = np.asarray(others).T
    across = np.minimum(right, box[2]) - np.maximum(left, box[0])
    down = np.minimum(bottom, box[3]) - np.maximum(top, box[1])
    return bool(((across > 0.0) & (down > 0.0)).any())


def _is_outside(box: Box, frame: Box) -> bool:
    left, top, right, bottom = frame
    return box[0] < left or box[1] < top or box[2] > right or box[3] > bottom


def _legend(styles: dict[str, Style], y: float, width: int) -> tuple[list[str], int]:
    parts, x, line = [axes.text(MARGIN, y + 14, "groups:", "start")], MARGIN + 58.0, 0
    for name, style in styles.items():
        room = CHARACTER * len(name) + 30
        if x + room > width - MARGIN and x > MARGIN:
            x, line = float(MARGIN), line + 1
        middle = y + 10 + LEGEND_LINE * line
        parts.append(
            f'<path d="{SHAPES[style.mark]}" transform="translate({x + 6:.1f} {middle:.1f})" '
            f'fill="{style.color}"/>'
        )
        parts.append(axes.text(x + 16, middle + 4, name, "start"))
        x += room
    return parts, LEGEND_LINE * (line + 1) + BOTTOM
