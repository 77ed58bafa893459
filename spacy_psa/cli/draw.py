"""`spacy psa draw`, `lattice` and `attend`: draw a model, the label sequences that it scores, and
what it computes for a text.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors
from ..printable import one_line, replace_undecoded
from ..terminal import msg
from ._config_errors import config_errors
from ._options import CodeOption, ComponentOption, DrawingOption, GpuOption, ModelArgument
from ._outputs import DRAWINGS, check_outputs, save_drawing, save_image, save_text, title_names
from ._predictions import (
    check_no_training,
    choose_component,
    get_tagger,
    load_component,
    load_tagger,
    use_gpu,
)
from ._util import LOOK, check_writable, psa_cli, user_errors

if TYPE_CHECKING:
    from thinc.api import Config


@psa_cli.command("draw", rich_help_panel=LOOK)
def draw_cli(
    config_path: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Config, or folder of a pipeline")
    ],
    output_path: DrawingOption,
    component: ComponentOption = None,
    code_path: CodeOption = None,
) -> None:
    """
    Draw a diagram of a component's model. It has the blocks and settings, from words to labels.
    """
    with user_errors():
        name = draw(config_path, output_path, component=component)
    msg.good(f"Drew the model of '{name}' in {output_path}")


def draw(config_path: Path, output_path: Path, *, component: str | None = None) -> str:
    """Draw a diagram of a component's model."""
    from thinc.api import Config

    from ..analysis.diagram import draw_model

    check_outputs([output_path], DRAWINGS, charts=(".png",))
    check_no_training(config_path)
    path = config_path / "config.cfg" if config_path.is_dir() else config_path
    if not path.is_file():
        raise ValueError(Errors.P109.format(path=path))
    try:
        config = Config().from_disk(path)
    except ValueError as err:
        raise ValueError(Errors.P251.format(path=path, problem=err)) from err
    # In pipeline order, since some releases of spaCy sort the sections of a config
    components, order = config.get("components", {}), config.get("nlp", {}).get("pipeline", [])
    names = [name for name in order if name in components]
    names += [name for name in components if name not in names]
    with_model = [name for name in names if "model" in components[name]]
    ours = [n for n in with_model if str(components[n].get("factory", "")).startswith("psa_")]
    # Other components are drawn as well, if they are named
    fitting = with_model if component in with_model else ours or with_model
    name = choose_component(path, fitting, component, "with a model", names)
    check_component(config, name, path)
    model = components[name]["model"]
    blocks = [
        f"{key}: {block['@architectures']}" for key, block in model.items() if _is_block(block)
    ]
    intro = f"The model of '{name}', from words to labels. {'; '.join(blocks)}"
    save_drawing(output_path, draw_model(model, name), f"Model of {name}", intro=intro)
    return name


def check_component(config: "Config", name: str, path: Path) -> None:
    """Check the settings of a component as training does, without corpus or initialization. Its
    language plays no part, and may need another package."""
    from spacy.util import load_model_from_config

    block = config["components"][name]
    alone = {"nlp": {"lang": "xx", "pipeline": [name]}, "components": {name: block}}
    with config_errors(path):
        load_model_from_config(alone, auto_fill=True)


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and "@architectures" in value


@psa_cli.command("lattice", rich_help_panel=LOOK)
def lattice_cli(
    model: ModelArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Sentence to label")],
    output_path: DrawingOption,
    component: ComponentOption = None,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Draw the lattice of a sentence's labels. It has the tokens, their possible tags, and the
    probabilities of tags and of transitions between them. The best path is highlighted.
    """
    with user_errors():
        use_gpu(gpu_id)
        name = lattice(model, text, output_path, component=component)
    msg.good(f"Drew the lattice of '{name}' in {output_path}")


def lattice(model: str, text: str, output_path: Path, *, component: str | None = None) -> str:
    """Draw the lattice of a sentence."""
    from ..analysis.lattice import draw_lattice, make_lattice, summary, table

    check_outputs([output_path], DRAWINGS, charts=(".png",))
    nlp, name = load_tagger(model, component)
    text = replace_undecoded(text)
    doc = nlp(text, disable=nlp.pipe_names[nlp.pipe_names.index(name) :])
    if not len(doc):
        raise ValueError(Errors.P380)
    tagger = get_tagger(nlp, name)
    found = make_lattice(tagger.distribution([doc]), [token.text for token in doc], tagger.tags)
    save_drawing(
        output_path,
        draw_lattice(found, doc.text),
        f"Labelings of '{one_line(doc.text)}'",
        intro=f"Component {name}; {summary(found)}.",
        tables=[table(found)],
    )
    return name


FORMATS = ("svg", "png")


@psa_cli.command("attend", rich_help_panel=LOOK)
def attend_cli(
    model: ModelArgument,
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
    component: ComponentOption = None,
    tokens: Annotated[
        int, typer.Option("--tokens", "-n", help="Number of tokens to draw, from the first", min=1)
    ] = 32,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Draw the internals of a model, such as attention. Others are gates, positional biases, labels
    layer by layer and transitions.
    """
    with user_errors():
        use_gpu(gpu_id)
        n_images = attend(
            model,
            text,
            output_path,
            component=component,
            n_tokens=tokens,
            image_format=image_format or None,
        )
    msg.good(f"Drew {n_images} image{'s' * (n_images != 1)} in {output_path}")


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
    if not is_folder and output_path.suffix not in DRAWINGS:
        options = ", ".join([*DRAWINGS, "or none for a folder of images"])
        raise ValueError(Errors.P265.format(path=output_path, options=options))
    if image_format and not (is_folder and image_format in FORMATS):
        raise ValueError(Errors.P450.format(format=image_format, path=output_path))
    ending = f".{image_format or FORMATS[0]}" if is_folder else output_path.suffix
    check_plots(output_path)
    check_writable(output_path)

    from ..analysis.attention import look_inside
    from ..analysis.attention_page import attention_images, attention_page

    nlp, pipe = load_component(model, component)
    text = replace_undecoded(text)
    later = nlp.pipe_names[nlp.pipe_names.index(pipe.name) :]
    insight = look_inside(pipe, nlp(text, disable=later), n_tokens=n_tokens)
    images = attention_images(insight)
    if is_folder:
        paths = {output_path / f"{name}{ending}": image for name, image in images.items()}
        for path, image in paths.items():
            save_image(path, image)
        others = [x for x in sorted(output_path.iterdir()) if x.suffix[1:] in FORMATS]
        others = [path for path in others if path not in paths]
        if others:
            # Whose they are is unknown, so they stay
            msg.warn(
                f"{len(others)} other images were there before, such as {others[0].name}: if they "
                "are of an earlier run, remove them, or choose another folder."
            )
    elif ending == ".html":
        title = one_line(f"Inside {insight.component} of {title_names([model])[0]}")
        save_text(output_path, attention_page(insight, title))
    else:
        save_image(output_path, stack(list(images.values())))
    return len(images)
