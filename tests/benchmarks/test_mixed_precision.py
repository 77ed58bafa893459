"""The benchmark of mixed-precision training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from spacy.tokens import DocBin

from benchmarks import mixed_precision

from ..pipeline.conftest import gold_doc, initialized_nlp, tiny_model


def make_runs(folder: Path) -> None:
    """Create two runs, a folder that is not a run, and a corpus."""
    for precision in ("fp32", "bf16"):
        setting = None if precision == "fp32" else precision
        nlp = initialized_nlp("spans", model=tiny_model(mixed_precision=setting))
        run = folder / f"bilstm-crf-{precision}-0"
        run.mkdir()
        nlp.to_disk(run / "model-best")
    (folder / "logs-of-bf16-runs").mkdir()
    gold = [gold_doc(nlp, i) for i in range(3)]
    for part in mixed_precision.PARTS:
        DocBin(docs=gold, store_user_data=True).to_disk(folder / f"{part}.spacy")


def test_runs_are_found_by_their_names_and_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_runs(tmp_path)
    monkeypatch.setitem(mixed_precision.SCORES, "chunk", "spans_sc_f")
    options = [str(tmp_path), "--data", str(tmp_path), "--output", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["mixed_precision", *options])
    mixed_precision.main()
    results = json.loads((tmp_path / "mixed-precision.json").read_text(encoding="utf8"))
    assert [(run["system"], run["precision"]) for run in results["runs"]] == [
        ("bilstm-crf", "bf16"),
        ("bilstm-crf", "fp32"),
    ]
    assert all(0 <= run["dev"] == run["test"] <= 100 for run in results["runs"])


def test_a_run_that_is_something_else_than_it_is_called_is_refused(tmp_path: Path) -> None:
    make_runs(tmp_path)
    (tmp_path / "bilstm-crf-fp32-0").rename(tmp_path / "bilstm-crf-fp16-1")
    with pytest.raises(SystemExit, match="was trained in fp32"):
        mixed_precision.measure(tmp_path / "bilstm-crf-fp16-1", tmp_path)


def test_the_page_has_means_over_seeds() -> None:
    runs = [
        {"system": "psa", "precision": p, "seed": seed, "epochs": 8, "dev": dev, "test": 90.0}
        for p, seed, dev in (("bf16", 0, 93.0), ("bf16", 1, 95.0), ("fp32", 0, 94.5))
    ]
    page = mixed_precision.to_markdown({"data": "conll2000", "runs": runs})
    full, half = page.splitlines()[-2:]
    assert full == "| psa | fp32 | 0 | 94.50 | 90.00 |"
    assert half == "| psa | bf16 | 0, 1 | 94.00 ± 1.41 | 90.00 ± 0.00 |"
