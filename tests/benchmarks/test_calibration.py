"""The calibration benchmark, on a pipeline that has memorized three sentences."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from spacy.tokens import DocBin

from benchmarks import calibration

from ..pipeline.conftest import make_examples, trained_nlp


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibration")
    nlp = trained_nlp("ents")
    nlp.to_disk(folder / "model")
    for part in ("dev", "test"):
        docs = [example.reference for example in make_examples(nlp)]
        DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
    return folder


def test_figures_are_about_the_test_set(folder: Path) -> None:
    found, picture = calibration.measure(folder / "model", folder)
    assert found["spans"]["right"] == found["tokens"]["right"] == 100.0
    # All predictions are correct, so sharper is better
    assert found["temperatures"][0] == 1.0 > max(found["temperatures"][1:])
    assert found["spans"]["ECE"][2] <= found["spans"]["ECE"][0]
    assert found["thresholds"][0] == [0.0, 1.0, 1.0, 1.0]
    ElementTree.fromstring(picture)
    page = calibration.to_markdown({"system": "psa", "data": {"three": found}})
    assert "## three" in page and "Training: at most" in page
    assert "| 0.00 | 100.00 | 100.00 | 100.00 |" in page
