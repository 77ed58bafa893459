"""Tables of texts, for the terminal, Markdown and HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..analysis.page import make_table, printable
from ..text_tables import text_table

DASH = "-"
# What Markdown may read otherwise, wherever in a line it stands. Within a word, `_` is none.
MARKDOWN_SIGNS = re.compile(r"[\\`*\[\]<>#|~&]|(?<![^\W_])_|_(?![^\W_])")


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

    def to_markdown(self, *, plain: bool = False) -> str:
        """Write the table in Markdown, below its title.

        plain (bool): Whether title and cells are plain texts, of which nothing is to be read as
            Markdown. If not, they are Markdown, such as code in backticks.
        RETURNS (str): The text.
        """
        rule = "---:" if self.numbers else "---"
        lines = [self.header, ["---"] + [rule] * (len(self.header) - 1), *self.rows]
        title = markdown_text(self.title) if plain else self.title
        written = [[_cell(cell, plain=plain) for cell in line] for line in lines]
        return f"### {title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in written)

    def to_html(self) -> str:
        """RETURNS (str): The table in HTML, without its title."""
        return make_table(self.title, self.header, self.rows, caption=False)

    def to_text(self) -> str:
        """RETURNS (str): The table for the terminal, without its title."""
        numbers: Literal["r", "l"] = "r" if self.numbers else "l"
        aligns = ("l", *[numbers] * (len(self.header) - 1))
        return text_table(self.rows, self.header, aligns)


def visible(text: str) -> str:
    """RETURNS (str): A text in one line, with signs for what is not to be seen; nothing if it is
    empty.
    """
    return printable(text) if text else ""


def markdown_text(text: str) -> str:
    """Write a text in Markdown.

    text (str): Any text.
    RETURNS (str): The text in one line, of which nothing is read as Markdown or HTML, unless it is
        at the beginning of a line.
    """
    return MARKDOWN_SIGNS.sub(r"\\\g<0>", visible(text))


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


def _cell(cell: str, *, plain: bool) -> str:
    return markdown_text(cell) if plain else cell.replace("|", "\\|")
