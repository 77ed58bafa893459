"""Check and write the output files of commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ..printable import replace_undecoded
from ..terminal import msg, show
from ._util import atomic_path, check_writable

if TYPE_CHECKING:
    from ..figures.tables import Table

DRAWINGS = (".html", ".svg", ".png")
SAY_NOTHING = ("model-best", "model-last")


def check_outputs(
    paths: Sequence[Path],
    options: Sequence[str] = (".json", ".md", ".html"),
    *,
    charts: Sequence[str] = (".png", ".html"),
) -> None:
    """Check the names of outputs before the work begins."""
    from ..figures.images import check_plots

    for path in paths:
        if path.suffix not in options:
            raise ValueError(Errors.P265.format(path=path, options=", ".join(options)))
        if path.suffix in charts:
            check_plots(path)
        check_writable(path, is_file=True)


def check_not_input(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Check that no output overwrites an input."""
    read = {path.resolve() for path in inputs}
    for path in outputs:
        if path is not None and path.resolve() in read:
            raise ValueError(Errors.P451.format(path=path))


def check_files(outputs: Sequence[Path | None], inputs: Iterable[Path]) -> None:
    """Check the outputs of a command before the work begins."""
    check_not_input(outputs, inputs)
    seen = set()
    for path in outputs:
        if path is not None:
            if path.resolve() in seen:
                raise ValueError(Errors.P123.format(path=path))
            seen.add(path.resolve())
            check_writable(path, is_file=True)


def check_pipeline_folder(
    output: Path,
    inputs: Iterable[Path],
    *,
    force: bool | None = None,
    message: str = Errors.P443,
) -> None:
    """Check a pipeline's output folder before the work begins. Writing replaces the whole folder,
    so any other content would be lost.
    """
    check_writable(output)
    here = output.resolve()
    is_full = output.is_dir() and any(output.iterdir())
    is_pipeline = all((output / name).is_file() for name in ("config.cfg", "meta.json"))
    problem, remedy = None, ""
    for path in inputs:
        there = path.resolve()
        if there.is_relative_to(here):
            problem = f"it would overwrite the input '{path}'"
        elif here.is_relative_to(there):
            problem = f"it is inside the input '{path}'"
    if problem is None and output.exists() and not output.is_dir():
        problem = "it is a file"
    elif problem is None and is_full and not is_pipeline:
        problem = "the folder is not empty and is not a pipeline"
    elif problem is None and is_full and not force:
        problem = "the folder is not empty"
        remedy = "" if force is None else ", or replace it with --force"
    if problem is not None:
        raise ValueError(message.format(path=output, problem=problem, force=remedy))


def title_names(paths: Sequence[str]) -> list[str]:
    """Names of pipelines and files for titles: the end of each path, as long as needed to be
    unique, without the folders of this machine. `model-best` alone would say nothing."""
    paths = list(map(replace_undecoded, paths))
    parts = [Path(path).parts for path in paths]
    least = [2 if path and path[-1] in SAY_NOTHING else 1 for path in parts]
    for n in range(max(map(len, parts), default=1) + 1):
        names = ["/".join(path[-(k + n) :]) for path, k in zip(parts, least, strict=True)]
        if len(set(names)) == len(names):
            return names
    return paths


def save_image(path: Path, svg: str) -> None:
    """Write an image atomically: as it is, or rendered to pixels if the file ends in .png."""
    from ..figures.images import to_png

    data = to_png(svg, path) if path.suffix == ".png" else svg.encode("utf8")
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def save_drawing(
    path: Path, svg: str, title: str, *, intro: str = "", tables: Sequence[Table] = ()
) -> None:
    """Write a drawing atomically: as an image or, if the file ends in .html, on a page with a
    summary in one line and tables."""
    if path.suffix != ".html":
        save_image(path, svg)
        return
    from ..figures.pages import render

    page = render("plots.html.jinja", title, intro=intro, images=[svg], tables=tables)
    save_text(path, page)


def save_text(path: Path, text: str) -> None:
    """Write text atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf8")


def json_text(data: dict[str, Any]) -> str:
    """RETURNS (str): The text of a JSON file."""
    import srsly

    return srsly.json_dumps(data, indent=2) + "\n"


def save_output(path: Path, text: str, what: str) -> None:
    """Write an output atomically, and report it."""
    save_text(path, text)
    msg.good(f"Saved the {what} to {path}")


def show_command(*words: object, what: str = "Next", code_path: Path | None = None) -> None:
    """Show the command that usually comes next, in one line that can be copied. It needs the
    user's code if this one did."""
    code = () if code_path is None else ("--code", code_path)
    show(f"{what}: {shell_line('python', '-m', 'spacy', *words, *code)}")


def shell_line(*words: object) -> str:
    """Write words for a shell."""
    return shlex.join(map(str, words))
