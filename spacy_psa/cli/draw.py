"""`spacy psa draw`: draw a diagram of the model in a config."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import Errors
from ..terminal import msg
from ._outputs import IMAGES, check_outputs, save_image
from ._util import psa_cli, user_errors


@psa_cli.command("draw")
def draw_cli(
    config_path: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Config, or folder of a pipeline")
    ],
    output_path: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help=".svg or .png file to write")
    ],
    component: Annotated[
        str,
        typer.Option(
            "--component", "-c", help="Component name; by default the last spacy-psa component"
        ),
    ] = "",
) -> None:
    """
    Draw a diagram of a component's model: its blocks and settings, from words to labels.
    """
    with user_errors():
        name = draw(config_path, output_path, component=component or None)
    msg.good(f"Drew the model of '{name}' in {output_path}")


def draw(config_path: Path, output_path: Path, *, component: str | None = None) -> str:
    """Draw a diagram of a component's model."""
    from thinc.api import Config

    from ..analysis.diagram import draw_model

    check_outputs([output_path], IMAGES)
    path = config_path / "config.cfg" if config_path.is_dir() else config_path
    if not path.is_file():
        raise ValueError(Errors.P109.format(path=path))
    try:
        config = Config().from_disk(path, interpolate=False)
    except ValueError as err:
        raise ValueError(Errors.P251.format(path=path, problem=err)) from err
    # In pipeline order, since some releases of spaCy sort the sections of a config
    components, order = config.get("components", {}), config.get("nlp", {}).get("pipeline", [])
    names = [name for name in order if name in components]
    names += [name for name in components if name not in names]
    name = _find_component({name: components[name] for name in names}, component, path)
    save_image(output_path, draw_model(config["components"][name]["model"], name))
    return name


def _find_component(components: dict[str, Any], wanted: str | None, path: Path) -> str:
    with_model = [name for name, settings in components.items() if "model" in settings]
    ours = [n for n in with_model if str(components[n].get("factory", "")).startswith("psa_")]
    name = wanted or next(iter(reversed(ours or with_model)), None)
    if name not in with_model:
        found = ", ".join(with_model) or "none"
        shown = f" '{name}'" if name else ""
        raise ValueError(Errors.P252.format(name=shown, path=path, found=found))
    return name
