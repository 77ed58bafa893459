"""Several heat maps with the same rows and columns side by side, as one SVG image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import Errors
from . import axes
from .heatmap import BAR_HEIGHT, EMPTY, _key, color, shorten

WIDTH, LEFT, RIGHT, TOP, GAP = 960, 36, 16, 44, 16
LARGEST_CELL, SMALLEST_CELL, MOST_COLUMNS = 24.0, 8.0, 4
SHADES = 32


def heat_maps(
    matrices: Mapping[str, ArrayLike],
    row_names: list[str],
    column_names: list[str],
    x_label: str,
    y_label: str,
    legend: str,
    title: str,
    *,
    value_range: tuple[float, float],
) -> str:
    """Draw heat maps that share row names, column names and colors. The colors are quantized to a
    few dozen shades, which keeps images of many matrices small.

    matrices (Mapping[str, ArrayLike]): The numbers by the title of each matrix; non-finite ones are
        drawn as empty cells. *Shape of each:* (rows, columns).
    row_names (List[str]): The names of the rows, from the top.
    column_names (List[str]): The names of the columns.
    x_label (str): The label of the columns.
    y_label (str): The label of the rows.
    legend (str): The meaning and unit of the numbers.
    title (str): The title.
    value_range (Tuple[float, float]): The numbers with the lightest and the darkest color.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no matrix to draw.
    """
    arrays = {name: np.asarray(matrix, dtype=np.float64) for name, matrix in matrices.items()}
    if not arrays:
        raise ValueError(Errors.P280.format(title=title))
    n_rows, n_columns = len(row_names), len(column_names)
    names = [shorten(name) for name in (*row_names, *column_names)]
    per_line, cell, size = _fit(len(arrays), n_columns, names)
    margin = max(axes.text_width(name, size) for name in names) + 10
    left = LEFT + margin
    step_x, step_y = n_columns * cell + GAP, n_rows * cell + margin + 2 * GAP
    parts = [axes.text(WIDTH / 2, 22, title, "middle", 'font-weight="bold" font-size="14"')]
    for k, (name, matrix) in enumerate(arrays.items()):
        x, y = left + step_x * (k % per_line), TOP + 8 + step_y * (k // per_line)
        parts.append(axes.text(x, y - 5, name, "start", 'font-weight="bold"'))
        parts += _cells(matrix, x, y, cell, value_range)
        for i, row_name in enumerate(row_names if k % per_line == 0 else []):
            middle = y + cell * (i + 0.5) + size / 3
            parts.append(axes.text(x - 5, middle, shorten(row_name), "end", _font(size)))
        for j, column_name in enumerate(column_names):
            middle, floor = x + cell * (j + 0.5) + size / 3, y + cell * n_rows + 5
            turned = f'transform="rotate(-90 {middle:.5g} {floor:.5g})" {_font(size)}'
            parts.append(axes.text(middle, floor, shorten(column_name), "end", turned))
    bottom = TOP + step_y * math.ceil(len(arrays) / per_line)
    parts.append(axes.text(left, bottom + 2, f"columns: {x_label}; rows: {y_label}", "start"))
    parts += _key(left, bottom + GAP, *value_range, legend)
    return axes.image(parts, math.ceil(bottom + GAP + BAR_HEIGHT + 28), title, width=WIDTH)


def _fit(n: int, n_columns: int, names: Sequence[str]) -> tuple[int, float, float]:
    """The number of matrices per row, the size of a cell and the font size of names."""

    def cell_of(per_line: int) -> float:
        size = 11.0
        room = WIDTH - LEFT - RIGHT - 10 - max(axes.text_width(name, size) for name in names)
        return min(LARGEST_CELL, (room - GAP * (per_line - 1)) / (per_line * n_columns))

    fitting = [k for k in range(1, min(n, MOST_COLUMNS) + 1) if cell_of(k) >= SMALLEST_CELL]
    per_line = max(fitting, default=1)
    cell = cell_of(per_line)
    return per_line, cell, min(11.0, max(6.0, cell))


def _font(size: float) -> str:
    return f'font-size="{size:.3g}"'


def _cells(
    matrix: NDArray[np.float64], x: float, y: float, size: float, value_range: tuple[float, float]
) -> list[str]:
    """Draw all cells of the same color as one path, and adjacent ones as one rectangle."""
    low, high = value_range
    span = high - low if high > low else 1.0
    known = np.isfinite(matrix)
    shares = np.clip((np.where(known, matrix, low) - low) / span, 0.0, 1.0)
    shades = np.where(known, np.rint(shares * (SHADES - 1)), -1).astype(int)
    height, width = shades.shape
    runs: dict[int, list[str]] = {}
    for i, row in enumerate(shades):
        starts = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), width]
        for start, end in pairwise(starts):
            place = f"M{x + start * size:.1f} {y + i * size:.1f}"
            across = (end - start) * size
            piece = f"{place}h{across:.1f}v{size:.1f}h-{across:.1f}z"
            runs.setdefault(int(row[start]), []).append(piece)
    drawn = [
        f'<path fill="{EMPTY if shade < 0 else color(shade / (SHADES - 1))}" d="{"".join(d)}"/>'
        for shade, d in sorted(runs.items())
    ]
    lines = [f"M{x:.1f} {y + i * size:.1f}h{width * size:.1f}" for i in range(height + 1)]
    lines += [f"M{x + j * size:.1f} {y:.1f}v{height * size:.1f}" for j in range(width + 1)]
    frame = f"M{x:.1f} {y:.1f}h{width * size:.1f}v{height * size:.1f}h-{width * size:.1f}z"
    drawn.append(f'<path stroke="#ffffff" stroke-width="0.6" fill="none" d="{"".join(lines)}"/>')
    drawn.append(f'<path stroke="{axes.LIGHT}" fill="none" d="{frame}"/>')
    return drawn
