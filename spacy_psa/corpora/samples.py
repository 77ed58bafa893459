"""Take a sample of a column file: its separator, comments, header, and the first sentences."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from ..errors import Errors
from .column_kinds import column_values, is_counting
from .columns import TAG_NAMES, WORD_NAMES, Row, cell_names, split_cells, split_line
from .layouts import DOCUMENT_BOUNDARY
from .lines import read_lines

Line = tuple[int, str]
_N_LINES = 6000
_JOINTS = "|/_"
_OTHER_SEPARATORS = ("|", ";", ",", "/")
# In the header of a table of spans, not of tokens.
_SPAN_NAMES = frozenset(("text", "start", "end"))


@dataclass(frozen=True)
class Sample:
    """The first lines of a file, in columns.

    path (Path): The file.
    sentences (Sequence[Sequence[Row]]): The rows of each sentence, all with the same number of
        columns, without comments, header and document boundaries.
    width (int): The number of columns.
    separator (Optional[str]): The column separator; None for spaces and tabs.
    comment (Optional[str]): The beginning of comments; None if there are none.
    header (bool): Whether the first line has the names of the columns.
    joined_by (Optional[str]): What joins the columns of a token in a line of several.
    has_boundaries (bool): Whether there are document boundaries.
    """

    path: Path
    sentences: Sequence[Sequence[Row]]
    width: int
    separator: str | None = None
    comment: str | None = None
    header: bool = False
    joined_by: str | None = None
    has_boundaries: bool = False


def take_sample(path: Path, formats: str) -> Sample:
    """Take a sample of a column file."""
    blocks, has_boundaries = _blocks(islice(read_lines(path), _N_LINES))
    lines = list(chain.from_iterable(blocks))
    if not lines:
        raise ValueError(Errors.P111.format(path=path, columns="words and tags"))
    data = [line for _, line in lines if not line.startswith("#")] or [line for _, line in lines]
    joined = _joined(path, blocks, data)
    if joined is not None:
        return joined
    separator, width = _separator(path, data, formats)

    def cells(line: str) -> list[str]:
        return split_line(line) if separator is None else line.split(separator)

    others = _rows(blocks, cells, "#")
    numbered = is_counting(column_values(others, width, 0))
    comment = _comment(path, blocks, width, numbered) if others else None
    sentences = _rows(blocks, cells, comment)
    first = sentences[0][0] if sentences else Row(0, ())
    header = _is_header(first, sentences, width)
    skipped = first if header else None
    whole = [
        [row for row in rows if len(row.columns) == width and row is not skipped]
        for rows in sentences
    ]
    whole = [rows for rows in whole if rows]
    return Sample(path, whole, width, separator, comment, header, has_boundaries=has_boundaries)


def _blocks(lines: Iterable[Line]) -> tuple[list[list[Line]], bool]:
    """The lines between blank lines and document boundaries, and whether there are boundaries."""
    blocks: list[list[Line]] = [[]]
    has_boundaries = False
    for number, line in lines:
        parts = line.split(maxsplit=1)
        if parts and parts[0] != DOCUMENT_BOUNDARY:
            blocks[-1].append((number, line))
        elif blocks[-1]:
            blocks.append([])
        has_boundaries = has_boundaries or parts[:1] == [DOCUMENT_BOUNDARY]
    return [block for block in blocks if block], has_boundaries


def _joined(path: Path, blocks: list[list[Line]], data: Sequence[str]) -> Sample | None:
    """The sample of a file with several tokens in a line, such as `Ann|NNP|B-PER ran|VBD|O`."""
    tokens = [split_line(line) for line in data]
    if max(map(len, tokens)) < 2:
        return None
    every = list(chain.from_iterable(tokens))
    for joint in _JOINTS:
        if all(token.strip(joint) and token.rstrip(joint).count(joint) for token in every):
            width = min(3, 1 + min(token.count(joint) for token in every))
            sentences = [
                [Row(number, tuple(token.rsplit(joint, width - 1))) for token in split_line(line)]
                for number, line in chain.from_iterable(blocks)
                if not line.startswith("#")
            ]
            return Sample(path, sentences, width, joined_by=joint)
    return None


def _separator(path: Path, data: Sequence[str], formats: str) -> tuple[str | None, int]:
    """The separator, and the number of columns of most lines."""
    by_space = Counter(len(split_line(line)) for line in data)
    by_tab = Counter(line.count("\t") + 1 for line in data)
    width, n_lines = by_space.most_common(1)[0]
    tab_width, n_tab_lines = by_tab.most_common(1)[0]
    if tab_width > 1 and n_tab_lines > (n_lines if width > 1 else 0):
        return "\t", tab_width
    (names,) = cell_names(data[:1])
    if len(split_line(data[0])) == 1 and names >= _SPAN_NAMES:
        raise ValueError(Errors.P119.format(path=path))
    for separator in _OTHER_SEPARATORS:
        n_cells = Counter(line.count(separator) + 1 for line in data).most_common(1)[0][0]
        counts = {len(split_cells(line, separator, n_cells)) for line in data}
        if width == 1 and len(counts) == 1 and counts != {1}:
            raise ValueError(Errors.P181.format(path=path, separator=separator))
    if n_lines <= len(data) / 2:
        found = ", ".join(map(str, sorted(by_space)[:5])) + (", …" if len(by_space) > 5 else "")
        raise ValueError(Errors.P179.format(path=path, widths=found, options=formats))
    return None, width


def _rows(
    blocks: list[list[Line]], cells: Callable[[str], list[str]], comment: str | None
) -> list[list[Row]]:
    sentences = [
        [Row(i, tuple(cells(ln))) for i, ln in lines if not (comment and ln.startswith(comment))]
        for lines in blocks
    ]
    return [rows for rows in sentences if rows]


def _comment(path: Path, blocks: list[list[Line]], width: int, numbered: bool) -> str | None:
    """The beginning of comments that is not that of a token, for a token can be # or a hashtag."""
    comments = []
    # Comments are before sentences, or after the header.
    for block in (blocks[0][1:], *blocks):
        for number, line in block:
            if not line.startswith("#"):
                break
            parts = split_line(line)
            is_named = line[1:2] in (" ", "\t") and any(part[0].isalpha() for part in parts[1:2])
            if numbered or (is_named and (len(parts) != width or "=" in line)):
                comments.append((number, line))
    if not comments:
        return None
    if numbered:
        return "#"
    starts = {line[:2] for _, line in comments}
    has_tabs = all("\t" in line for _, line in chain(*blocks) if not line.startswith("#"))
    if starts == {"# "} and has_tabs:
        return "# "
    names = {"".join(re.findall(r"^#\s+[^\s=]+\s?", line)) for _, line in comments}
    if len(names) == 1:
        return names.pop()
    number, line = comments[0]
    raise ValueError(Errors.P182.format(path=path, line=number, comment=line[:20]))


def _is_header(first: Row, sentences: Sequence[Sequence[Row]], width: int) -> bool:
    """Whether a row has the names of columns, or of some that are no values in the others."""
    if len(first.columns) != width:
        return False
    names = cell_names(first.columns)
    words = next((i for i, parts in enumerate(names) if parts & WORD_NAMES), None)
    others = [i for i in range(width) if i != words]
    later = [row for row in chain.from_iterable(sentences) if row is not first]
    if words is None or not later or not any(names[i] & TAG_NAMES for i in others):
        return False
    if all(parts & (WORD_NAMES | TAG_NAMES) for parts in names):
        # POS is also the tag of possessives, so it may recur.
        return True
    values = [{row.columns[i] for row in later if len(row.columns) == width} for i in others]
    return not any(first.columns[i] in found for i, found in zip(others, values, strict=True))
