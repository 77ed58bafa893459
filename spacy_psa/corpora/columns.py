"""Read column files: a token per line, its annotation in columns, blank lines between sentences."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors
from .lines import read_blocks
from .problems import Problems

MAX_SENTENCE_TOKENS = 2_000_000
# ASCII characters that str.split treats as whitespace, but bytes.split does not.
_SEPARATORS = re.compile(r"[\x1c-\x1f]")


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
    word_column: int = 0,
    boundary: str | None = None,
    problems: Problems | None = None,
) -> Iterator[list[Row]]:
    """Stream the sentences of a column file.

    Columns are separated by any number of spaces and tabs; other whitespace, such as a no-break
    space, is part of the word. Files can be gzipped, whatever their name, can have Windows line
    endings, and need no blank line at the end. Lines with only spaces and tabs count as blank.

    path (Union[str, Path]): The file.
    columns (Optional[Sequence[str]]): The names of the columns that each line must have. None
        accepts any number of columns, and empty ones.
    comment (Optional[str]): Skip lines that start with this. None by default, since in many corpora
        the line of a token `#` looks like a comment.
    separator (Optional[str]): The only column separator, e.g. a tab, so that words can contain
        spaces. None for spaces and tabs.
    word_column (int): The index of the word column.
    boundary (Optional[str]): The first column of lines that are document boundaries rather than
        tokens. They can have any number of columns, and empty ones.
    problems (Optional[Problems]): If lenient, lines with the wrong number of columns are reported
        and keep their word, with "" in all other columns. None to raise.
    YIELDS (List[Row]): The rows of a sentence.
    RAISES (ValueError): If the file does not exist, is empty, not text, not UTF-8 or damaged, or
        has lines with the wrong number of columns or sentences with more than 2,000,000 tokens. The
        message says where and what to do.
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
            parts = line.split(separator)
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
                problem=f"column {parts.index('') + 1} is empty",
                expected=f"a value in each column ({names})",
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
    """Remove document boundaries, such as `-DOCSTART- …` lines, from sentences.

    sentences (Iterable[List[Row]]): The rows of each sentence. Some copies of corpora have no blank
        line between a boundary and the sentence after it.
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
    """Format the message for a line with the wrong number of columns.

    path (Union[str, Path]): The file.
    row (Row): The line.
    expected (str): The expected columns.
    RETURNS (str): The message.
    """
    problem = f"found {len(row.columns)} columns"
    return Errors.P145.format(path=path, line=row.line, problem=problem, expected=expected)


def _split_lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """The number of each line, the line, and its columns, split at ASCII whitespace only."""
    for first, lines in read_blocks(path):
        has_separators = _SEPARATORS.search("\n".join(lines)) is not None
        for number, line in enumerate(lines, start=first):
            # str.split is fastest, but would also split words at these and at no-break spaces.
            is_plain = line.isascii() and not has_separators
            yield number, line, line.split() if is_plain else _split(line)


def _split(line: str) -> list[str]:
    return [part.decode("utf8") for part in line.encode("utf8").split()]


def _only_word(row: Row, width: int, word_column: int, message: str) -> Row:
    """A row with only the word, for lines whose other columns cannot be identified."""
    try:
        word = row.columns[word_column]
    except IndexError:
        # There is no word to keep, and continuing would drop the token.
        raise ValueError(message) from None
    columns = [""] * width
    columns[word_column] = word
    return Row(row.line, tuple(columns))
