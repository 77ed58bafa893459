"""The benchmark of bulk annotation, on a handful of sentences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import apply as benchmark
from benchmarks import apply_memory, apply_page
from benchmarks.systems import RESULTS

from ..pipeline.conftest import trained_nlp

pytest.importorskip("pyarrow")


def test_rates_and_memory_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "make_pipeline", lambda *_: trained_nlp())
    monkeypatch.setattr(benchmark, "find_spec", lambda _: None)
    sizes = ["--sentences=20", "--repeat=1", f"--output={tmp_path}"]
    monkeypatch.setattr(sys, "argv", ["apply", *sizes])
    benchmark.main()
    results = json.loads((tmp_path / "apply.json").read_text(encoding="utf8"))
    assert results["words"] > results["sentences"] == 20
    assert {name: len(runs) for name, runs in results["seconds"].items()} == {
        "nlp.pipe": 1,
        "psa apply": 1,
    }
    assert "of nlp.pipe" in (tmp_path / "apply.md").read_text(encoding="utf8")

    # Memory is added, and takes the place of that of the same run
    for peak in (101.0, 102.0):
        found = [{"name": "psa apply", "first_tenth": 100.0, "whole": peak}]
        monkeypatch.setattr(apply_memory, "measure", lambda *_, found=found, **__: found)
        monkeypatch.setattr(sys, "argv", ["apply_memory", "--many=10", f"--output={tmp_path}"])
        apply_memory.main()
    page = (tmp_path / "apply.md").read_text(encoding="utf8")
    assert "| psa |  | local | 10 | psa apply | 100 | 102 | +2.0 % |" in page
    assert page.count("psa apply | 100") == 1
    assert json.loads((tmp_path / "apply.json").read_text(encoding="utf8"))["words"] > 20


def test_memory_is_measured_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = tmp_path / "manifest.jsonl"

    class Process:
        pid = os.getpid()

        def __init__(self, size: int) -> None:
            self.polls, self.size = 0, size

        def poll(self) -> int | None:
            self.polls += 1
            lines = ["{}", *[json.dumps({"documents": self.size})] * self.polls, ""]
            manifest.write_text("\n".join(lines), encoding="utf8")
            return None if self.polls < 24 else 0

    monkeypatch.setattr(apply_memory, "PAUSE", 0.0)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        tenth, whole, names = apply_memory.watch(Process(5), manifest, 120)
        child.communicate(b"\n")
    for pid in (os.getpid(), child.pid):
        assert 1024 < tenth[pid] <= whole[pid]
    assert names[os.getpid()] == "psa apply" and "python" in names[child.pid]
    # No block of the first tenth
    assert not apply_memory.watch(Process(15), manifest, 120)[0]


def test_the_guide_has_the_measured_cost() -> None:
    results = json.loads((RESULTS / "apply.json").read_text(encoding="utf8"))
    assert "\n".join(apply_page.cost(results)) in apply_page.GUIDE.read_text(encoding="utf8")


def test_the_cost_is_that_of_the_rate() -> None:
    results: dict[str, Any] = {
        "words": 100,
        "system": "psa",
        "seconds": {"nlp.pipe": [0.009], "psa apply": [0.01]},
        "ray": None,
        "memory": [
            {
                "engine": "local",
                "system": "psa",
                "sentences": 10,
                "processes": [{"first_tenth": 100.0, "whole": 101.0}],
            }
        ],
    }
    text = "\n".join(apply_page.cost(results))
    assert "10⁹ / 10,000 / 3,600 = 27.8 core-hours" in text
    assert "0.90 times as many as `nlp.pipe`" in text
    assert "0.4 hours on 64 cores" in text


def test_rates_are_words_per_second_of_processor_time() -> None:
    results: dict[str, Any] = {
        "words": 100,
        "seconds": {"nlp.pipe": [1.0, 2.0, 4.0]},
        "ray": {"1": [{"words": 100, "processor": seconds} for seconds in (4.0, 4.0, 5.0)]},
    }
    turns = apply_page.turns_of(results)
    assert turns == {"nlp.pipe": [100.0, 50.0, 25.0], "Ray, actors: 1": [25.0, 25.0, 20.0]}
    # Of the ratios in the same turn, not of the medians
    assert apply_page.relative([30.0, 10.0, 40.0], [10.0, 20.0, 20.0]) == 2.0


def test_the_guide_needs_a_run_of_memory() -> None:
    found: dict[str, Any] = {"words": 1, "system": "psa", "ray": None, "memory": []}
    found["seconds"] = {"nlp.pipe": [1.0], "psa apply": [1.0]}
    with pytest.raises(SystemExit, match=r"benchmarks\.apply_memory --system psa"):
        apply_page.cost(found)


def test_memory_is_added_to_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["apply_memory", f"--output={tmp_path}"])
    monkeypatch.setattr(apply_memory, "measure", None)  # not reached
    with pytest.raises(SystemExit):
        apply_memory.main()
