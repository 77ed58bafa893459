"""Read column files: one token a line, its annotation in columns, a blank line after a sentence."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors
from .lines import read_blocks
from .problems import Problems

MAX_SENTENCE_TOKENS = 2_000_000
# What str.split takes for white space in ASCII, and bytes.split does not.
_SEPARATORS = re.compile(r"[\x1c-\x1f]")


class Row(NamedTuple):
    """A line of a column file.

    line (int): Its number in the file, from 1.
    columns (Tuple[str, ...]): What its columns have.
    """

    line: int
    columns: tuple[str, ...]


def read_columns(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    comment: str | None = None,
    separator: str | None = None,
    word_column: int = 0,
    boundary: str | None = None,
    problems: Problems | None = None,
) -> Iterator[list[Row]]:
    """Stream the sentences of a column file.

    Columns are parted by any number of blanks and tabs; other kinds of white space, such as a
    no-break space, belong to the word. Files may be compressed by gzip, under whatever name, may
    have the line ends of Windows, and need no blank line at the end. Lines of nothing but blanks
    and tabs are blank as well.

    path (Union[str, Path]): The file.
    columns (Optional[Sequence[str]]): The names of the columns that each line must have. None
        takes any number of columns, which may be empty.
    comment (Optional[str]): Leave out lines that start with this. None by default, since in many
        corpora the line of a token `#` looks like a comment.
    separator (Optional[str]): Part columns by this alone, such as a tab, so that words may contain
        blanks. None for blanks and tabs.
    word_column (int): Which column is the word.
    boundary (Optional[str]): The first column of lines that are no tokens and may have any number
        of columns, which may be empty: document boundaries.
    problems (Optional[Problems]): If lenient, a line with another number of columns is reported,
        and keeps its word, with "" in all other columns. None to raise.
    YIELDS (List[Row]): The rows of a sentence.
    RAISES (ValueError): If there is no such file, or if it is empty, not text, not UTF-8, damaged,
        or has lines with other numbers of columns, or sentences with more than 2,000,000 tokens.
        The message says where and what to do.
    """
    path = Path(path)
    names = ", ".join(columns) if columns is not None else "columns"
    sentence: list[Row] = []
    found_any = False
    for number, line, parts in _split_lines(path):
        if not parts or (comment and line.startswith(comment)):
            if not parts and sentence:
                yield sentence
                sentence = []
            continue
        if separator is not None:
            parts = line.rstrip("\r").split(separator)
        row = Row(number, tuple(parts))
        if columns is None or parts[0] == boundary:
            pass  # Any columns will do.
        elif len(parts) != len(columns):
            message = Errors.P112.format(
                path=path, line=number, found=len(parts), expected=len(columns), columns=names
            )
            (problems or Problems()).report(message)
            row = _only_word(row, len(columns), word_column, message)
        elif separator is not None and "" in parts:
            message = Errors.P145.format(
                path=path,
                line=number,
                problem=f"the column {parts.index('') + 1} is empty",
                expected=f"something in each of the columns ({names})",
            )
            (problems or Problems()).report(message)
            if not row.columns[word_column]:
                raise ValueError(message)
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
        raise ValueError(Errors.P111.format(path=path, columns=names))


def split_documents(
    sentences: Iterable[list[Row]], boundary: str | None
) -> Iterator[tuple[list[Row], bool]]:
    """Take document boundaries, such as the lines `-DOCSTART- …`, out of sentences.

    sentences (Iterable[List[Row]]): The rows of each sentence. In some copies of corpora no blank
        line parts a boundary from the sentence after it.
    boundary (Optional[str]): The first column of boundaries; None if there are none.
    YIELDS (Tuple[List[Row], bool]): The rows of a sentence, and whether it starts a document.
    """
    starts_document = False
    for lines in sentences:
        for is_boundary, group in groupby(lines, lambda row: row.columns[0] == boundary):
            if is_boundary:
                starts_document = True
            else:
                yield list(group), starts_document
                starts_document = False


def columns_error(path: str | Path, row: Row, expected: str) -> str:
    """What is said of a line with another number of columns than its sentence has to have.

    path (Union[str, Path]): The file.
    row (Row): The line.
    expected (str): What it should have.
    RETURNS (str): The message.
    """
    problem = f"found {len(row.columns)} columns"
    return Errors.P145.format(path=path, line=row.line, problem=problem, expected=expected)


def _split_lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """The number of each line, the line, and its columns, parted by ASCII white space alone."""
    for first, lines in read_blocks(path):
        has_separators = _SEPARATORS.search("\n".join(lines)) is not None
        for number, line in enumerate(lines, start=first):
            # str.split is the fastest, but would split words at these and at no-break spaces.
            is_plain = line.isascii() and not has_separators
            yield number, line, line.split() if is_plain else _split(line)


def _split(line: str) -> list[str]:
    return [part.decode("utf8") for part in line.encode("utf8").split()]


def _only_word(row: Row, width: int, word_column: int, message: str) -> Row:
    """A row with the word alone, where the other columns cannot be told apart."""
    try:
        word = row.columns[word_column]
    except IndexError:
        # There is no word to keep, and going on would drop the token.
        raise ValueError(message) from None
    columns = [""] * width
    columns[word_column] = word
    return Row(row.line, tuple(columns))
