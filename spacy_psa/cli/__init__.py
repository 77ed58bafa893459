"""`python -m spacy psa …`: spaCy loads this module from the entry points in `spacy_cli`."""

import sys

from . import (  # noqa: F401
    _util,
    annotate,
    apply,
    calibrate,
    card,
    check,
    compare,
    conlleval,
    convert,
    curves,
    distill,
    draw,
    evaluate,
    export,
    fetch,
    init_config,
    quantize,
    reproduce,
    scores,
    srl_eval,
    train,
    vocabulary,
)
from ._util import psa_cli

__all__ = ["psa_cli"]

# `spacy-psa …` starts faster without spaCy
if "spacy_psa.__main__" not in sys.modules:
    from spacy.cli import app

    app.add_typer(psa_cli)
