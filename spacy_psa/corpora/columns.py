"""Read column files: a token per line, its annotation in columns, blank lines between sentences."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors
from .lines import read_blocks
from .problems import Problems, unexpected

MAX_SENTENCE_TOKENS = 2_000_000
# ASCII characters that str.split treats as whitespace, but bytes.split does not.
_SEPARATORS = re.compile(r"[\x1c-\x1f]")
# Not tabs: in most files with these, a double quote is a token like others.
CSV_SEPARATORS = (",", ";")
WORD_NAMES = frozenset(("token", "tokens", "word", "words", "form", "forms", "text"))
TAG_NAMES = frozenset(
    ("tag", "tags", "pos", "upos", "xpos", "lemma", "label", "labels", "entity", "entities", "ner")
) | {"chunk", "chunks", "iob", "bio", "iob2", "coarse", "fine"}


class Row(NamedTuple):
    """A line of a column file.

    line (int): Its number in the file, from 1.
    columns (Tuple[str, ...]): The values of its columns.
    """

    line: int
    columns: tuple[str, ...]


def read_columns(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    comment: str | None = None,
    separator: str | None = None,
    header: bool = False,
    word_column: int = 0,
    filled: Sequence[int] | None = None,
    boundary: str | None = None,
    problems: Problems | None = None,
) -> Iterator[list[Row]]:
    """Stream the sentences of a column file.

    Columns are separated by any number of spaces and tabs; other whitespace, such as a no-break
    space, is part of the word. Files can be gzipped, whatever their name, can have Windows line
    endings, and need no blank line at the end. Lines with only spaces and tabs count as blank.

    columns (Optional[Sequence[str]]): The names of the columns that each line must have. None
        accepts any number of columns, and empty ones.
    comment (Optional[str]): Skip lines that start with this. None by default, since in many corpora
        the line of a token `#` looks like a comment.
    separator (Optional[str]): The only column separator, e.g. a tab, so that words can contain
        spaces. None for spaces and tabs. Between commas or semicolons, cells may be quoted.
    filled (Optional[Sequence[int]]): The indices of the columns that must not be empty, from 0.
        None for all.
    boundary (Optional[str]): The first column of lines that are document boundaries rather than
        tokens. They can have any number of columns, and empty ones.
    problems (Optional[Problems]): If lenient, lines with the wrong number of columns are reported
        and keep their word, with "" in all other columns; lines without a word are reported and
        left out. None to raise.
    RAISES (ValueError): If the file does not exist, is empty, not text, not UTF-8 or damaged, or
        has lines with the wrong number of columns or sentences with more than 2,000,000 tokens. The
        message says where and what to do.
    """
    path = Path(path)
    width = None if columns is None else len(columns)
    lines = None
    if columns is not None:
        filled = range(len(columns)) if filled is None else filled
        problems = problems or Problems()
        lines = _Lines(path, columns, separator, word_column, filled, problems)
    sentence: list[Row] = []
    found_any = False
    for number, line, parts in _split_lines(path):
        if not parts or (comment and line.startswith(comment)):
            if not parts and sentence:
                yield sentence
                sentence = []
            continue
        if header:
            header = False
            continue
        # Boundaries have spaces in files of tabs, too
        if separator is not None and parts[0] != boundary:
            parts = split_cells(line, separator, width)
        row: Row | None = Row(number, tuple(parts))
        if lines is not None and parts[0] != boundary and not lines.is_whole(parts):
            row = lines.repaired(number, line, parts)
        if row is None:
            continue
        sentence.append(row)
        found_any = True
        if len(sentence) > MAX_SENTENCE_TOKENS:
            what = "tokens without a blank line"
            raise ValueError(
                Errors.P141.format(path=path, line=number, limit=MAX_SENTENCE_TOKENS, what=what)
            )
    if sentence:
        yield sentence
    if not found_any:
        names = "columns" if columns is None else ", ".join(columns)
        raise ValueError(Errors.P111.format(path=path, columns=names))


def split_documents(
    sentences: Iterable[list[Row]], boundary: str | None
) -> Iterator[tuple[list[Row], bool]]:
    """Remove document boundaries, such as `-DOCSTART- …` lines, from sentences."""
    starts_document = False
    for lines in sentences:
        for is_boundary, group in groupby(lines, lambda row: row.columns[0] == boundary):
            if is_boundary:
                starts_document = True
            else:
                yield list(group), starts_document
                starts_document = False


def width_error(
    path: str | Path, row: Row, expected: object, columns: Sequence[str], separator: str | None
) -> str:
    """Format the message for a line with another number of columns than the format has."""
    return Errors.P112.format(
        path=path,
        line=row.line,
        found=len(row.columns),
        expected=expected,
        columns=", ".join(columns),
        separator="spaces or tabs" if separator is None else repr(separator),
    )


def columns_error(path: str | Path, row: Row, expected: str) -> str:
    """Format the message for a line with the wrong number of columns."""
    return unexpected(path, row.line, f"found {len(row.columns)} columns", expected)


def transpose(path: str | Path, rows: Sequence[Row], least: int) -> list[tuple[str, ...]]:
    """Get the columns of a sentence, all of whose lines must have as many: `least` or more."""
    width = max(len(rows[0].columns), least)
    for row in rows:
        if len(row.columns) != width:
            expected = f"{width}, as in the first line of the sentence"
            raise ValueError(columns_error(path, row, expected))
    return list(zip(*(row.columns for row in rows), strict=True))


def _split_lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """The number of each line, the line, and its columns, split at ASCII whitespace only."""
    for first, lines in read_blocks(path):
        text = "\n".join(lines)
        # str.split is fastest, but would also split words at separators and at no-break spaces.
        split = str.split if text.isascii() and not _SEPARATORS.search(text) else split_line
        yield from zip(count(first), lines, map(split, lines))


def split_line(line: str) -> list[str]:
    """Split a line at ASCII whitespace only."""
    if line.isascii() and not _SEPARATORS.search(line):
        return line.split()
    return [part.decode("utf8") for part in line.encode("utf8").split()]


def split_cells(line: str, separator: str, width: int | None = None) -> list[str]:
    """Split a line at a separator. Between commas or semicolons, cells can be quoted as in CSV.

    Where double quotes are tokens, lines may look like that by chance: the number of columns, if it
    is known, decides.
    """
    cells = line.split(separator)
    if '"' not in line or separator not in CSV_SEPARATORS:
        return cells
    try:
        (unquoted,) = csv.reader([line], delimiter=separator, strict=True)
    except csv.Error:
        return cells
    return unquoted if len(unquoted) == (width or len(unquoted)) else cells


def cell_names(cells: Sequence[str]) -> list[set[str]]:
    """The words in each cell of what may be a header."""
    return [set(re.split(r"[\W_]+", cell.casefold())) for cell in cells]


def names_columns(cells: Sequence[str]) -> bool:
    """Whether cells seem to be the names of columns, of words and of tags."""
    names = set().union(*cell_names(cells))
    return not (names.isdisjoint(WORD_NAMES) or names.isdisjoint(TAG_NAMES))


@dataclass(frozen=True)
class _Lines:
    """What each line of a file must have. See `read_columns`."""

    path: Path
    columns: Sequence[str]
    separator: str | None
    word_column: int
    filled: Sequence[int]
    problems: Problems

    def is_whole(self, parts: Sequence[str]) -> bool:
        """Whether a line has all columns, those that must be are filled, and the word is more than
        spaces and tabs.
        """
        if len(parts) != len(self.columns):
            return False
        if self.separator is None:
            return True
        is_filled = "" not in parts or all(parts[i] for i in self.filled)
        return is_filled and bool(parts[self.word_column].strip(" \t"))

    def repaired(self, number: int, line: str, parts: Sequence[str]) -> Row | None:
        """Report a line with missing, empty or additional columns, and keep its word, if any.

        Splitting at whitespace loses empty columns, so the word may seem to be missing or to be the
        tag: then the line is split at tabs.
        """
        cells = line.split("\t") if self.separator is None else parts
        is_indented = cells[0][:1] in ("", " ")
        cells = [cell.strip(" \t") for cell in cells]
        word, width = self.word_column, len(self.columns)
        if len(cells) == width and "" in cells:
            empty = [i for i in self.filled if not cells[i]]
            if not empty:
                return Row(number, tuple(cells))
            index = range(width)[word] if not cells[word] else empty[0]
            problem = f"the {self.columns[index]} column (column {index}, counted from 0) is empty"
            read = ", ".join(self.columns[i] for i in sorted(self.filled))
            what = "keeps the word without it" if cells[word] else "leaves the line out"
            expected = f"a value in each column that is read ({read}), or --lenient, which {what}"
            self.problems.report(unexpected(self.path, number, problem, expected))
            return Row(number, tuple(cells)) if cells[word] else None
        row = Row(number, tuple(parts))
        message = width_error(self.path, row, width, self.columns, self.separator)
        self.problems.report(message)
        # Without the column of the word, or if it may be the blank one, the word is unknown.
        if not -len(parts) <= word < len(parts) or is_indented:
            raise ValueError(message)
        values = [""] * width
        values[word] = parts[word]
        return Row(number, tuple(values))
