"""Check and write the output files of commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import Errors
from ..terminal import msg
from ._util import atomic_path, check_writable

IMAGES = (".svg", ".png")


def check_outputs(
    paths: Sequence[Path],
    options: Sequence[str] = (".json", ".md", ".html"),
    *,
    charts: Sequence[str] = (".png", ".html"),
) -> None:
    """Check the names of outputs before the work begins.

    paths (Sequence[Path]): The files to write.
    options (Sequence[str]): The allowed extensions.
    charts (Sequence[str]): The extensions of files that need the packages that draw charts.
    RAISES (ValueError): If one has another extension, or needs packages that are not installed.
    RAISES (OutputError): If one is a folder, or its folder cannot be written to.
    """
    from ..figures.images import check_plots

    for path in paths:
        if path.suffix not in options:
            raise ValueError(Errors.P265.format(path=path, options=", ".join(options)))
        if path.suffix in charts:
            check_plots(path)
        check_writable(path, is_file=True)


def check_not_input(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Check that no output overwrites an input.

    outputs (Iterable[Optional[Path]]): The files to write; None for an output that is not wanted.
    inputs (Iterable[Path]): The files to read.
    RAISES (ValueError): If a file is both.
    """
    read = {path.resolve() for path in inputs}
    for path in outputs:
        if path is not None and path.resolve() in read:
            raise ValueError(Errors.P451.format(path=path))


def check_files(outputs: Sequence[Path | None], inputs: Iterable[Path]) -> None:
    """Check the outputs of a command before the work begins.

    outputs (Sequence[Optional[Path]]): The files to write; None for an output that is not wanted.
    inputs (Iterable[Path]): The files to read.
    RAISES (ValueError): If an output is also an input, or two of them are the same.
    RAISES (OutputError): If one is a folder, or its folder cannot be written to.
    """
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

    output (Path): The folder.
    inputs (Iterable[Path]): The files and folders to read.
    force (Optional[bool]): Whether to replace an existing pipeline; None if not supported.
    message (str): The error's template, with {path}, {problem} and {force}, the hint to use
        `force`.
    RAISES (ValueError): If the folder has other content, or it contains an input or vice versa.
    RAISES (OutputError): If it cannot be written.
    """
    check_writable(output)
    here = output.resolve()
    is_full = output.is_dir() and any(output.iterdir())
    is_pipeline = all((output / name).is_file() for name in ("config.cfg", "meta.json"))
    problem, remedy = None, ""
    for path in inputs:
        there = path.resolve()
        if here == there or here in there.parents:
            problem = f"it would overwrite the input '{path}'"
        elif there in here.parents:
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


def save_image(path: Path, svg: str) -> None:
    """Write an image atomically: as it is, or rendered to pixels if the file ends in .png.

    path (Path): The SVG or PNG file.
    svg (str): The SVG image.
    RAISES (ValueError): If it is a PNG file and the package that draws these is not installed.
    """
    from ..figures.images import to_png

    data = to_png(svg, path) if path.suffix == ".png" else svg.encode("utf8")
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def save_output(path: Path, text: str, what: str) -> None:
    """Write an output atomically, and report it.

    path (Path): The file.
    text (str): Its content.
    what (str): What it is, for the message.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf8")
    msg.good(f"Saved the {what} to {path}")
