"""`spacy psa curves` and `spacy psa labels`: plot training curves, and label embeddings."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..printable import one_line
from ..terminal import msg
from ._options import CodeOption, ComponentOption, DrawingOption
from ._outputs import DRAWINGS, check_outputs, save_image, save_text, title_names
from ._predictions import load_component
from ._util import LOOK, psa_cli, user_errors

if TYPE_CHECKING:
    from ..analysis.training_logs import Run


@psa_cli.command("curves", rich_help_panel=LOOK)
def curves_cli(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Output folders with train.jsonl, such files, or saved output of spacy train; "
            "NAME=RUN sets a name",
        ),
    ],
    output_paths: Annotated[
        list[Path],
        typer.Option("--output", "-o", help="Output file, .svg, .png or .html; repeatable"),
    ],
    score: Annotated[
        str, typer.Option("--score", help="Score to plot; by default the main score")
    ] = "",
    by: Annotated[str, typer.Option("--by", help="Unit of the x-axis: epoch or step")] = "epoch",
    start: Annotated[float, typer.Option("--from", help="First epoch or step to show")] = 0.0,
) -> None:
    """
    Plot the scores and losses of one or more training runs.
    """
    with user_errors():
        curves(runs, output_paths, score=score, by=by, start=start)
    for path in output_paths:
        msg.good(f"Drew the training curves in {path}")


def curves(
    runs: Sequence[str],
    output_paths: Sequence[Path],
    *,
    score: str = "",
    by: str = "epoch",
    start: float = 0.0,
) -> None:
    """Plot training curves."""
    check_outputs(output_paths, DRAWINGS, charts=DRAWINGS)
    from ..analysis.curves import draw_curves, make_page, training_curves

    found = _read(runs)
    plots = training_curves(found, score=score, by=by, start=start)
    for path in output_paths:
        if path.suffix == ".html":
            save_text(path, make_page(plots, found, score=score))
        else:
            save_image(path, draw_curves(plots))


def _read(runs: Sequence[str]) -> "list[Run]":
    from ..analysis.training_logs import Run, read_run

    found = []
    for text in runs:
        name, equals, path = text.partition("=")
        named = bool(equals) and not Path(text).exists()
        found.append((text, read_run(Path(path), name) if named else read_run(Path(text))))
    # Folders with the same name are distinguished by those around them.
    count = Counter(run.name for _, run in found)
    names = title_names([text for text, _ in found])
    return [
        run if count[run.name] == 1 else Run(name, run.evaluations)
        for name, (_, run) in zip(names, found, strict=True)
    ]


TITLES = {"pca": "Map of the labels (PCA)", "tsne": "Map of the labels (t-SNE)"}


@psa_cli.command("labels", rich_help_panel=LOOK)
def labels_cli(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="Pipeline names or folders, e.g. checkpoints"),
    ],
    output_path: DrawingOption,
    component: ComponentOption = None,
    method: Annotated[str, typer.Option("--method", "-m", help="Projection: pca or tsne")] = "pca",
    align: Annotated[
        str,
        typer.Option(
            "--align", "-a", help="Alignment: procrustes, or last (plane of the last pipeline)"
        ),
    ] = "procrustes",
    code_path: CodeOption = None,
) -> None:
    """
    Draw a map of the labels of one or more pipelines. Those of several are side by side.
    """
    with user_errors():
        draw_labels(paths, output_path, component=component, method=method, align=align)
    msg.good(f"Drew the labels of {len(paths)} pipeline{'s' * (len(paths) > 1)} in {output_path}")


def draw_labels(
    models: Sequence[str],
    output_path: Path,
    *,
    component: str | None = None,
    method: str = "pca",
    align: str = "procrustes",
) -> None:
    """Draw maps of labels."""
    check_outputs([output_path], DRAWINGS, charts=DRAWINGS)
    from ..analysis.label_map import label_vectors, map_labels
    from ..analysis.label_map_figure import draw_maps, map_page

    vectors = []
    for name, model in zip(title_names(models), models, strict=True):
        _, pipe = load_component(model, component)
        vectors += label_vectors(one_line(name), pipe)
    maps = map_labels(vectors, method=method, align=align)
    if output_path.suffix == ".html":
        save_text(output_path, map_page(maps, TITLES[method]))
    else:
        save_image(output_path, draw_maps(maps, TITLES[method]))
