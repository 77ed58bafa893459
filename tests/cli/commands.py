"""Run spaCy's commands in this process, since importing everything again costs seconds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import spacy.cli  # noqa: F401  (registers the commands)
from click import Command
from click.testing import CliRunner, Result
from spacy.cli._util import app
from typer.main import get_command

import spacy_psa.cli  # noqa: F401  (registers the commands of spacy-psa)

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "assets" / "sample"


@dataclass(frozen=True)
class SmallCorpus:
    """The first sentences of the sample corpus.

    train (Path): The .spacy file for training.
    dev (Path): The .spacy file for evaluation.
    train_columns (Path): The column file from which `train` was converted.
    dev_columns (Path): The column file from which `dev` was converted.
    """

    train: Path
    dev: Path
    train_columns: Path
    dev_columns: Path

    @property
    def paths(self) -> list[str]:
        """The command-line overrides that set the paths in a config."""
        return ["--paths.train", str(self.train), "--paths.dev", str(self.dev)]


@cache
def spacy_command() -> Command:
    """spaCy's commands with ours; Typer's runner builds them anew for each call."""
    return get_command(app)


def run(*arguments: object) -> Result:
    """Run one of spaCy's commands."""
    return CliRunner().invoke(spacy_command(), [str(argument) for argument in arguments])


def succeed(*arguments: object) -> str:
    """Run one of spaCy's commands, which must succeed."""
    result = run(*arguments)
    if result.exit_code != 0:
        raise AssertionError(f"{arguments} failed:\n{result.output}") from result.exception
    return plain(result.output)


def failure(*arguments: object) -> str:
    """Run one of spaCy's commands, which must end with a message, no traceback.

    RETURNS (str): The message, on one line.
    """
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit), result.exception
    return " ".join(plain(result.output).split())


@contextmanager
def descriptor(number: int, path: Path, mode: int) -> Iterator[None]:
    """Let a standard descriptor of this process be a file, as the shell's < and >> do."""
    kept, opened = os.dup(number), os.open(path, mode)
    os.dup2(opened, number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)
        os.close(opened)


def plain(output: str) -> str:
    """Remove the colors from a command's output."""
    return re.sub(r"\x1b\[[\d;]*m", "", output)


def contents(folder: Path) -> dict[str, bytes]:
    """The contents of a folder's files, by relative path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
