"""`spacy psa split`: hold out random Docs, for corpora without development data."""

import random
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors
from ..terminal import msg
from ._outputs import check_files
from ._util import atomic_path, check_docbin_name, psa_cli, read_docbin, user_errors


@psa_cli.command("split")
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
