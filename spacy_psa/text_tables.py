"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wasabi import table

# wasabi's own limit is 30 characters, and what is longer shifts the columns after it
WIDEST = 10_000


def text_table(
    rows: Sequence[Sequence[str]],
    header: Sequence[str],
    aligns: Sequence[Literal["l", "c", "r"]] | None = None,
) -> str:
    """Write a table, with columns as wide as what they have.

    rows (Sequence[Sequence[str]]): The cells, row by row.
    header (Sequence[str]): The names of the columns.
    aligns (Optional[Sequence[str]]): "l", "c" or "r" for each column; None for the left.
    RETURNS (str): The table.
    """
    return table(rows, header=header, divider=True, aligns=aligns, max_col=WIDEST)
