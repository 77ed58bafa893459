"""`spacy psa attend`: visualize what a model computes when it labels a text."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors
from ..terminal import msg
from ._outputs import save_image
from ._texts import replace_undecoded
from ._util import atomic_path, check_writable, psa_cli, user_errors

SUFFIXES = (".html", ".svg", ".png")
FORMATS = ("svg", "png")


@psa_cli.command("attend")
def attend_cli(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Pipeline name or folder")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text to label")],
    output_path: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Output .html page, .svg or .png image; without extension, a folder of images",
        ),
    ] = Path("attend.html"),
    image_format: Annotated[
        str,
        typer.Option(
            "--format", "-f", help="Format of the images in a folder: svg or png; svg if empty"
        ),
    ] = "",
    component: Annotated[
        str,
        typer.Option(
            "--component", "-c", help="Component name; by default the last spacy-psa component"
        ),
    ] = "",
    tokens: Annotated[
        int, typer.Option("--tokens", "-n", help="Number of tokens to draw, from the first", min=1)
    ] = 32,
) -> None:
    """
    Draw the internals of a model: attention, gates, positional biases, labels layer by layer and
    transitions.
    """
    with user_errors():
        n_images = attend(
            model,
            text,
            output_path,
            component=component or None,
            n_tokens=tokens,
            image_format=image_format or None,
        )
    msg.good(f"Drew {n_images} images in {output_path}")


def attend(
    model: str,
    text: str,
    output_path: Path,
    *,
    component: str | None = None,
    n_tokens: int = 32,
    image_format: str | None = None,
) -> int:
    """Draw the internals of a model."""
    from ..figures.images import check_plots, stack

    is_folder = output_path.is_dir() or not output_path.suffix
    if not is_folder and output_path.suffix not in SUFFIXES:
        options = ", ".join([*SUFFIXES, "or none for a folder of images"])
        raise ValueError(Errors.P265.format(path=output_path, options=options))
    if image_format and not (is_folder and image_format in FORMATS):
        raise ValueError(Errors.P450.format(format=image_format, path=output_path))
    ending = f".{image_format or FORMATS[0]}" if is_folder else output_path.suffix
    check_plots(output_path)
    check_writable(output_path)

    from ..analysis.attention import look_inside
    from ..analysis.attention_page import attention_images, attention_page
    from ..printable import one_line
    from ._components import load_component

    nlp, pipe = load_component(model, component)
    text = replace_undecoded(text)
    later = nlp.pipe_names[nlp.pipe_names.index(pipe.name) :]
    insight = look_inside(pipe, nlp(text, disable=later), n_tokens=n_tokens)
    images = attention_images(insight)
    if is_folder:
        for name, image in images.items():
            save_image(output_path / f"{name}{ending}", image)
    elif ending == ".html":
        title = one_line(f"Inside {insight.component} of {model}")
        with atomic_path(output_path) as temporary:
            temporary.write_text(attention_page(insight, title), encoding="utf8")
    else:
        save_image(output_path, stack(list(images.values())))
    return len(images)
