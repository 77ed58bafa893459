"""Files that a command writes, most of them beside what it prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from wasabi import msg

from ..errors import Errors
from ._util import atomic_path, check_writable

IMAGES = (".svg", ".png")


def check_outputs(
    paths: Sequence[Path], options: Sequence[str] = (".json", ".md", ".html")
) -> None:
    """Check the names of outputs before the work begins.

    paths (Sequence[Path]): The files to be written.
    options (Sequence[str]): The endings that they may have.
    RAISES (ValueError): If one has another ending, or is a folder, or if it is a PNG file, and what
        draws these is not installed.
    RAISES (OutputError): If its folder cannot be written to.
    """
    from ..analysis.pixels import check_png

    for path in paths:
        if path.suffix not in options or path.is_dir():
            raise ValueError(Errors.P265.format(path=path, options=", ".join(options)))
        if path.suffix == ".png":
            check_png(path)
        check_writable(path)


def check_not_input(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Check that no output takes the place of what it is made from.

    outputs (Iterable[Optional[Path]]): The files to be written; None for one that is not wanted.
    inputs (Iterable[Path]): The files that are read.
    RAISES (ValueError): If one is both.
    """
    read = {path.resolve() for path in inputs}
    for path in outputs:
        if path is not None and path.resolve() in read:
            raise ValueError(Errors.P451.format(path=path))


def check_files(outputs: Sequence[Path | None], inputs: Iterable[Path]) -> None:
    """Check the files that a command writes before the work begins.

    outputs (Sequence[Optional[Path]]): The files to be written; None for one that is not wanted.
    inputs (Iterable[Path]): The files that are read.
    RAISES (ValueError): If one is read, too, or if two of them are the same.
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
    """Check where a pipeline is to be written before the work begins. The folder is replaced as a
    whole, so that all that is in it would be lost.

    output (Path): The folder.
    inputs (Iterable[Path]): The files and folders that are read.
    force (Optional[bool]): Whether to replace a pipeline that is there; None if the command never
        does.
    message (str): The error's template, with a path, a problem and what `force` has to do with it.
    RAISES (ValueError): If something else is there, or an input and the folder are within each
        other.
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
            problem = f"'{path}', which is read, would be replaced"
        elif there in here.parents:
            problem = f"it lies within '{path}', which is read"
    if problem is None and output.exists() and not output.is_dir():
        problem = "it is a file"
    elif problem is None and is_full and not is_pipeline:
        problem = "the folder is not empty, and what is in it is no pipeline"
    elif problem is None and is_full and not force:
        problem = "the folder is not empty"
        remedy = "" if force is None else ", or replace it with --force"
    if problem is not None:
        raise ValueError(message.format(path=output, problem=problem, force=remedy))


def save_image(path: Path, svg: str) -> None:
    """Write an image, whole or not at all: as it is, or as pixels if the file is to end in .png.

    path (Path): The SVG or PNG file.
    svg (str): The SVG image.
    RAISES (ValueError): If it is a PNG file, and what draws these is not installed.
    """
    from ..analysis.pixels import to_png

    data = to_png(svg, path) if path.suffix == ".png" else svg.encode("utf8")
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def save_output(path: Path, text: str, what: str) -> None:
    """Write an output, whole or not at all, and say so.

    path (Path): The file.
    text (str): Its text.
    what (str): What it is.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf8")
    msg.good(f"Saved the {what} to {path}")
