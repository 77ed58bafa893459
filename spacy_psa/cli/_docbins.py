"""Read DocBins, with errors that name the file."""

import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors

if TYPE_CHECKING:
    from spacy.tokens import Doc, DocBin
    from spacy.vocab import Vocab

ZLIB_MAGIC = b"x\x9c"


def check_docbin_name(path: Path) -> None:
    """Check the name of an output."""
    if path.suffix != ".spacy" or path.is_dir():
        raise ValueError(Errors.P120.format(path=path))


def is_docbin(path: Path) -> bool:
    """Check whether a file is a DocBin, by its name or, since pipes have none, its first bytes."""
    from ..corpora.lines import open_binary

    if path.suffix == ".spacy":
        return True
    with open_binary(path) as file_:
        return file_.read(len(ZLIB_MAGIC)) == ZLIB_MAGIC


def read_docbin(path: Path) -> "DocBin":
    """Read a DocBin."""
    from spacy.tokens import DocBin

    from ..corpora.lines import open_binary
    from ..corpora.unpacking import check_zlib
    from ..messages import garbage_collection

    with open_binary(path) as file_:
        data = file_.read()
    with suppress(zlib.error):
        check_zlib(data, path)
    try:
        with garbage_collection():
            return DocBin().from_bytes(data)
    except Exception as err:
        # Anything other than a DocBin fails in zlib, msgpack or NumPy, whichever comes first.
        raise ValueError(Errors.P121.format(path=path)) from err


def read_docs(path: Path, vocab: "Vocab") -> "list[Doc]":
    """Read the Docs of a DocBin."""
    return list(docs_of(read_docbin(path), path, vocab))


def docs_of(docbin: "DocBin", path: Path, vocab: "Vocab") -> "Iterator[Doc]":
    """Unpack the Docs of a DocBin."""
    from ..corpora.docbins import unpack_docs
    from ..messages import garbage_collection

    docs = unpack_docs(docbin, vocab)
    while True:
        try:
            with garbage_collection():
                doc = next(docs, None)
        except Exception as err:
            # Lengths, string IDs and span groups are only decoded now
            raise ValueError(Errors.P121.format(path=path)) from err
        if doc is None:
            return
        yield doc
