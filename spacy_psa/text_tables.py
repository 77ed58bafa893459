"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wasabi import table

from .printable import printable

# wasabi limits columns to 30 characters, and longer cells shift the columns after them
WIDEST = 10_000


def text_table(
    rows: Sequence[Sequence[str]],
    header: Sequence[str],
    aligns: Sequence[Literal["l", "c", "r"]] | None = None,
) -> str:
    """Format a table, with columns as wide as their content."""
    cells = [[printable(cell).replace("\n", " ") for cell in row] for row in rows]
    return table(cells, header=header, divider=True, aligns=aligns, max_col=WIDEST)
