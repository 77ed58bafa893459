"""Read column files: one token a line, its annotation in columns, a blank line after a sentence."""

import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple

from ..errors import Errors
from .problems import Problems

GZIP_MAGIC = b"\x1f\x8b"
MAX_LINE_BYTES = 1 << 20
MAX_SENTENCE_TOKENS = 2_000_000
_BOM = b"\xef\xbb\xbf"


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
        takes any number of columns.
    comment (Optional[str]): Leave out lines that start with this. None by default, since in many
        corpora the line of a token `#` looks like a comment.
    separator (Optional[str]): Part columns by this alone, such as a tab, so that words may contain
        blanks. None for blanks and tabs.
    word_column (int): Which column is the word.
    boundary (Optional[str]): The first column of lines that are no tokens and may have any number
        of columns: document boundaries.
    problems (Optional[Problems]): If lenient, a line with another number of columns is reported,
        and keeps its word, with "" in all other columns. None to raise.
    YIELDS (List[Row]): The rows of a sentence.
    RAISES (ValueError): If there is no such file, or if it is empty, not text, not UTF-8, damaged,
        or has lines with other numbers of columns, or sentences with more than 2,000,000 tokens.
        The message says where and what to do.
    """
    path = Path(path)
    prefix = comment.encode("utf8") if comment else None
    part_at = separator.encode("utf8") if separator else None
    names = ", ".join(columns) if columns is not None else "columns"
    sentence: list[Row] = []
    found_any = False
    for number, line in read_lines(path):
        # bytes.split takes only ASCII white space, str.split would split words as well.
        parts = line.split()
        if not parts or (prefix is not None and line.startswith(prefix)):
            if not parts and sentence:
                yield sentence
                sentence = []
            continue
        if part_at is not None:
            parts = line.rstrip(b"\r\n").split(part_at)
        row = Row(number, tuple(part.decode("utf8") for part in parts))
        if columns is not None and len(parts) != len(columns) and row.columns[0] != boundary:
            message = Errors.P112.format(
                path=path, line=number, found=len(parts), expected=len(columns), columns=names
            )
            (problems or Problems()).report(message)
            row = _only_word(row, len(columns), word_column, message)
        elif "" in row.columns:
            message = Errors.P145.format(
                path=path,
                line=number,
                problem=f"the column {row.columns.index('') + 1} is empty",
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


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that may be compressed by gzip, which its first bytes tell.

    path (Path): The file.
    YIELDS (IO[bytes]): The uncompressed bytes.
    RAISES (ValueError): If there is no such file, or if it is a directory.
    """
    if path.is_dir():
        files = sorted(child.name for child in path.iterdir() if child.is_file())
        raise ValueError(Errors.P110.format(path=path, files=", ".join(files[:10]) or "none"))
    if not path.exists():
        raise ValueError(Errors.P109.format(path=path))
    with path.open("rb") as raw:
        compressed = raw.peek(2)[:2] == GZIP_MAGIC
        if compressed:
            with gzip.GzipFile(fileobj=raw) as file_:
                yield file_
        else:
            yield raw


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Stream the lines of a file that may be compressed by gzip, checked to be UTF-8 text.

    path (Path): The file.
    YIELDS (Tuple[int, bytes]): The number of the line, from 1, and the line with its end.
    RAISES (ValueError): If there is no such file, or if it is not text, not UTF-8 or damaged, or
        has a line of more than a mebibyte.
    """
    with open_binary(path) as file_:
        yield from _numbered_lines(file_, path)


def _numbered_lines(file_: IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, checked to be UTF-8 text and not endless."""
    number = 0
    while True:
        try:
            line = file_.readline(MAX_LINE_BYTES + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as err:
            where = f" after line {number}"
            raise ValueError(Errors.P115.format(path=path, where=where, reason=err)) from err
        if not line:
            return
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if b"\x00" in line:
            raise ValueError(Errors.P114.format(path=path, line=number))
        if len(line) > MAX_LINE_BYTES:
            what = "bytes in a line"
            raise ValueError(
                Errors.P141.format(path=path, line=number, limit=MAX_LINE_BYTES, what=what)
            )
        try:
            line.decode("utf8")
        except UnicodeDecodeError as err:
            raise ValueError(
                Errors.P113.format(path=path, line=number, byte=err.start + 1)
            ) from err
        yield number, line


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
