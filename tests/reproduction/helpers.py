"""Made-up results."""

from __future__ import annotations

from typing import Any

from spacy_psa.reproduction.results import Result

SCORES = ("precision", "recall", "f1", "accuracy")


def make_result(system: str, seed: int, test: float, dev: float = 0.5, **more: Any) -> Result:
    """Make a result of chunking on CoNLL-2000."""
    fields: dict[str, Any] = {
        "corpus": "conll2000",
        "target": "spans",
        "config": f"{system}-{seed}",
        "data": {},
        "max_epochs": 20,
        "vectors": "mini (9 of width 3)",
        "options": "",
        "epochs": 20.0,
        "best_epoch": 11.0,
        "dev": dict.fromkeys(SCORES, dev),
        "test": dict.fromkeys(SCORES, test),
        "parameters": {"all": 2, "without words": 1},
        "seconds": 1.0,
        "device": "cpu",
        "versions": {},
        **more,
    }
    return Result(system=system, seed=seed, **fields)
