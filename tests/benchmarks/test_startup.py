"""The startup benchmark: what is timed, and the page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import spacy

from benchmarks import startup


def test_a_script_tells_the_time_of_each_statement() -> None:
    scripts = {
        "one": startup.timed("processor", "import json"),
        "two": "import os; " + startup.timed("wall", "x = 1", "x += 1"),
    }
    found = startup.measure(scripts, 2)
    assert [len(times) for times in found.values()] == [2, 3]  # the last is memory
    assert all(time >= 0 for times in found.values() for time in times)
    # Of the new process, not of this one with PyTorch
    assert 1.0 < found["one"][-1] < 100.0


def test_a_pipeline_knows_as_many_words_as_asked_for(tmp_path: Path) -> None:
    startup.make_pipeline("bilstm-crf", 250).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    assert nlp.vocab.vectors.shape[0] == 250
    tok2vec = nlp.get_pipe("psa_tagger").model.get_ref("tok2vec")
    assert len(tok2vec.shims[0].cfg["words"]) == 250


def test_results_have_imports_and_loading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripts: dict[str, str] = {}

    def measure(given: dict[str, str], repeat: int) -> dict[str, list[float]]:
        scripts.update(given)
        loading = {name: [1.0, 0.5, 300.0] for name in startup.SYSTEMS}
        imports = {name: [2.0 + i / 10, 200.0] for i, name in enumerate(startup.IMPORTS)}
        return {startup.EMPTY: [0.75, 0.2, 250.0], **loading, **imports}

    monkeypatch.setattr(startup, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["startup", "--words", "100", "--output", str(tmp_path)])
    startup.main()
    assert list(scripts) == [*startup.IMPORTS, startup.EMPTY, *startup.SYSTEMS]
    assert all(script.count("spacy.load") == 2 for script in list(scripts.values())[3:])
    results = json.loads((tmp_path / "startup.json").read_text(encoding="utf8"))
    assert results["loading"]["psa"] == {"first": 1.0, "again": 0.5}
    page = (tmp_path / "startup.md").read_text(encoding="utf8")
    assert "| with spacy_psa | 1.050 | +0.10 |" in page
    assert "| empty pipeline, first | 0.75 | +0.00 |" in page
    assert "| psa, again | 0.50 | +0.30 |" in page
    assert "| empty pipeline | 250 |" in page
    assert "<svg" in (tmp_path / "startup.svg").read_text(encoding="utf8")
