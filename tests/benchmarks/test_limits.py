"""The benchmark of large input, and its page."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from spacy.tokens import Doc, DocBin

from benchmarks import limits, limits_cases, peak_memory
from benchmarks.limits_page import TABLES, with_tables

from ..documentation import ROOT
from ..pipeline import srl_data
from ..pipeline.conftest import WORDS, initialized_nlp

RESULTS = ROOT / "benchmarks" / "results" / "limits.json"
PAGE = ROOT / "docs" / "limits.md"
SMALL = {
    "long": 40,
    "trained": 12,
    "stream": 100,
    "windowed": 20,
    "compared": 40,
    "empty": 10,
    "long_token": 50,
    "long_word": 5,
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Small input, two small pipelines, and cases that run in this process."""
    monkeypatch.setattr(limits_cases, "SIZES", SMALL)
    monkeypatch.setattr(limits_cases, "SENTENCE", 2)
    monkeypatch.setattr(limits, "LABELS", (3,))
    monkeypatch.setattr(limits, "subprocess", SimpleNamespace(run=run_here, PIPE=subprocess.PIPE))
    nlp = initialized_nlp()
    docs = [Doc(nlp.vocab, words=words) for words in WORDS * 5]
    DocBin(docs=docs).to_disk(tmp_path / "data.spacy")
    nlp.to_disk(tmp_path / "tagger")
    srl_data.initialized_nlp().to_disk(tmp_path / "roles")
    tables = "".join(f"Here: <!-- table: {name} -->old\n<!-- end -->\n" for name in TABLES)
    (tmp_path / "page.md").write_text(tables, encoding="utf8")
    return tmp_path


def run_here(command: list[str], **settings: object) -> subprocess.CompletedProcess[str]:
    """Run the benchmark in this process instead of a subprocess."""
    assert command[:3] == [sys.executable, "-m", "benchmarks.limits"]
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.setattr(sys, "argv", command[2:])
        limits.main()
    return subprocess.CompletedProcess(command, 0, output.getvalue())


def test_results_have_all_cases(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {
        "--pipeline": f"psa={small / 'tagger'}",
        "--windows": f"other={small / 'tagger'}",
        "--data": str(small / "data.spacy"),
        "--roles": str(small / "roles"),
        "--output": str(small / "results"),
        "--page": str(small / "page.md"),
    }
    arguments = [part for option in options.items() for part in option]
    monkeypatch.setattr(sys, "argv", ["limits", *arguments])
    limits.main()
    results = json.loads((small / "results" / "limits.json").read_text(encoding="utf8"))
    assert list(results["documents"]["psa"]) == list(limits_cases.DOCUMENTS)
    for case in results["documents"]["psa"].values():
        assert case["memory"] >= 0.0
        assert case.get("time", 1.0) > 0.0
    assert list(results["windows"]) == ["psa", "other"]
    assert results["windows"]["psa"]["tokens"] == 52
    assert results["windows"]["psa"]["same"] == 1.0  # no document is longer than a window
    assert list(results["labels"]) == ["3"]
    assert results["roles"]["time"] > 0.0
    assert list(results["streams"]) == list(limits_cases.STREAMS)
    page = (small / "page.md").read_text(encoding="utf8")
    assert "old" not in page
    assert page == with_tables(page, results)
    assert "| 40 tokens, no sentence boundaries |" in page


def test_memory_that_comes_out_lower_later_on_has_not_grown() -> None:
    assert limits_cases.grown_since(peak_memory.peak() + 1000.0) == 0.0
    assert limits_cases.grown_since(0.0) >= peak_memory.peak() - 1.0 > 0.0


def test_the_page_has_the_figures_of_the_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf8"))
    page = PAGE.read_text(encoding="utf8")
    assert page == with_tables(page, results)
    assert all(f"<!-- table: {name} -->" in page for name in TABLES)


def test_a_long_document_stays_within_its_memory_and_windows_within_their_error() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf8"))
    for system in ("psa", "bilstm-crf"):
        cases = results["documents"][system]
        assert results["sizes"]["long"] >= 50_000
        assert all(found["memory"] < 1536 for found in cases.values())
        assert all(found.get("time", 1.0) < 1.5 for found in cases.values())
        assert results["windows"][system]["same"] >= 0.995
