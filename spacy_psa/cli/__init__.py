"""`python -m spacy psa …`: spaCy finds this module through the entry point group `spacy_cli`."""

from spacy.cli._util import app

from ._util import psa_cli
from .conlleval import conlleval_cli
from .convert import convert_cli
from .fetch import fetch_cli
from .scores import scores_cli
from .split import split_cli
from .tag import tag_cli

app.add_typer(psa_cli)

__all__ = [
    "conlleval_cli",
    "convert_cli",
    "fetch_cli",
    "psa_cli",
    "scores_cli",
    "split_cli",
    "tag_cli",
]
