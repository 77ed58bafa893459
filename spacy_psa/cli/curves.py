"""`spacy psa curves`: plot the training curves of runs."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..terminal import msg
from ._outputs import IMAGES, check_outputs, save_image
from ._util import atomic_path, psa_cli, user_errors

if TYPE_CHECKING:
    from ..analysis.training_logs import Run

SUFFIXES = (*IMAGES, ".html")


@psa_cli.command("curves")
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
    Plot training curves: the development score and the loss of one or more runs.
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
    check_outputs(output_paths, SUFFIXES, charts=SUFFIXES)
    from ..analysis.curves import draw_curves, make_page, training_curves

    found = _read(runs)
    plots = training_curves(found, score=score, by=by, start=start)
    for path in output_paths:
        if path.suffix == ".html":
            with atomic_path(path) as temporary:
                temporary.write_text(make_page(plots, found, score=score), encoding="utf8")
        else:
            save_image(path, draw_curves(plots))


def _read(runs: Sequence[str]) -> "list[Run]":
    from ..analysis.training_logs import Run, read_run

    found = []
    for text in runs:
        name, equals, path = text.partition("=")
        named = bool(equals) and not Path(text).exists()
        found.append((text, read_run(Path(path), name) if named else read_run(Path(text))))
    # Folders with the same name are distinguished by their paths.
    count = Counter(run.name for _, run in found)
    return [run if count[run.name] == 1 else Run(text, run.evaluations) for text, run in found]
