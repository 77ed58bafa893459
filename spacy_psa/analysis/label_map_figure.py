"""Maps of labels, drawn side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from . import axes
from .axes import CHARACTER, GREY, Style
from .label_groups import groups_of
from .label_map import LabelMap
from .page import make_page, make_table
from .plots import SHAPES

ONE, SEVERAL, GAP, MARGIN = 640, 440, 16, 16
TOP, BOTTOM, LEGEND_LINE = 54, 12, 20
MOST_BESIDE = 2
FONT, SMALL_FONT, MANY = 11.0, 8.5, 60
REACH = 6.0  # from a point to its label
# Where a label may stand: to the right of its point, to the left, above, below, in the corners.
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
    "Labels that stand near each other are alike to the model. Colours and marks are groups: the "
    "label of a span, or the first letter of a tag. A plane shows only some of how labels differ; "
    "the table below the map names the label that is most similar by all dimensions."
)

Box = tuple[float, float, float, float]


def draw_maps(maps: Sequence[LabelMap], title: str) -> str:
    """Draw maps side by side, all in the same scale. Labels of a group have the same colour and
    mark; each point tells its label when the mouse is over it.

    maps (Sequence[LabelMap]): The maps, with the same labels in the same order.
    title (str): What to write above.
    RETURNS (str): An SVG image, which has no references to anything outside it.
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
    # Labels need room beyond the outermost points.
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
    """Make a page of maps, with tables of the places and of the most similar labels.

    maps (Sequence[LabelMap]): The maps.
    title (str): What they show.
    RETURNS (str): An HTML page, which loads nothing from anywhere and runs no scripts.
    """
    labels, groups = maps[0].labels, groups_of(maps[0].labels)
    nearest = [
        [label, group, *(f"{m.nearest[i][0]} ({m.nearest[i][1]:.2f})" for m in maps)]
        for i, (label, group) in enumerate(zip(labels, groups, strict=True))
    ]
    header = ["label", "group", *(m.name for m in maps)]
    body = f"<p>{HELP}</p>\n<figure>\n{draw_maps(maps, title)}</figure>\n"
    body += make_table("Most similar label (cosine of their vectors)", header, nearest)
    for m in maps:
        rows = [[label, *(f"{v:.3f}" for v in m.points[i])] for i, label in enumerate(labels)]
        body += make_table(f"Places: {m.name}", ["label", "right", "up"], rows)
    return make_page(title, body)


def _map(found: LabelMap, points: np.ndarray, styles: Sequence[Style], frame: Box) -> list[str]:
    left, top, right, bottom = frame
    name = found.name
    if found.shown is not None:
        name += f" ({100 * found.shown:.0f} % of the variance)"
    outline = f'<path d="M{left} {top}H{right}V{bottom}H{left}Z" stroke="{GREY}" fill="none"/>'
    parts = [axes.text((left + right) / 2, top - 8, name, "middle"), outline]
    font = FONT if len(points) <= MANY else SMALL_FONT
    taken: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    for (x, y), label, style in zip(points, found.labels, styles, strict=True):
        parts.append(
            f'<path d="{SHAPES[style.mark]}" transform="translate({x:.1f} {y:.1f})" '
            f'fill="{style.colour}"><title>{escape(label)}</title></path>'
        )
        options = [_beside(x, y, label, font, side) for side in SIDES]
        costs = [_overlap(box, taken) + 9 * _outside(box, frame) for _, _, _, box in options]
        at_x, at_y, anchor, box = options[int(np.argmin(costs))]
        taken.append(box)
        look = f'font-size="{font:g}" pointer-events="none"'
        parts.append(axes.text(at_x, at_y, label, anchor, look))
    return parts


def _beside(
    x: float, y: float, label: str, font: float, side: tuple[float, float, str]
) -> tuple[float, float, str, Box]:
    """Where a label would stand, and the room that it would take."""
    across, down, anchor = side
    at_x, at_y = x + REACH * across, y + (REACH + 4) * down
    width = len(label) * CHARACTER * font / 12
    left = {"start": at_x, "middle": at_x - width / 2, "end": at_x - width}[anchor]
    return at_x, at_y, anchor, (left, at_y - 0.8 * font, left + width, at_y + 0.2 * font)


def _overlap(box: Box, others: Sequence[Box]) -> float:
    left, top, right, bottom = np.asarray(others).T
    across = np.minimum(right, box[2]) - np.maximum(left, box[0])
    down = np.minimum(bottom, box[3]) - np.maximum(top, box[1])
    return float((across.clip(min=0) * down.clip(min=0)).sum())


def _outside(box: Box, frame: Box) -> float:
    left, top, right, bottom = frame
    beyond = max(0.0, left - box[0]) + max(0.0, box[2] - right)
    return (beyond + max(0.0, top - box[1]) + max(0.0, box[3] - bottom)) * FONT


def _legend(styles: dict[str, Style], y: float, width: int) -> tuple[list[str], int]:
    parts, x, line = [axes.text(MARGIN, y + 14, "groups:", "start")], MARGIN + 58.0, 0
    for name, style in styles.items():
        room = CHARACTER * len(name) + 30
        if x + room > width - MARGIN and x > MARGIN:
            x, line = float(MARGIN), line + 1
        middle = y + 10 + LEGEND_LINE * line
        parts.append(
            f'<path d="{SHAPES[style.mark]}" transform="translate({x + 6:.1f} {middle:.1f})" '
            f'fill="{style.colour}"/>'
        )
        parts.append(axes.text(x + 16, middle + 4, name, "start"))
        x += room
    return parts, LEGEND_LINE * (line + 1) + BOTTOM
