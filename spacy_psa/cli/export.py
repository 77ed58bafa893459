"""`spacy psa split` and `spacy psa export`: hold out Docs of a DocBin, or write column files."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors
from ..terminal import msg
from ._docbins import check_docbin_name, docs_of, read_docbin
from ._options import ChunksKeyOption
from ._outputs import check_files
from ._util import DATA, atomic_path, is_stdout, messages, psa_cli, user_errors

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..corpora.problems import Problems


@psa_cli.command("split", rich_help_panel=DATA)
def split_cli(
    input_path: Annotated[Path, typer.Argument(metavar="INPUT", help=".spacy file to split")],
    train_path: Annotated[
        Path, typer.Argument(metavar="TRAIN", help=".spacy file for the remaining Docs")
    ],
    dev_path: Annotated[
        Path, typer.Argument(metavar="DEV", help=".spacy file for the held-out Docs")
    ],
    n: Annotated[int, typer.Option("--n", "-n", help="Number of Docs to hold out")] = 1000,
    seed: Annotated[
        int, typer.Option("--seed", "-s", help="Random seed; the same seed holds out the same Docs")
    ] = 0,
) -> None:
    """
    Hold out random Docs of a DocBin (.spacy).

    Both parts keep the order of the input. For CoNLL-2000, which has no development data, papers
    hold out 1,000 training sentences.
    """
    with user_errors():
        left, held_out = split(input_path, train_path, dev_path, n=n, seed=seed)
    msg.good(f"Wrote {left} Docs to {train_path} and {held_out} to {dev_path}")


def split(
    input_path: Path, train_path: Path, dev_path: Path, *, n: int = 1000, seed: int = 0
) -> tuple[int, int]:
    """Split a DocBin at random."""
    from spacy.tokens import DocBin

    check_docbin_name(train_path)
    check_docbin_name(dev_path)
    check_files([train_path, dev_path], [input_path])
    source = read_docbin(input_path)
    total = len(source)
    if total < 2:
        raise ValueError(Errors.P178.format(path=input_path, total=total))
    if not 0 < n < total:
        raise ValueError(Errors.P122.format(n=n, total=total, path=input_path, largest=total - 1))
    held_out = set(random.Random(seed).sample(range(total), n))
    has_user_data = any(data is not None for data in source.user_data)
    train, dev = (DocBin(source.attrs, store_user_data=has_user_data) for _ in range(2))
    for name in ("tokens", "spaces", "cats", "flags", "span_groups", "user_data"):
        values = getattr(source, name)
        if len(values) != total:
            raise ValueError(Errors.P121.format(path=input_path))
        for i, value in enumerate(values):
            getattr(dev if i in held_out else train, name).append(value)
    # Without unpacking the Docs, it is unknown which part has which strings
    train.strings = dev.strings = source.strings
    with atomic_path(train_path) as train_file, atomic_path(dev_path) as dev_file:
        train.to_disk(train_file)
        dev.to_disk(dev_file)
    return len(train), len(dev)


@psa_cli.command("export", rich_help_panel=DATA)
def export_cli(
    input_path: Annotated[Path, typer.Argument(metavar="INPUT", help=".spacy file to export")],
    output_path: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write, or - for stdout; for conll2005, with .words and .props added",
        ),
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format", "-f", help="conll2000, conll2003, iob, conllu, conll2005 or conll2012"
        ),
    ],
    scheme: Annotated[
        str, typer.Option("--scheme", "-s", help="Tag scheme of spans: BIO, IOB1, BIOES or IO")
    ] = "BIO",
    chunks_key: ChunksKeyOption = "chunks",
) -> None:
    """
    Write the annotation of a .spacy file in columns.

    Missing annotation is written as the format's placeholder: -, _, * or O. Tokens of white space
    are left out, and counted. If anything else cannot be written, existing outputs are left
    unchanged.
    """
    from ..corpora.problems import Problems
    from ..figures.tables import counted

    to_stdout = is_stdout(output_path)
    output_path = Path("/dev/stdout") if to_stdout else output_path
    if to_stdout and form == "conll2005":
        raise typer.BadParameter("conll2005 is written to two files", param_hint="--output")
    problems = Problems()
    with user_errors(to_stdout=to_stdout):
        n_sentences, paths = export(
            input_path,
            output_path,
            form=form,
            scheme=scheme,
            chunks_key=chunks_key,
            problems=problems,
        )
    with messages(to_stdout=to_stdout):
        for what, n in problems.notes.items():
            msg.info(f"{what}: {n:,}")
        msg.good(f"Wrote {counted(n_sentences, 'sentences')} to {' and '.join(map(str, paths))}")


def export(
    input_path: Path,
    output_path: Path,
    *,
    form: str,
    scheme: str = "BIO",
    chunks_key: str = "chunks",
    problems: "Problems | None" = None,
) -> tuple[int, list[Path]]:
    """Write a DocBin in a column format. The outputs are written atomically."""
    from spacy.vocab import Vocab

    from ..annotation.schemes import get_scheme
    from ..corpora.docbins import CHUNKS_KEY
    from ..corpora.docs import make_sentences
    from ..corpora.export import get_writer
    from ..corpora.problems import Problems
    from ..corpora.sentence import Sentence, leave_out_blanks

    writer = get_writer(form)
    get_scheme(scheme)
    paths = [output_path.with_name(output_path.name + ending) for ending in writer.endings]
    check_files(paths, [input_path])
    docs = docs_of(read_docbin(input_path), input_path, Vocab())
    found = problems or Problems()
    n_sentences = 0

    def counted() -> Iterator[Sentence]:
        nonlocal n_sentences
        known = _note_unknown(docs, found) if writer.has_ents else docs
        if chunks_key != CHUNKS_KEY:
            known = _note_missing(known, chunks_key, found)
        sentences = make_sentences(known, chunks_key=chunks_key)
        for sentence in leave_out_blanks(sentences, found):
            n_sentences += 1
            yield sentence

    with ExitStack() as stack:
        temporaries = [stack.enter_context(atomic_path(path)) for path in paths]
        # Callbacks run in reverse order, so these are closed before they are moved into place.
        files = [
            stack.enter_context(path.open("w", encoding="utf8", newline="\n"))
            for path in temporaries
        ]
        for texts in writer.write(counted(), scheme):
            for file_, text in zip(files, texts, strict=True):
                file_.write(text)
    return n_sentences, paths


def _note_missing(docs: "Iterator[Doc]", key: str, problems: "Problems") -> "Iterator[Doc]":
    """Note Docs without the spans that are to be written: their key may be misspelled."""
    for doc in docs:
        if key not in doc.spans:
            problems.note(f"Docs without spans under the key '{key}'")
        yield doc


def _note_unknown(docs: "Iterator[Doc]", problems: "Problems") -> "Iterator[Doc]":
    """Note tokens that may be in an entity or not, of which columns cannot say so."""
    from spacy.attrs import ENT_IOB

    for doc in docs:
        if doc.has_annotation("ENT_IOB"):
            n = int((doc.to_array(ENT_IOB) == 0).sum())
            if n:
                problems.note("tokens whose entities are unknown, written as outside of any", n)
        yield doc
