"""The effect of constraints on one pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest
from spacy.tokens import DocBin

from benchmarks.decoding import measure, page

from ..pipeline.conftest import make_examples, trained_nlp


def test_a_pipeline_that_knows_the_data_scores_alike(tmp_path: Path) -> None:
    nlp = trained_nlp("ents")
    nlp.to_disk(tmp_path / "pipeline")
    docs = [eg.reference for eg in make_examples(nlp)]
    DocBin(docs=docs).to_disk(tmp_path / "test.spacy")
    found = measure(tmp_path / "pipeline", tmp_path / "test.spacy")
    assert (found["sentences"], found["invalid"]) == (3, 0)
    assert found["true"] == found["false"] == pytest.approx(100.0)
    lines = page({"data": "test.spacy", "systems": {"x": found}}).splitlines()
    assert lines[4] == f"| x | {found['steps']} | 100.00 | 100.00 | 0 of 3 |"
    assert f"(seed {found['seed']})" in lines[-1]
