"""Heat maps: darker cells have greater values, or values further from 0."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import ArrayLike

from ..errors import Errors
from ..printable import one_line
from .charts import configure
from .images import to_svg
from .style import EMPTY, GROWING, SIGNED, WIDTH, ink, shade, shorten

LARGEST_CELL, SMALLEST_CELL = 44.0, 9.0
LARGEST_TEXT, SMALLEST_TEXT = 11.0, 6.0  # font sizes of the numbers in cells
PANELS_WIDTH, MOST_COLUMNS = 880, 4


def heat_map(
    values: ArrayLike,
    row_names: Sequence[str],
    column_names: Sequence[str],
    x_label: str,
    y_label: str,
    legend: str,
    title: str = "",
    *,
    texts: Sequence[Sequence[str]] | None = None,
    value_range: tuple[float, float] | None = None,
    largest_cell: float = LARGEST_CELL,
    signed: bool = False,
    empty: str = "",
) -> str:
    """Draw a heat map.

    values (ArrayLike): The numbers; non-finite ones are drawn as empty cells.
        *Shape:* (rows, columns).
    row_names (Sequence[str]): The names of the rows, from the top.
    column_names (Sequence[str]): The names of the columns.
    x_label (str): The label of the columns.
    y_label (str): The label of the rows.
    legend (str): The meaning and unit of the numbers.
    title (str): The title.
    texts (Optional[Sequence[Sequence[str]]]): The texts to show in the cells if the longest one
        fits; defaults to the numbers.
    value_range (Optional[Tuple[float, float]]): The numbers with the lightest and the darkest
        color; defaults to the minimum and the maximum.
    largest_cell (float): The maximum width and height of a cell in pixels.
    signed (bool): Whether to use different colors below and above 0. The color scale is then
        symmetric around 0.
    empty (str): The meaning of empty cells, told below the title if there are any.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no finite number.
    """
    matrix = np.asarray(values, dtype=np.float64)
    known = matrix[np.isfinite(matrix)]
    if not known.size:
        raise ValueError(Errors.P280.format(title=title or legend))
    low, high = value_range or (float(known.min()), float(known.max()))
    if signed:
        high = max(abs(low), abs(high)) or 1.0
        low = -high
    cell = min(largest_cell, max(SMALLEST_CELL, WIDTH / len(column_names)))
    shown = [[f"{v:.4g}" for v in row] for row in matrix.tolist()] if texts is None else texts
    rows = _cells(matrix, "", shown, (low, high), signed=signed)
    size = _text_size([row["text"] for row in rows if row["value"] is not None], cell)
    colors = _colors((low, high), legend, signed=signed)
    base = _base(rows, row_names, column_names, x_label, y_label)
    layers = [base.mark_rect(stroke="#ffffff", aria=False).encode(color=colors)]
    if size:
        layers.append(
            base.mark_text(fontSize=size, aria=False).encode(
                text="text:N", color=alt.Color("ink:N", scale=None)
            )
        )
    note = f"gray cells: {empty}" if empty and known.size < matrix.size else alt.Undefined
    heading = alt.Title(title, subtitle=note)
    chart = alt.layer(*layers).resolve_scale(color="independent")
    return to_svg(configure(chart.properties(title=heading, **_sizes(cell))), title or legend)


def heat_maps(
    matrices: Mapping[str, ArrayLike],
    row_names: Sequence[str],
    column_names: Sequence[str],
    x_label: str,
    y_label: str,
    legend: str,
    title: str,
    *,
    value_range: tuple[float, float],
) -> str:
    """Draw heat maps (rows, columns), by their titles, that share row names, column names and
    colors. Non-finite numbers are drawn as empty cells."""
    if not matrices:
        raise ValueError(Errors.P280.format(title=title))
    rows: list[dict[str, Any]] = []
    for name, matrix in matrices.items():
        values = np.asarray(matrix, dtype=np.float64)
        rows += _cells(values, name, [[""] * values.shape[1]] * len(values), value_range)
    room = PANELS_WIDTH / min(len(matrices), MOST_COLUMNS) - 80
    cell = min(24.0, max(SMALLEST_CELL, room / len(column_names)))
    beside = max(1, min(MOST_COLUMNS, int(PANELS_WIDTH / (cell * len(column_names) + 80))))
    panel = (
        _base(rows, row_names, column_names, x_label, y_label)
        .mark_rect(aria=False)
        .encode(color=_colors(value_range, legend))
        .properties(**_sizes(cell))
    )
    header = alt.Header(title=None, labelFontWeight="bold", labelLimit=0)
    facet = alt.Facet("panel:N", sort=list(matrices), header=header)
    return to_svg(
        configure(panel.facet(facet=facet, columns=beside).properties(title=title)), title
    )


def _cells(
    matrix: np.ndarray,
    panel: str,
    texts: Sequence[Sequence[str]],
    span: tuple[float, float],
    *,
    signed: bool = False,
) -> list[dict[str, Any]]:
    """A row of data for each cell. Rows and columns are numbered, since names can be repeated."""
    low, high = span
    rows = []
    for (i, j), value in np.ndenumerate(matrix):
        share = (value - low) / (high - low) if high > low else 1.0
        share = share if math.isfinite(share) else 0.0
        rows.append(
            {
                "panel": panel,
                "row": i,
                "column": j,
                "value": float(value) if math.isfinite(value) else None,
                "text": texts[i][j] if math.isfinite(value) else "",
                "ink": ink(shade(share, SIGNED if signed else GROWING)),
            }
        )
    return rows


def _base(
    rows: Sequence[Mapping[str, Any]],
    row_names: Sequence[str],
    column_names: Sequence[str],
    x_label: str,
    y_label: str,
) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("column:O", title=x_label, axis=_axis(column_names, -90)),
        y=alt.Y("row:O", title=y_label, axis=_axis(row_names, 0)),
    )


def _sizes(cell: float) -> dict[str, Any]:
    """The size of all cells, and the color where there is none."""
    size = alt.Step(cell)
    return {"width": size, "height": size, "view": alt.ViewBackground(fill=EMPTY)}


def _axis(names: Sequence[str], angle: float) -> alt.Axis:
    shown = json.dumps([shorten(one_line(name)) for name in names])
    return alt.Axis(
        labelAngle=angle,
        labelExpr=f"({shown})[datum.value]",
        labelLimit=0,
        labelOverlap=False,
        titlePadding=12,  # the fonts of browsers are wider than those that were measured
        ticks=False,
        domain=False,
    )


def _colors(span: tuple[float, float], legend: str, *, signed: bool = False) -> alt.Color:
    scale = alt.Scale(domain=list(span), range=SIGNED if signed else GROWING, clamp=True)
    key = alt.Legend(title=legend, gradientLength=200, gradientThickness=10)
    return alt.Color("value:Q", scale=scale, legend=key)


def _text_size(texts: Sequence[str], cell: float) -> float:
    """The font size at which all texts fit into their cells; 0 if it would be too small to read.
    Showing only the short texts would make the other cells look empty."""
    # The width of digits is about 0.62 of the font size; signs and points are half as wide.
    widths = (0.62 * len(text) - 0.27 * sum(text.count(sign) for sign in "-.") for text in texts)
    size = min(LARGEST_TEXT, 0.98 * cell / max([*widths, 0.1]))
    return size if size >= SMALLEST_TEXT else 0.0
