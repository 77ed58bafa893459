"""What the commands share: the typer app, error messages, whole-or-nothing writing, DocBins."""

import errno
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer
from wasabi import msg

from ..errors import Errors
from ..whole_files import atomic_path, check_writable

if TYPE_CHECKING:
    from spacy.tokens import Doc, DocBin
    from spacy.vocab import Vocab

__all__ = ["atomic_path", "check_writable", "psa_cli", "user_errors"]

HELP = "Commands for sequence labeling: corpora, scores by the CoNLL rules, result tables."

psa_cli = typer.Typer(name="psa", help=HELP, no_args_is_help=True, rich_markup_mode=None)


@contextmanager
def user_errors() -> Iterator[None]:
    """Print errors that the user can mend as a message and exit; let bugs show their traceback."""
    try:
        yield
        sys.stdout.flush()
    except OSError as err:
        _fail(err)
    except ValueError as err:
        if not re.match(r"\[[EP]\d+\]", str(err)):
            raise
        _fail(err)


def _fail(error: Exception) -> NoReturn:
    try:
        msg.fail(str(error))
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads on, as with `| head`: that is for typer, which ends without a word
        raise
    except OSError as broken:
        template = Errors.P410 if broken.errno == errno.ENOSPC else Errors.P412
        text = template.format(path="Standard output", reason=broken.strerror)
        print(text, file=sys.stderr)
        with suppress(OSError):
            # What is left to be written would fail once more when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(1)


@contextmanager
def gpu_errors(gpu_id: int) -> Iterator[None]:
    """Say clearly why a GPU cannot be used.

    gpu_id (int): The GPU.
    RAISES (ValueError): If the block raises an error of CuPy, PyTorch or Thinc.
    """
    try:
        yield
    except (ValueError, RuntimeError, AssertionError) as error:
        # PyTorch adds hints for programmers on lines of their own
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(Errors.P453.format(gpu_id=gpu_id, reason=reason)) from error


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
    RAISES (ValueError): If there is no such file, if it is not a DocBin, or if far too much comes
        out of it.
    """
    from spacy.tokens import DocBin

    from ..corpora.unpacking import check_zlib
    from ..messages import garbage_collection

    if not path.is_file():
        raise ValueError(Errors.P109.format(path=path))
    with suppress(zlib.error):
        check_zlib(path)
    try:
        with garbage_collection():
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
        return list(docs_of(read_docbin(path), path, vocab))


def docs_of(docbin: "DocBin", path: Path, vocab: "Vocab") -> "Iterator[Doc]":
    """Unpack the Docs of a DocBin.

    docbin (DocBin): The DocBin.
    path (Path): Where it is from, for messages.
    vocab (Vocab): The vocabulary.
    YIELDS (Doc): The Docs.
    RAISES (ValueError): If one of them is damaged.
    """
    from ..messages import garbage_collection

    docs = docbin.get_docs(vocab)
    while True:
        try:
            with garbage_collection():
                doc = next(docs, None)
        except Exception as err:
            # Lengths, numbers of strings and groups of spans are only looked at now
            raise ValueError(Errors.P121.format(path=path)) from err
        if doc is None:
            return
        yield doc
