"""Tables for the terminal and Markdown; `pages` shows them in HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..printable import one_line, printable
from ..terminal import text_table

DASH = "-"
# Characters that can be Markdown markup anywhere in a line. Within a word, `_` is not markup.
# Numbers, percentages, intervals, and numbers in parentheses or emphasis
FIGURE = re.compile(r"[\s*(\[<>=~+\-\u2212]*[\d.]")
MARKDOWN_SIGNS = re.compile(r"[\\`*\[\]<>#|~&]|(?<![^\W_])_|_(?![^\W_])")


@dataclass
class Table:
    """A text table.

    title (str): The title.
    header (List[str]): The names of the columns.
    rows (List[List[str]]): The rows, each as long as the header.
    note (str): What explains its terms, below it in Markdown and on pages.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""

    @property
    def aligns(self) -> list[Literal["l", "r"]]:
        """Columns of numbers are aligned to the right, all others and the first to the left."""
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.header)
        return ["l", *("r" if _has_numbers(column) else "l" for column in columns[1:])]

    def to_markdown(self, *, plain: bool = False) -> str:
        """Format the table in Markdown, below its title. Unless title and cells are plain text, to
        be escaped, they are Markdown, such as code in backticks."""
        rules = ["---" if align == "l" else "---:" for align in self.aligns]
        rows = [self.header, rules, *self.rows]
        title = markdown_text(self.title) if plain else printable(self.title)
        written = [[_cell(cell, plain=plain) for cell in row] for row in rows]
        note = markdown_text(self.note) if plain else printable(self.note)
        lines = [f"### {title}", "", *(f"| {' | '.join(line)} |" for line in written)]
        return "\n".join([*lines, *(["", note] if note else [])]) + "\n"

    def to_text(self) -> str:
        """RETURNS (str): The table for the terminal, without its title."""
        return text_table(self.rows, self.header, self.aligns)


def visible(text: str) -> str:
    """RETURNS (str): The text on one line, with control characters made visible; empty if the text
    is empty.
    """
    return one_line(text) if text else ""


def markdown_text(text: str) -> str:
    """Escape text for Markdown, on one line, with Markdown and HTML escaped, except markup that is
    only recognized at the beginning of a line."""
    return MARKDOWN_SIGNS.sub(r"\\\g<0>", visible(text))


def percent(value: float | None, decimals: int = 2) -> str:
    """Format a fraction from 0 to 1 as a percentage; a dash if there is none."""
    if value is None or math.isnan(value):
        return DASH
    # Rounded first: 23 of 160 is 14.375 %, but 100 * 0.14375 is less.
    return f"{round(100 * value, 10):.{decimals}f}"


def interval(ends: Sequence[float] | None) -> str:
    """Format an interval in percent, e.g. `91.02–92.31`; a dash if there is none."""
    if ends is None:
        return DASH
    low, high = (percent(end).replace("-", "\u2212") for end in ends)
    return f"{low} to {high}" if "\u2212" in low + high else f"{low}\u2013{high}"


def counted(n: int, names: str, kind: str = "") -> str:
    """Format a number of things, given their name in the plural and what comes before it."""
    name = names[:-3] + "y" if names.endswith("ies") else names.removesuffix("s")
    return " ".join(filter(None, [f"{n:,}", kind, name if n == 1 else names]))


def _has_numbers(cells: Sequence[str]) -> bool:
    return all(FIGURE.match(cell) for cell in cells if cell not in ("", DASH, "\u2013"))


def _cell(cell: str, *, plain: bool) -> str:
    return markdown_text(cell) if plain else printable(cell).replace("\n", " ").replace("|", "\\|")
