"""Files that a command writes, most of them beside what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wasabi import msg

from ..errors import Errors
from ._util import atomic_path, check_writable


def check_outputs(
    paths: Sequence[Path], options: Sequence[str] = (".json", ".md", ".html")
) -> None:
    """Check the names of outputs before the work begins.

    paths (Sequence[Path]): The files to be written.
    options (Sequence[str]): The endings that they may have.
    RAISES (ValueError): If one has another ending, or is a folder.
    RAISES (OutputError): If its folder cannot be written to.
    """
    for path in paths:
        if path.suffix not in options or path.is_dir():
            raise ValueError(Errors.P265.format(path=path, options=", ".join(options)))
        check_writable(path)


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
