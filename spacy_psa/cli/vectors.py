"""`spacy psa vectors`: word vectors for a workflow, made once, or left alone."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ._util import psa_cli, user_errors

NONE = ("", "null", "None")


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
        int, typer.Option("--truncate", "-t", help="How many vectors to read; 0 for all")
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
    RAISES (ValueError): If there is no such file, or if it is not in the text format.
    """
    import spacy
    from spacy.training.initialize import convert_vectors

    if dest in NONE or (Path(dest) / "config.cfg").is_file() or spacy.util.is_package(dest):
        return False
    if not source.is_file():
        raise ValueError(Errors.P109.format(path=source))
    nlp = spacy.blank(lang)
    with _text_file(source, member) as path:
        try:
            convert_vectors(nlp, path, truncate=truncate, prune=-1)
        except (ValueError, IndexError, RuntimeError) as err:
            raise ValueError(Errors.P176.format(path=source, reason=err)) from err
    # Whole or not at all: a folder without the vectors would look like one with them.
    target = Path(dest)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        nlp.to_disk(Path(folder) / "vectors")
        if target.exists():
            shutil.rmtree(target)
        (Path(folder) / "vectors").rename(target)
    return True


@contextmanager
def _text_file(source: Path, member: str) -> Iterator[Path]:
    """The file itself, or the unpacked member of a zip archive, of which spaCy takes the first."""
    if not member:
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(source) as archive:
                yield Path(archive.extract(member, folder))
        except (zipfile.BadZipFile, KeyError) as err:
            raise ValueError(Errors.P176.format(path=source, reason=err)) from err
