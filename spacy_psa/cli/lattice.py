"""`spacy psa lattice`: draw the lattice of label sequences that a model scores."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors
from ..terminal import msg
from ._outputs import IMAGES, check_outputs, save_image
from ._texts import replace_undecoded
from ._util import psa_cli, user_errors


@psa_cli.command("lattice")
def lattice_cli(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Pipeline name or folder")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Sentence to label")],
    output_path: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help=".svg or .png file to write")
    ],
    component: Annotated[
        str | None,
        typer.Option("--component", "-c", help="Name of the psa_tagger, if there are several"),
    ] = None,
) -> None:
    """
    Draw the lattice of a sentence: its tokens, their possible tags, and the probabilities of tags
    and of transitions between them. The best path is highlighted.
    """
    with user_errors():
        name = lattice(model, text, output_path, component=component)
    msg.good(f"Drew the lattice of '{name}' in {output_path}")


def lattice(model: str, text: str, output_path: Path, *, component: str | None = None) -> str:
    """Draw the lattice of a sentence."""
    from ..analysis.lattice import draw_lattice, make_lattice
    from ._components import get_tagger, load_tagger

    check_outputs([output_path], IMAGES)
    nlp, name = load_tagger(model, component)
    text = replace_undecoded(text)
    doc = nlp(text, disable=nlp.pipe_names[nlp.pipe_names.index(name) :])
    if not len(doc):
        raise ValueError(Errors.P380)
    tagger = get_tagger(nlp, name)
    found = make_lattice(tagger.distribution([doc]), [token.text for token in doc], tagger.tags)
    save_image(output_path, draw_lattice(found, doc.text))
    return name
