"""What the commands share: the typer app, error messages, whole-or-nothing writing, DocBins."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from wasabi import msg

from ..errors import Errors

if TYPE_CHECKING:
    from spacy.tokens import Doc, DocBin
    from spacy.vocab import Vocab

HELP = "Commands for sequence labeling: corpora, scores by the CoNLL rules, result tables."

psa_cli = typer.Typer(name="psa", help=HELP, no_args_is_help=True, rich_markup_mode=None)


@contextmanager
def user_errors() -> Iterator[None]:
    """Print errors that the user can mend as a message and exit; let bugs show their traceback."""
    try:
        yield
    except OSError as err:
        msg.fail(str(err), exits=1)
    except ValueError as err:
        if not re.match(r"\[[EP]\d+\]", str(err)):
            raise
        msg.fail(str(err), exits=1)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Write a file whole or not at all.

    path (Path): The file. Its folder is made if there is none.
    YIELDS (Path): A temporary file to write. It takes the place of the file when the block ends,
        and is removed if the block raises.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because os.replace is atomic only within a file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def check_docbin_name(path: Path) -> None:
    """Check the name of an output.

    path (Path): The file to be written.
    RAISES (ValueError): If spaCy's corpus reader would not find it.
    """
    if path.suffix != ".spacy" or path.is_dir():
        raise ValueError(Errors.P120.format(path=path))


def read_docbin(path: Path) -> "DocBin":
    """Read a DocBin.

    path (Path): The .spacy file.
    RETURNS (DocBin): The DocBin.
    RAISES (ValueError): If there is no such file, or if it is not a DocBin.
    """
    from spacy.tokens import DocBin

    if not path.is_file():
        raise ValueError(Errors.P109.format(path=path))
    try:
        return DocBin().from_disk(path)
    except Exception as err:
        # Anything else than a DocBin fails in zlib, msgpack or numpy, whichever meets it first.
        raise ValueError(Errors.P121.format(path=path)) from err


def read_docs(path: Path, vocab: "Vocab") -> "list[Doc]":
    """Read the Docs of a DocBin.

    path (Path): The .spacy file.
    vocab (Vocab): The vocabulary.
    RETURNS (List[Doc]): The Docs.
    RAISES (ValueError): If there is no such file, or if it is not a DocBin.
    """
    from ..corpora.docbins import fast_msgpack

    with fast_msgpack():
        return list(read_docbin(path).get_docs(vocab))
