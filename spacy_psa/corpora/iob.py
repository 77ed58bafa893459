"""Files of words and tags in any column order: WNUT-17, NCBI, WikiGold, CoNLL-2002, Brown.

SOURCE: Tjong Kim Sang (2002), 'Introduction to the CoNLL-2002 Shared Task: Language-Independent
Named Entity Recognition', for the columns of CoNLL-2002.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ..errors import Errors
from .columns import read_columns
from .layouts import DOCUMENT_BOUNDARY, Layout, unsuitable
from .pipes import rereading
from .problems import Problems
from .sentence import Sentence

LAYERS = ("ents", "chunks", "tags")


def read_iob(
    path: str | Path,
    *,
    word_column: int = 0,
    tag_column: int = -1,
    pos_column: int | None = None,
    chunk_column: int | None = None,
    lemma_column: int | None = None,
    space_column: int | None = None,
    layer: str = "ents",
    scheme: str | None = None,
    label: str | None = None,
    prefixes: bool = True,
    separator: str | None = None,
    comment: str | None = None,
    header: bool = False,
    joined_by: str | None = None,
    document_boundary: str | None = DOCUMENT_BOUNDARY,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a file of words and tags in columns.

    path (Union[str, Path]): The file, optionally gzipped. The first line determines the number of
        columns.
    word_column (int): The index of the word column, from 0; negative to count from the last.
    tag_column (int): The index of the tag column.
    pos_column (Optional[int]): The index of the part-of-speech column; None if there is none.
    chunk_column (Optional[int]): The index of the column of chunks, if `layer` is another one.
    lemma_column (Optional[int]): The index of the lemma column.
    space_column (Optional[int]): The index of a column of + (whitespace follows) and -.
    layer (str): What the tags encode: named entities ("ents"), chunks ("chunks"), or tags of the
        words themselves ("tags").
    scheme (Optional[str]): The label scheme of the tags; None for the one that fits most.
    label (Optional[str]): The label of tags without one: B, I and O.
    prefixes (bool): Whether tags have prefixes such as B-. If not, a tag is O or a label.
    separator (Optional[str]): The column separator; None for any number of spaces and tabs.
    comment (Optional[str]): Skip lines that start with this; None to skip none.
    header (bool): Whether the first line has the names of the columns.
    joined_by (Optional[str]): What joins the columns in files with one sentence per line, e.g. "|"
        for `Ann|B-PER ran|O`, or `Ann|NNP|B-PER ran|VBD|O` with a pos_column; None for columns.
    document_boundary (Optional[str]): The first column of lines that start a document; None if
        there are none.
    problems (Optional[Problems]): How to handle problems; None to raise the first.
    YIELDS (Sentence): Sentences with the layer, and with those that there are columns for.
    RAISES (ValueError): If the file is not in this format, or an option is not valid for it.
    """
    if layer not in LAYERS or (layer == "tags" and pos_column is not None):
        known = ", ".join(LAYERS)
        raise unsuitable(f"layer='{layer}': choose one of {known}; with a pos_column, not tags")
    if layer == "chunks" and chunk_column is not None:
        raise unsuitable("layer='chunks' with a chunk_column")
    columns = {
        "words": word_column,
        "tags": pos_column,
        "lemmas": lemma_column,
        "spaces": space_column,
        "chunks": chunk_column,
        layer: tag_column,
    }
    layout = Layout(
        {name: index for name, index in columns.items() if index is not None},
        names={"tags": "POS"} if layer != "tags" else {},
        scheme=scheme,
        label=label,
        prefixes=prefixes,
        separator=separator,
        comment=comment,
        header=header,
        joined_by=joined_by,
        boundary=document_boundary,
    )
    yield from layout.read(path, problems)


@rereading
def read_conll2002(
    path: str | Path, *, scheme: str | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-2002 file: word and named entity (Spanish), or word, part of
    speech and named entity (Dutch).

    path (Union[str, Path]): The file, optionally gzipped. It must be in UTF-8: the distribution is
        in ISO-8859-1 and must be converted.
    scheme (Optional[str]): The label scheme of the tags; None for the one that fits most.
    problems (Optional[Problems]): How to handle problems; None to raise the first.
    YIELDS (Sentence): Sentences with entities, and with tags if there are three columns.
        `-DOCSTART- …` lines are document boundaries.
    RAISES (ValueError): If the file is not in this format.
    """
    rows = chain.from_iterable(read_columns(path))
    first = next((row for row in rows if row.columns[0] != DOCUMENT_BOUNDARY), None)
    width = len(first.columns) if first else 2
    if first and width not in (2, 3):
        raise ValueError(
            Errors.P112.format(
                path=path, line=first.line, found=width, expected="2 or 3", columns="word, POS, NER"
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
    header: bool = False,
    joined_by: str | None = None,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a file of words and their tags, such as parts of speech.

    path (Union[str, Path]): The file, optionally gzipped.
    word_column (int): The index of the word column, from 0; negative to count from the last.
    tag_column (int): The index of the tag column.
    separator (Optional[str]): The column separator; None for any number of spaces and tabs.
    comment (Optional[str]): Skip lines that start with this; None to skip none.
    header (bool): Whether the first line has the names of the columns.
    joined_by (Optional[str]): The separator between word and tag in files with one sentence per
        line, e.g. "/" for `The/at jury/nn`, as in the original Brown corpus; None for columns.
    problems (Optional[Problems]): How to handle problems; None to raise the first.
    YIELDS (Sentence): Sentences with tags. There are no document boundaries.
    RAISES (ValueError): If the file is not in this format, or an option is not valid for it.
    """
    yield from read_iob(
        path,
        word_column=word_column,
        tag_column=tag_column,
        layer="tags",
        separator=separator,
        comment=comment,
        header=header,
        joined_by=joined_by,
        document_boundary=None,
        problems=problems,
    )
