"""Print messages, text, tables and progress. Their content cannot control the terminal."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Literal

from tqdm import tqdm
from wasabi import Printer, row

from .printable import printable, width_of


class SafePrinter(Printer):
    """wasabi's printer, whose own colors are the only control characters that it prints."""

    def text(self, title: Any = "", text: Any = "", *args: Any, **kwargs: Any) -> Any:
        return super().text(printable(str(title)), printable(str(text)), *args, **kwargs)

    def divider(self, text: str = "", *args: Any, **kwargs: Any) -> Any:
        return super().divider(printable(text), *args, **kwargs)


class ProgressBar(tqdm):
    """tqdm's progress bar. Its description may be any text."""

    def __str__(self) -> str:
        return printable(super().__str__()).replace("\n", " ")


class SafeStream:
    """A stream for the output of other packages.

    stream (IO): Where the output goes.
    """

    def __init__(self, stream: IO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """The number of characters written."""
        return self._stream.write(printable(text))


def show(text: str, end: str = "\n") -> None:
    """Print text as it is, without wrapping its lines."""
    print(printable(text), end=end)


msg = SafePrinter()

# How messages of spaCy and of this package begin
CODE = re.compile(r"\[W\d+\]")


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings of spaCy and of this package to standard error as one line, each once, without
    the place in the code that Python's own format begins with.
    """
    usual, shown, line = warnings.formatwarning, set(), SafePrinter(no_print=True)

    def format_warning(message: Any, *args: Any, **kwargs: Any) -> str:
        text = str(message)
        if not CODE.match(text):
            return usual(message, *args, **kwargs)
        if text in shown:
            return ""
        shown.add(text)
        return f"{line.warn(text)}\n"

    warnings.formatwarning = format_warning
    try:
        yield
    finally:
        if warnings.formatwarning is format_warning:
            warnings.formatwarning = usual


def text_table(
    rows: Sequence[Sequence[str]],
    header: Sequence[str],
    aligns: Sequence[Literal["l", "c", "r"]] | None = None,
) -> str:
    """Format a table, with columns as wide as their content."""
    cells = [[printable(cell).replace("\n", " ") for cell in line] for line in (header, *rows)]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = []
    for line in cells:
        # wasabi takes all characters to be as wide, and its `table` limits the width of columns
        padded = [w - width_of(x) + len(x) for x, w in zip(line, widths, strict=True)]
        lines.append(row(line, padded, aligns=aligns))
    return "\n{}\n".format("\n".join(lines))
