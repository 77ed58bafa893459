"""What the readers of all formats give: sentences with their annotation, apart from spaCy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..annotation.schemes import Span, read_spans
from ..errors import Errors
from .columns import Row


@dataclass(frozen=True)
class Sentence:
    """A sentence. Annotation that the format does not have is None, which is not the same as [].

    words (List[str]): The words.
    tags (Optional[List[str]]): The part-of-speech tags.
    chunks (Optional[List[Span]]): The chunks: start, end, label.
    ents (Optional[List[Span]]): The named entities.
    starts_document (bool): Whether a new document begins with this sentence.
    line (int): The line of the first word in the file.
    """

    words: list[str]
    tags: list[str] | None = None
    chunks: list[Span] | None = None
    ents: list[Span] | None = None
    starts_document: bool = False
    line: int = 0


def spans_of_column(
    rows: Sequence[Row], index: int, path: str | Path, columns: Sequence[str]
) -> list[Span]:
    """Read the spans of a column of tags, in BIO, IOB1, IO or BIOES, well formed or not.

    rows (Sequence[Row]): The rows of one sentence.
    index (int): Which column.
    path (Union[str, Path]): The file, for the error message.
    columns (Sequence[str]): The names of all columns, for the error message.
    RETURNS (List[Span]): The spans, as conlleval reads them.
    RAISES (ValueError): If there is something that cannot be a tag, such as a label alone.
    """
    tags = [row.columns[index] for row in rows]
    spans = read_spans(tags)
    for start, _, label in spans:
        if not label:
            raise ValueError(
                Errors.P116.format(
                    path=path,
                    line=rows[start].line,
                    tag=tags[start],
                    column=columns[index],
                    columns=", ".join(columns),
                )
            )
    return spans
