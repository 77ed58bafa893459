"""`spacy psa vocabulary` and `spacy psa vectors`: prepare words, labels and vectors, once."""

import gzip
import json
import tempfile
import zipfile
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from ..atomic_files import atomic_folder
from ..corpora.unpacking import Meter, copy_member
from ..errors import Errors
from ..terminal import msg
from ._config_errors import config_errors
from ._options import WITH_OVERRIDES, FolderOption, LangOption, TrainingCodeOption
from ._outputs import check_pipeline_folder, save_text
from ._training_files import check_readers, check_vectors_folder
from ._util import DATA, UNSET, check_writable, one_output, psa_cli, user_errors

FILE = "vocabulary.json"


@psa_cli.command(
    "vocabulary",
    rich_help_panel=DATA,
    context_settings=WITH_OVERRIDES,
)
def vocabulary_cli(
    ctx: typer.Context,
    config_path: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="Training config", exists=True, dir_okay=False),
    ],
    output_path: FolderOption,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum number of documents to read")
    ] = None,
    code_path: TrainingCodeOption = None,
) -> None:
    """
    Count a corpus's words, for training on a stream. The corpus is the training corpus of a config.

    With max_epochs = -1, spaCy initializes components with the first 100 documents. The command
    reads the whole corpus once, and writes vocabulary.json, and the labels of each psa_tagger and
    psa_srl as `spacy init labels` does, for [initialize.components]. Use --limit for a reader that
    never ends. Settings can be overridden by options such as --paths.train train.spacy --paths.dev
    dev.spacy.
    """
    from ..private_names import config_overrides

    overrides = config_overrides(ctx.args)
    with user_errors():
        n_docs, n_words = write_vocabulary(config_path, output_path, overrides, limit=limit)
    msg.good(f"Wrote {n_words:,} words of {n_docs:,} documents to {output_path / FILE}")


def write_vocabulary(
    config_path: Path, output_path: Path, overrides: dict[str, Any], *, limit: int | None = None
) -> tuple[int, int]:
    """Write the words and labels of a training corpus."""
    from spacy.util import load_config, load_model_from_config, resolve_dot_names

    from ..pipeline.components import Component
    from ..private_names import show_validation_error

    check_writable(output_path / FILE, is_file=True)
    with show_validation_error(config_path, hint_fill=False), config_errors(config_path):
        config = load_config(config_path, overrides=overrides, interpolate=False)
        # spaCy makes all readers of a section, if only one is wanted, too
        check_readers(config, ("train_corpus", "dev_corpus"))
        nlp = load_model_from_config(config, auto_fill=True)
        settings = nlp.config.interpolate()
        name = settings["training"]["train_corpus"]
        (corpus,) = resolve_dot_names(settings, [name])
    words: Counter[str] = Counter()
    pipes = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, Component)}
    labels: dict[str, set[str]] = {pipe: set() for pipe in pipes}
    n_docs = 0
    for n_docs, example in enumerate(islice(corpus(nlp), limit), 1):  # noqa: B007
        words.update(token.text for token in example.predicted)
        for pipe, found in labels.items():
            found.update(pipes[pipe].target.labels_of(example.reference))
    if not words:
        raise ValueError(Errors.P436.format(n=n_docs, name=name))
    files: dict[str, Any] = {FILE: dict(sorted(words.items()))}
    files.update({f"{pipe}.json": sorted(found - {""}) for pipe, found in labels.items()})
    for file, contents in files.items():
        text = json.dumps(contents, ensure_ascii=False, indent=0)
        save_text(output_path / file, text + "\n")
    return n_docs, len(words)


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


@psa_cli.command("vectors", rich_help_panel=DATA)
def vectors_cli(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="word2vec, GloVe or fastText text file, plain, .gz or .zip"
        ),
    ],
    place: Annotated[
        str | None,
        typer.Argument(metavar="OUTPUT", help="Folder to create, or package; null for no vectors"),
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="The same as OUTPUT")] = None,
    lang: LangOption = "en",
    member: Annotated[
        str, typer.Option("--member", "-m", help="Name of the file, if a .zip has several")
    ] = "",
    truncate: Annotated[
        int, typer.Option("--truncate", "-t", help="Number of vectors to read; 0 for all", min=0)
    ] = 0,
) -> None:
    """
    Convert a text file to spaCy vectors. Not if they already exist or are not wanted.

    OUTPUT can be used as `[initialize] vectors`: null, a folder or an installed package.
    """
    dest = one_output(place, output)
    with user_errors():
        if make_vectors(source, dest, lang=lang, member=member, truncate=truncate):
            msg.good(f"Wrote vectors to {dest}")
        else:
            msg.info("No vectors wanted" if dest in UNSET else f"{dest} already exists")


def make_vectors(
    source: Path, dest: str, *, lang: str = "en", member: str = "", truncate: int = 0
) -> bool:
    """Create a pipeline with only vectors."""
    import spacy
    from spacy.training.initialize import convert_vectors

    from ..models.lookup import check_vectors

    if dest in UNSET:
        return False
    if (Path(dest) / "config.cfg").is_file() or spacy.util.is_package(dest):
        check_vectors_folder(dest, lang)
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
    check_vectors(nlp.vocab.vectors)
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
            files = archive.namelist()
            if len(files) > 1:
                reason = f"it has several files: {', '.join(files)}"
                raise ValueError(Errors.P176.format(path=name, reason=reason))
            blocks = _blocks(stack.enter_context(archive.open(files[0])), name, size)
        else:
            # A plain file does not grow by unpacking
            blocks = iter([stack.enter_context(path.open("rb")).read(BLOCK_SIZE)])
        start = next(blocks, b"")
        if not start.strip():
            reason = "it is empty or begins with blank lines"
            raise ValueError(Errors.P176.format(path=name, reason=reason))
        unpacked = len(start) + sum(map(len, blocks))
    if start.startswith(BOM_UTF8):
        # spaCy would make it a part of the first word, or read no header
        reason = "it begins with a byte order mark: save it as UTF-8 without one"
        raise ValueError(Errors.P176.format(path=name, reason=reason))
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
