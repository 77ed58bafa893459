"""Tables of texts, for the terminal, Markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from wasabi import table as wasabi_table

DASH = "-"


@dataclass
class Table:
    """A table of texts.

    title (str): What it is about.
    header (List[str]): The names of the columns.
    rows (List[List[str]]): The rows, each as long as the header.
    numbers (bool): Whether all columns but the first are of numbers, which stand to the right.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    numbers: bool = True

    def to_markdown(self) -> str:
        """RETURNS (str): The table in Markdown, below its title."""
        rule = "---:" if self.numbers else "---"
        lines = [self.header, ["---"] + [rule] * (len(self.header) - 1), *self.rows]
        cells = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
        return f"### {self.title}\n\n" + "".join(f"| {line} |\n" for line in cells)

    def to_html(self) -> str:
        """RETURNS (str): The table in HTML, without its title."""
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in self.header)
        body = "".join(f"<tr>{_row(cells)}</tr>\n" for cells in self.rows)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"

    def to_text(self) -> str:
        """RETURNS (str): The table for the terminal, without its title."""
        numbers: Literal["r", "l"] = "r" if self.numbers else "l"
        aligns = ("l", *[numbers] * (len(self.header) - 1))
        return wasabi_table(self.rows, header=self.header, divider=True, aligns=aligns)


def percent(value: float | None, decimals: int = 2) -> str:
    """Write a share in percent.

    value (Optional[float]): The share, 0 to 1.
    decimals (int): How many decimals.
    RETURNS (str): The number; a dash where there is none.
    """
    if value is None or math.isnan(value):
        return DASH
    return f"{100 * value:.{decimals}f}"


def interval(ends: Sequence[float] | None, decimals: int = 2) -> str:
    """Write an interval in percent.

    ends (Optional[Sequence[float]]): Its low and its high end.
    decimals (int): How many decimals.
    RETURNS (str): As in `91.02–92.31`; a dash where there is none.
    """
    if ends is None:
        return DASH
    low, high = (percent(end, decimals).replace("-", "\u2212") for end in ends)
    return f"{low} to {high}" if "\u2212" in low + high else f"{low}\u2013{high}"


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    return f'<th scope="row">{escape(first)}</th>' + "".join(
        f"<td>{escape(cell)}</td>" for cell in others
    )
