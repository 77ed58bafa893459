"""Files of words and tags in columns of any order: WNUT-17, NCBI, WikiGold, CoNLL-2002, Brown.

SOURCE: Tjong Kim Sang (2002), 'Introduction to the CoNLL-2002 Shared Task: Language-Independent
Named Entity Recognition', for the columns of CoNLL-2002.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ..errors import Errors
from .columns import Row, read_columns, split_documents
from .problems import Problems
from .sentence import Sentence
from .spans import SpanColumn

DOCUMENT_BOUNDARY = "-DOCSTART-"
LAYERS = ("ents", "chunks", "tags")


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

    path (Union[str, Path]): The file, plain or compressed by gzip. The first line tells how many
        columns there are.
    word_column (int): Which column is the word, from 0; from -1 counted from the last one.
    tag_column (int): Which column is the tag.
    pos_column (Optional[int]): Which column is the part of speech; None if there is none.
    layer (str): What the tags are: those of named entities ("ents"), of chunks ("chunks"), or
        tags of the words themselves ("tags").
    scheme (Optional[str]): The scheme of the tags; None to read any (see `SpanColumn`).
    separator (Optional[str]): What parts the columns; None for any number of blanks and tabs.
    comment (Optional[str]): Leave out lines that start with this; None if there are none.
    document_boundary (Optional[str]): The first column of lines that start a document; None if
        there are none.
    problems (Optional[Problems]): What to do about problems; None to raise the first.
    YIELDS (Sentence): Sentences with the layer, and with tags if there is a column of them.
    RAISES (ValueError): If the file is not in this format, or an option does not suit.
    """
    problems = problems or Problems()
    if layer not in LAYERS or (layer == "tags" and pos_column is not None):
        known = ", ".join(LAYERS)
        raise _unsuitable(f"layer='{layer}': it is one of {known}, and not tags with a pos_column")
    first = _first_row(path, document_boundary, separator=separator, comment=comment)
    width = len(first.columns)
    names = [f"column {i}" for i in range(width)]
    columns = {"word": word_column, "POS": pos_column, layer: tag_column}
    for name, index in columns.items():
        if index is None:
            continue
        if not -width <= index < width:
            raise _unsuitable(f"the column {index} for {name}: {path} has {width} columns")
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


def read_conll2002(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a file of CoNLL-2002: word and named entity (Spanish), or word, part
    of speech and named entity (Dutch).

    path (Union[str, Path]): The file, plain or compressed by gzip, in UTF-8: the distribution is in
        ISO-8859-1, and has to be converted.
    scheme (Optional[str]): The scheme of the tags; None to read any (see `SpanColumn`).
    problems (Optional[Problems]): What to do about problems; None to raise the first.
    YIELDS (Sentence): Sentences with entities, and with tags if there are three columns. The lines
        `-DOCSTART- …` are document boundaries.
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

    path (Union[str, Path]): The file, plain or compressed by gzip.
    word_column (int): Which column is the word, from 0; from -1 counted from the last one.
    tag_column (int): Which column is the tag.
    separator (Optional[str]): What parts the columns; None for any number of blanks and tabs.
    comment (Optional[str]): Leave out lines that start with this; None if there are none.
    joined_by (Optional[str]): What joins word and tag in files with a sentence in each line, such
        as "/" for `The/at jury/nn`, as in the original Brown corpus; None for columns.
    problems (Optional[Problems]): What to do about problems; None to raise the first.
    YIELDS (Sentence): Sentences with tags. There are no document boundaries.
    RAISES (ValueError): If the file is not in this format, or an option does not suit.
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
    """Sentences of `word/tag word/tag` lines. The tag is what follows the last `joined_by`."""
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
                            problem=f"'{token}' is not a word with its tag",
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
    """The first line that is not a document boundary: it tells how many columns there are."""
    rows = chain.from_iterable(read_columns(path, separator=separator, comment=comment))
    for row in rows:
        if row.columns[0] != boundary:
            return row
    raise ValueError(Errors.P111.format(path=path, columns="words and tags"))


def _unsuitable(problem: str) -> ValueError:
    options = "word_column, tag_column, pos_column, layer, scheme, separator, comment"
    return ValueError(Errors.P142.format(form="iob", problem=problem, options=options))
