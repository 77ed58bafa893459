"""`python -m spacy psa …`: spaCy loads this module from the entry points in `spacy_cli`."""

import sys

from ._util import psa_cli
from .annotate import annotate_cli
from .attend import attend_cli
from .calibrate import calibrate_cli
from .check import check_cli, require_cli
from .compare import compare_cli
from .conlleval import conlleval_cli
from .convert import convert_cli
from .curves import curves_cli
from .draw import draw_cli
from .evaluate import evaluate_cli
from .export import export_cli
from .fetch import fetch_cli
from .init_config import init_config_cli
from .labels import labels_cli
from .lattice import lattice_cli
from .quantize import quantize_cli
from .reproduce import reproduce_cli
from .results import results_cli
from .scores import scores_cli
from .split import split_cli
from .srl_ensemble import srl_ensemble_cli
from .srl_eval import srl_eval_cli
from .tag import tag_cli
from .train import train_cli
from .treebank import treebank_cli
from .vectors import vectors_cli
from .vocabulary import vocabulary_cli

# `spacy-psa …` starts faster without spaCy
if "spacy_psa.__main__" not in sys.modules:
    from spacy.cli import app

    app.add_typer(psa_cli)

__all__ = [
    "annotate_cli",
    "attend_cli",
    "calibrate_cli",
    "check_cli",
    "compare_cli",
    "conlleval_cli",
    "convert_cli",
    "curves_cli",
    "draw_cli",
    "evaluate_cli",
    "export_cli",
    "fetch_cli",
    "init_config_cli",
    "labels_cli",
    "lattice_cli",
    "psa_cli",
    "quantize_cli",
    "reproduce_cli",
    "require_cli",
    "results_cli",
    "scores_cli",
    "split_cli",
    "srl_ensemble_cli",
    "srl_eval_cli",
    "tag_cli",
    "train_cli",
    "treebank_cli",
    "vectors_cli",
    "vocabulary_cli",
]
