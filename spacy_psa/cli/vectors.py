"""`spacy psa vectors`: word vectors for a workflow, made once, or left alone."""

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
from wasabi import msg

from ..corpora.unpacking import Meter, copy_member
from ..errors import Errors
from ..whole_files import atomic_folder
from ._outputs import check_pipeline_folder
from ._util import psa_cli, user_errors

NONE = ("", "null", "None")
BLOCK_SIZE = 1 << 18
# What spaCy, gzip, zip and NumPy raise, if the text is not what it should be.
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
        typer.Argument(metavar="FILE", help="Text of word2vec, GloVe or fastText; .gz or .zip"),
    ],
    dest: Annotated[
        str,
        typer.Argument(metavar="DEST", help="Folder to make, or a package; null: no vectors"),
    ],
    lang: Annotated[str, typer.Option("--lang", "-l", help="Language of the vectors")] = "en",
    member: Annotated[
        str, typer.Option("--member", "-m", help="Name of the file in a .zip that has several")
    ] = "",
    truncate: Annotated[
        int, typer.Option("--truncate", "-t", help="How many vectors to read; 0 for all", min=0)
    ] = 0,
) -> None:
    """
    Make spaCy vectors from a text file, unless they are there already or not wanted.

    The setting `[initialize] vectors` takes DEST as it is: null, a folder or an installed package.
    """
    with user_errors():
        if make_vectors(source, dest, lang=lang, member=member, truncate=truncate):
            msg.good(f"Wrote vectors to {dest}")
        else:
            msg.info("No vectors are wanted" if dest in NONE else f"{dest} is there already")


def make_vectors(
    source: Path, dest: str, *, lang: str = "en", member: str = "", truncate: int = 0
) -> bool:
    """Make a pipeline of nothing but vectors.

    source (Path): A text file, plain or compressed.
    dest (str): The folder of the pipeline, the name of an installed one, or `null` for none.
    lang (str): The language.
    member (str): The name of the file in a zip archive; its first if not given.
    truncate (int): How many vectors to read; 0 for all.
    RETURNS (bool): Whether there was anything to make.
    RAISES (ValueError): If there is no such file or language, if it is not in the text format, if
        some of its numbers are not finite, or if the folder has something else in it.
    RAISES (OutputError): If the folder cannot be written.
    """
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
        # What is refused before spaCy reads it has a message of its own
        known = isinstance(err, ValueError) and str(err).startswith("[P")
        raise err if known else ValueError(Errors.P176.format(path=source, reason=err)) from err
    if 0 in nlp.vocab.vectors.shape:
        raise ValueError(Errors.P176.format(path=source, reason="its words have no numbers"))
    check_embedded_words(nlp.vocab)
    # Whole or not at all: a folder without the vectors would look like one with them.
    with atomic_folder(Path(dest)) as folder:
        nlp.to_disk(folder)
    return True


@contextmanager
def _text_file(source: Path, member: str) -> Iterator[Path]:
    """The file itself, or the unpacked member of a zip archive, of which spaCy takes the first.
    What spaCy would make of it is checked beforehand: it allocates what the first line announces.
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
    """Check that a file, plain or compressed, has as many vectors as it says, and not too many."""
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
            # Nothing comes out of a plain file but itself
            blocks = iter([stack.enter_context(path.open("rb")).read(BLOCK_SIZE)])
        start = next(blocks, b"")
        unpacked = len(start) + sum(map(len, blocks))
    if not unpacked:
        raise ValueError(Errors.P176.format(path=name, reason="it is empty"))
    if b"\x00" in start:
        raise ValueError(Errors.P176.format(path=name, reason="it is a binary file"))
    header = start.split(b"\n", 1)[0].split()
    if len(header) == 2 and all(number.isdigit() for number in header):
        rows, width = map(int, header)
        found = max(size, unpacked)
        # A blank and a digit for each number at least
        if 2 * rows * width > found:
            raise ValueError(Errors.P424.format(path=name, rows=rows, width=width, size=found))


def _blocks(file_: IO[bytes] | BufferedIOBase, name: Path, size: int) -> Iterator[bytes]:
    meter = Meter(name, size, "gzip -d or unzip")
    while block := file_.read(BLOCK_SIZE):
        meter.add(len(block))
        yield block
