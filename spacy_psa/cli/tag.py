"""`spacy psa tag`: print a pipeline's predictions for a few sentences."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors
from ..terminal import msg, show, text_table
from ._predictions import load_pipeline, use_gpu
from ._tasks import replace_undecoded
from ._util import GpuOption, ModelArgument, psa_cli, user_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spacy.tokens import Doc, Span


@psa_cli.command("tag")
def tag_cli(
    model: ModelArgument,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT...", help="Texts to tag")
    ] = None,
    path: Annotated[
        Path | None, typer.Option("--file", "-f", help="Text file with more texts, one per line")
    ] = None,
    gpu_id: GpuOption = -1,
) -> None:
    """
    Tag texts and print a table for each, with words, parts of speech, entities and other spans.
    """
    with user_errors():
        lines = [replace_undecoded(text) for text in texts or ()]
        if path is not None:
            from ..corpora.lines import read_lines

            lines += [line.strip() for _, line in read_lines(path) if line.strip()]
        if not lines:
            raise ValueError(Errors.P140)
        use_gpu(gpu_id)
        nlp = load_pipeline(model)
        for doc in nlp.pipe(lines):
            msg.divider(doc.text if len(doc.text) <= 70 else doc.text[:69] + "…")
            show(format_doc(doc))


def format_doc(doc: "Doc") -> str:
    """Format a document as a table, with one line per token. Empty columns are left out."""
    columns = {
        "TAG": [token.tag_ for token in doc],
        "POS": [token.pos_ for token in doc],
        "MORPH": [str(token.morph) for token in doc],
        "ENTITY": _brackets(doc, doc.ents),
        **{key.upper(): _brackets(doc, group) for key, group in sorted(doc.spans.items())},
    }
    shown = {name: values for name, values in columns.items() if any(values)}
    words = [token.text for token in doc]
    rows = list(zip(words, *shown.values(), strict=True))
    return text_table(rows, ("", *shown))


def _brackets(doc: "Doc", spans: "Iterable[Span]") -> list[str]:
    """Mark spans in a column: the label at the start, and a bar down to the end."""
    marks = [""] * len(doc)
    for span in spans:
        for i in range(span.start, span.end):
            marks[i] = "│" if i < span.end - 1 else "└"
        marks[span.start] = span.label_
    return marks
