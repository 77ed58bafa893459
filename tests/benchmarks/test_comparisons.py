"""The comparisons of networks: cells, tables, and variants for long sentences."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from benchmarks.comparisons import (
    COMMAND,
    COMPARISONS,
    FIGURE,
    gain_of,
    lengths,
    units,
    write_page,
)
from benchmarks.comparisons_variants import Heads, LogDistance
from benchmarks.recipes_cell import Cell, make, pack_units
from spacy_psa.layers import PSABias
from spacy_psa.layers.mask import SequenceMask

from ..training.runs import write_corpora

VOCAB = Vocab()


def example(words: int, gold: list[tuple[int, int]], found: list[tuple[int, int]]) -> Example:
    """A sentence with annotated and found entities."""
    docs = [Doc(VOCAB, words=["w"] * words) for _ in range(2)]
    for doc, spans in zip(docs, (found, gold), strict=True):
        doc.set_ents([Span(doc, start, end, "X") for start, end in spans])
    return Example(*docs)


def result(cell: Cell, test: float, right: bool) -> dict[str, Any]:
    """The result of a cell on two test sentences, of which one can be right or wrong."""
    found = [example(3, [(0, 1)], [(0, 1)] if right else []), example(45, [(0, 2)], [(0, 2)])]
    best = {"dev": 1.0, "test": test, "units": pack_units(found, "ents_f")}
    curve, machine = [{"seconds": 60.0}], {"processor": "abacus"}
    about = {"seed": cell.seed, "ended": True, "cut": False, "machine": machine}
    return {**about, "best": best, "curve": curve}


def test_scores_by_length_are_read_from_the_packed_units() -> None:
    run = result(Cell("wnut17", 1000, "psa", 0), 50.0, right=False)
    assert units(run).tolist() == [[3, 1, 0, 0], [45, 1, 1, 1]]
    scores = lengths([run])
    assert scores["1\u20134"] == 0.0 and scores["40+"] == 1.0


def test_the_page_says_what_is_missing(tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text(f"<!-- written by `{COMMAND}` -->\n<!-- end of what is written -->\n")
    write_page(tmp_path, guide)
    total = len(list(COMPARISONS["against"].cells()))
    assert f"{total} of {total} trainings are missing: `{COMMAND} --only against`." in (
        guide.read_text(encoding="utf8")
    )
    for seed in (0, 1):
        for system, test, right in (("bilstm-crf", 50.0, False), ("psa", 51.0 + seed, True)):
            cell = Cell("wnut17", 1000, system, seed)
            found = json.dumps(result(cell, test, right))
            (tmp_path / f"{cell.name}.json").write_text(found, encoding="utf8")
    write_page(tmp_path, guide)
    page = guide.read_text(encoding="utf8")
    assert f"{total - 4} of {total} trainings are missing" in page
    assert "| `bilstm-crf` | 50.00 ± 0.00 | 2 |  |  | 60 |" in page
    assert "| `psa` | 51.50 ± 0.71 | 2 | +1.50 | 1.000 | 60 |" in page


def test_no_probability_is_zero() -> None:
    right, wrong = (result(Cell("wnut17", 1000, "psa", 0), 0.0, right=r) for r in (True, False))
    one, two = ({"best": {**r["best"], "units": _repeated(r, 100)}} for r in (wrong, right))
    assert gain_of([(one, two)]) == ["+0.00", "< 0.001"]


def _repeated(run: dict[str, Any], n: int) -> str:
    packed = np.tile(units(run), (n, 1)).astype("<u2").tobytes()
    return base64.b64encode(zlib.compress(packed)).decode("ascii")


def test_the_page_shows_scores_by_length(tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text(f"<!-- written by `{COMMAND}` -->\n<!-- end of what is written -->\n")
    cell = Cell("conll2000", 1000, "psa", 0)
    found = json.dumps(result(cell, 50.0, right=True))
    (tmp_path / f"{cell.name}.json").write_text(found, encoding="utf8")
    write_page(tmp_path, guide)
    assert "| conll2000, 1,000 sentences | 1–4 |" in guide.read_text(encoding="utf8")
    assert f"](../benchmarks/results/recipes/{FIGURE})" in guide.read_text(encoding="utf8")
    assert "<title>conll2000, 1,000 sentences</title>" in (tmp_path / FIGURE).read_text("utf8")


@pytest.mark.parametrize("system", ["psa+heads-5", "psa+log-distance", "psa-no-first", "lan"])
def test_systems_of_comparisons_have_configs(system: str, tmp_path: Path) -> None:
    write_corpora(tmp_path)
    files = {part: tmp_path / f"{part}.spacy" for part in ("train", "dev")}
    config = make(Cell("wnut17", 1000, system, 0), files)
    spacy.util.load_model_from_config(config, auto_fill=True)


def test_heads_attend_to_the_features_that_they_have() -> None:
    layer = Heads(10, 3, PSABias)
    x, mask = torch.randn(2, 4, 10), SequenceMask(torch.tensor([4, 3]), 4)
    contexts = layer(x, mask)
    first = layer.heads[0](x[..., :4], mask)
    assert contexts.shape == x.shape
    torch.testing.assert_close(contexts[..., :4], first)


def test_the_bias_of_log_distance_falls_slower_and_slower() -> None:
    bias = LogDistance()(torch.zeros(1, 5, 2))[0]
    steps = -bias[0].diff()
    assert bias.diagonal().abs().max() == 0.0 and torch.equal(bias, bias.T)
    assert (steps > 0).all() and (steps.diff() < 0).all()
