"""The benchmark of bulk annotation, on a handful of sentences."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from spacy.language import Language

from benchmarks import apply as benchmark
from benchmarks import apply_page
from benchmarks.systems import RESULTS

from ..pipeline.conftest import trained_nlp

pytest.importorskip("pyarrow")


def test_rates_and_memory_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "make_pipeline", lambda *_: trained_nlp())
    monkeypatch.setattr(benchmark, "find_spec", lambda _: None)
    memory = {"sentences": 10, "first_tenth": 100.0, "whole": 101.0}
    monkeypatch.setattr(benchmark, "measure_memory", lambda *_: memory)
    sizes = ["--sentences=20", "--repeat=1", f"--output={tmp_path}"]
    monkeypatch.setattr(sys, "argv", ["apply", *sizes])
    benchmark.main()
    results = json.loads((tmp_path / "apply.json").read_text(encoding="utf8"))
    assert results["words"] > results["sentences"] == 20
    assert {name: len(runs) for name, runs in results["seconds"].items()} == {
        "nlp.pipe": 1,
        "psa apply": 1,
    }
    assert "(+1.0 %)" in (tmp_path / "apply.md").read_text(encoding="utf8")


def test_memory_is_measured_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    pipe = type("Pipe", (), {"send": lambda _, pair: sent.append(pair)})()
    monkeypatch.setattr(Language, "pipe", Language.pipe)  # restored: a process of its own does not
    trained_nlp().to_disk(tmp_path / "small")
    (tmp_path / "many.txt").write_text("Ann saw Berlin .\n" * 1200, encoding="utf8")
    benchmark._run_long(tmp_path, 1200, pipe)
    ((tenth, whole),) = sent
    assert 10 < tenth <= whole


def test_the_guide_has_the_measured_cost() -> None:
    results = json.loads((RESULTS / "apply.json").read_text(encoding="utf8"))
    assert "\n".join(apply_page.cost(results)) in apply_page.GUIDE.read_text(encoding="utf8")


def test_the_cost_is_that_of_the_rate() -> None:
    results: dict[str, Any] = {
        "words": 100,
        "system": "psa",
        "seconds": {"nlp.pipe": [0.009], "psa apply": [0.01]},
        "ray": None,
        "memory": {"sentences": 10, "first_tenth": 100.0, "whole": 101.0},
    }
    text = "\n".join(apply_page.cost(results))
    assert "10⁹ / 10,000 / 3,600 = 27.8 core-hours" in text
    assert "0.90 times as many as `nlp.pipe`" in text
    assert "0.4 hours on 64 cores" in text


def test_rates_are_words_per_second_of_processor_time() -> None:
    results: dict[str, Any] = {
        "words": 100,
        "seconds": {"nlp.pipe": [1.0, 2.0, 4.0]},
        "ray": {"1": {"words": 100, "processor": 4.0}},
    }
    assert apply_page.rates_of(results) == {"nlp.pipe": 50.0, "Ray, actors: 1": 25.0}
