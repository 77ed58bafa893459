"""`spacy psa vectors`: convert word vectors for a workflow, once."""

import gzip
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Annotated

import typer

from ..atomic_files import atomic_folder
from ..corpora.unpacking import Meter, copy_member
from ..errors import Errors
from ..terminal import msg
from ._outputs import check_pipeline_folder
from ._util import psa_cli, user_errors

NONE = ("", "null", "None")
BLOCK_SIZE = 1 << 18
# What spaCy, gzip, zip and NumPy raise for malformed text.
UNREADABLE = (
    ValueError,
    LookupError,
    RuntimeError,
    AssertionError,
    EOFError,
    MemoryError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
)


@psa_cli.command("vectors")
def vectors_cli(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="word2vec, GloVe or fastText text file, plain, .gz or .zip"
        ),
    ],
    dest: Annotated[
        str,
        typer.Argument(metavar="DEST", help="Folder to create, or package; null for no vectors"),
    ],
    lang: Annotated[str, typer.Option("--lang", "-l", help="Language of the vectors")] = "en",
    member: Annotated[
        str, typer.Option("--member", "-m", help="Name of the file, if a .zip has several")
    ] = "",
    truncate: Annotated[
        int, typer.Option("--truncate", "-t", help="Number of vectors to read; 0 for all", min=0)
    ] = 0,
) -> None:
    """
    Convert a text file to spaCy vectors, unless they already exist or are not wanted.

    DEST can be used as `[initialize] vectors`: null, a folder or an installed package.
    """
    with user_errors():
        if make_vectors(source, dest, lang=lang, member=member, truncate=truncate):
            msg.good(f"Wrote vectors to {dest}")
        else:
            msg.info("No vectors wanted" if dest in NONE else f"{dest} already exists")


def make_vectors(
    source: Path, dest: str, *, lang: str = "en", member: str = "", truncate: int = 0
) -> bool:
    """Create a pipeline with only vectors."""
    import spacy
    from spacy.training.initialize import convert_vectors

    from ..pipeline.vocabulary import check_embedded_words

    if dest in NONE or (Path(dest) / "config.cfg").is_file() or spacy.util.is_package(dest):
        return False
    if not source.is_file():
        raise ValueError(Errors.P109.format(path=source))
    check_pipeline_folder(Path(dest), [source])
    try:
        nlp = spacy.blank(lang)
    except ImportError as err:
        raise ValueError(Errors.P193.format(lang=lang, problem=err)) from err
    try:
        with _text_file(source, member) as path:
            convert_vectors(nlp, path, truncate=truncate, prune=-1)
    except UNREADABLE as err:
        # Files rejected before spaCy reads them have their own message
        known = isinstance(err, ValueError) and str(err).startswith("[P")
        raise err if known else ValueError(Errors.P176.format(path=source, reason=err)) from err
    if 0 in nlp.vocab.vectors.shape:
        raise ValueError(Errors.P176.format(path=source, reason="its words have no numbers"))
    check_embedded_words(nlp.vocab)
    # Atomically, since an incomplete folder would pass for a complete one.
    with atomic_folder(Path(dest)) as folder:
        nlp.to_disk(folder)
    return True


@contextmanager
def _text_file(source: Path, member: str) -> Iterator[Path]:
    """The file itself, or an unpacked member of a zip archive, of which spaCy reads only the first.
    The text is checked, since spaCy allocates as much memory as its first line announces.
    """
    if not member:
        _check_text(source)
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        with zipfile.ZipFile(source) as archive:
            copy_member(archive, member, source, path)
        _check_text(path, name=source)
        yield path


def _check_text(path: Path, name: Path | None = None) -> None:
    """Check that a file, plain or compressed, can have as many vectors as it announces."""
    name, size = name or path, path.stat().st_size
    with ExitStack() as stack:
        if path.name.endswith("gz"):
            packed = stack.enter_context(gzip.open(path))
            blocks = _blocks(packed, name, size)
        elif path.name.endswith("zip"):
            archive = stack.enter_context(zipfile.ZipFile(path))
            first = archive.namelist()[0]
            blocks = _blocks(stack.enter_context(archive.open(first)), name, size)
        else:
            # A plain file does not grow by unpacking
            blocks = iter([stack.enter_context(path.open("rb")).read(BLOCK_SIZE)])
        start = next(blocks, b"")
        if not start.strip():
            reason = "it is empty or begins with blank lines"
            raise ValueError(Errors.P176.format(path=name, reason=reason))
        unpacked = len(start) + sum(map(len, blocks))
    if b"\x00" in start:
        raise ValueError(Errors.P176.format(path=name, reason="it is a binary file"))
    header = start.split(b"\n", 1)[0].split()
    if len(header) == 2 and all(number.isdigit() for number in header):
        rows, width = map(int, header)
        found = max(size, unpacked)
        # Each number takes at least a space and a digit
        if 2 * rows * width > found:
            raise ValueError(Errors.P424.format(path=name, rows=rows, width=width, size=found))


def _blocks(file_: IO[bytes] | BufferedIOBase, name: Path, size: int) -> Iterator[bytes]:
    meter = Meter(name, size, "gzip -d or unzip")
    while block := file_.read(BLOCK_SIZE):
        meter.add(len(block))
        yield block
