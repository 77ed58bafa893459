"""Files of words and tags in any column order: WNUT-17, NCBI, WikiGold, CoNLL-2002, Brown.

SOURCE: Tjong Kim Sang (2002), 'Introduction to the CoNLL-2002 Shared Task: Language-Independent
Named Entity Recognition', for the columns of CoNLL-2002.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ..errors import Errors
from .columns import Row, read_columns, split_documents
from .pipes import rereading
from .problems import Problems
from .sentence import Sentence
from .spans import SpanColumn

DOCUMENT_BOUNDARY = "-DOCSTART-"
LAYERS = ("ents", "chunks", "tags")


@rereading
def read_iob(
    path: str | Path,
    *,
    word_column: int = 0,
    tag_column: int = -1,
    pos_column: int | None = None,
    layer: str = "ents",
    scheme: str | None = None,
    separator: str | None = None,
    comment: str | None = None,
    document_boundary: str | None = DOCUMENT_BOUNDARY,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a file of words and tags in columns.

    path (Union[str, Path]): The file, optionally gzipped. The first line determines the number of
        columns.
    word_column (int): The index of the word column, from 0; negative to count from the last.
    tag_column (int): The index of the tag column.
    pos_column (Optional[int]): The index of the part-of-speech column; None if there is none.
    layer (str): What the tags encode: named entities ("ents"), chunks ("chunks"), or tags of the
        words themselves ("tags").
    scheme (Optional[str]): The label scheme of the tags; None to read any (see `SpanColumn`).
    separator (Optional[str]): The column separator; None for any number of spaces and tabs.
    comment (Optional[str]): Skip lines that start with this; None to skip none.
    document_boundary (Optional[str]): The first column of lines that start a document; None if
        there are none.
    problems (Optional[Problems]): How to handle problems; None to raise the first.
    YIELDS (Sentence): Sentences with the layer, and with tags if there is a column for them.
    RAISES (ValueError): If the file is not in this format, or an option is not valid for it.
    """
    problems = problems or Problems()
    if layer not in LAYERS or (layer == "tags" and pos_column is not None):
        known = ", ".join(LAYERS)
        raise _unsuitable(f"layer='{layer}': choose one of {known}; with a pos_column, not tags")
    first = _first_row(path, document_boundary, separator=separator, comment=comment)
    width = len(first.columns)
    names = [f"column {i}" for i in range(width)]
    columns = {"word": word_column, "POS": pos_column, layer: tag_column}
    for name, index in columns.items():
        if index is None:
            continue
        if not -width <= index < width:
            raise _unsuitable(f"column {index} for {name}: {path} has {width} columns")
        names[index] = name
    if len(set(names) & set(columns)) < len([i for i in columns.values() if i is not None]):
        raise _unsuitable(f"the same column twice, in {columns}: {path} has {width} columns")
    spans = SpanColumn(path, names.index(layer), names, scheme, problems)
    lines = read_columns(
        path,
        names,
        separator=separator,
        comment=comment,
        word_column=names.index("word"),
        boundary=document_boundary,
        problems=problems,
    )
    tags_at = tag_column if layer == "tags" else pos_column
    for rows, starts_document in split_documents(lines, document_boundary):
        yield Sentence(
            words=[row.columns[word_column] for row in rows],
            tags=[row.columns[tags_at] for row in rows] if tags_at is not None else None,
            chunks=spans.read(rows) if layer == "chunks" else None,
            ents=spans.read(rows) if layer == "ents" else None,
            starts_document=starts_document,
            line=rows[0].line,
        )


@rereading
def read_conll2002(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-2002 file: word and named entity (Spanish), or word, part of
    speech and named entity (Dutch).

    path (Union[str, Path]): The file, optionally gzipped. It must be in UTF-8: the distribution is
        in ISO-8859-1 and must be converted.
    scheme (Optional[str]): The label scheme of the tags; None to read any (see `SpanColumn`).
    problems (Optional[Problems]): How to handle problems; None to raise the first.
    YIELDS (Sentence): Sentences with entities, and with tags if there are three columns.
        `-DOCSTART- …` lines are document boundaries.
    RAISES (ValueError): If the file is not in this format.
    """
    line, cells = _first_row(path, DOCUMENT_BOUNDARY)
    width = len(cells)
    if width not in (2, 3):
        raise ValueError(
            Errors.P112.format(
                path=path, line=line, found=width, expected="2 or 3", columns="word, POS, NER"
            )
        )
    pos_column = 1 if width == 3 else None
    yield from read_iob(path, pos_column=pos_column, scheme=scheme, problems=problems)


def read_tagged(
    path: str | Path,
    *,
    word_column: int = 0,
    tag_column: int = -1,
    separator: str | None = None,
    comment: str | None = None,
    joined_by: str | None = None,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a file of words and their tags, such as parts of speech.

    path (Union[str, Path]): The file, optionally gzipped.
    word_column (int): The index of the word column, from 0; negative to count from the last.
    tag_column (int): The index of the tag column.
    separator (Optional[str]): The column separator; None for any number of spaces and tabs.
    comment (Optional[str]): Skip lines that start with this; None to skip none.
    joined_by (Optional[str]): The separator between word and tag in files with one sentence per
        line, e.g. "/" for `The/at jury/nn`, as in the original Brown corpus; None for columns.
    problems (Optional[Problems]): How to handle problems; None to raise the first.
    YIELDS (Sentence): Sentences with tags. There are no document boundaries.
    RAISES (ValueError): If the file is not in this format, or an option is not valid for it.
    """
    if joined_by:
        yield from _read_joined(path, joined_by, comment, problems or Problems())
        return
    yield from read_iob(
        path,
        word_column=word_column,
        tag_column=tag_column,
        layer="tags",
        separator=separator,
        comment=comment,
        document_boundary=None,
        problems=problems,
    )


def _read_joined(
    path: str | Path, joined_by: str, comment: str | None, problems: Problems
) -> Iterator[Sentence]:
    """Read lines such as `word/tag word/tag`. The tag follows the last `joined_by`."""
    for rows in read_columns(path, comment=comment):
        for row in rows:
            words, tags = [], []
            for token in row.columns:
                word, _, tag = token.rpartition(joined_by)
                if not (word and tag):
                    problems.report(
                        Errors.P145.format(
                            path=path,
                            line=row.line,
                            problem=f"'{token}' is not a word with a tag",
                            expected=f"word{joined_by}tag",
                        )
                    )
                    word, tag = token, ""
                words.append(word)
                tags.append(tag)
            yield Sentence(words=words, tags=tags, line=row.line)


def _first_row(
    path: str | Path,
    boundary: str | None,
    *,
    separator: str | None = None,
    comment: str | None = None,
) -> Row:
    """The first line that is not a document boundary, which determines the number of columns."""
    rows = chain.from_iterable(read_columns(path, separator=separator, comment=comment))
    for row in rows:
        if row.columns[0] != boundary:
            return row
    raise ValueError(Errors.P111.format(path=path, columns="words and tags"))


def _unsuitable(problem: str) -> ValueError:
    options = "word_column, tag_column, pos_column, layer, scheme, separator, comment"
    return ValueError(Errors.P142.format(form="iob", problem=problem, options=options))
