"""The model of cost of training by several processes, and what the guide says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import ranks_page
from benchmarks.systems import RESULTS


def process(seconds: float) -> dict[str, float]:
    """What a process measures that takes 10 steps."""
    times = dict.fromkeys(("processor", "passed", "update"), seconds)
    spent = {"communication": 0.1 * seconds, "communication_passed": 0.2 * seconds}
    return {"steps": 10, **times, **spent, "bytes": 45_000_000, "whole": 450_000_000}


@pytest.fixture
def results() -> dict[str, Any]:
    machine = {"processor": "a processor", "cores": 2}
    return {
        **{"system": "psa", "batch": 64, "limit": 0, "load": 0.0, "machine": machine},
        "1": [[process(64.0)], [process(80.0)], [process(60.0)]],
        "2": [[process(32.0), process(seconds)] for seconds in (40.0, 64.0, 34.0)],
    }


def test_a_step_is_as_long_as_the_model_says(results: dict[str, Any]) -> None:
    # 100 ms for a sentence on the processor, 1 ms on a GPU
    assert ranks_page.seconds_of_sentence(results) == pytest.approx(1e-3)
    fixed, latency = ranks_page.FIXED_ON_GPU, 2 * 7 * ranks_page.LATENCIES[8]
    # 45 MB at 450 GB/s, 7/8 of them twice; all gradients if the batch is larger than measured
    small, large = fixed + latency + 1.75e-4, fixed + latency + 1.75e-3
    assert ranks_page.fixed_seconds(results, 8, 64) == pytest.approx(small)
    assert ranks_page.fixed_seconds(results, 8, 512) == pytest.approx(large)
    assert ranks_page.predict(results, 8, 64) == pytest.approx(64 / (small + 8e-3))
    assert ranks_page.predict(results, 1, 64) == pytest.approx(64 / (fixed + 64e-3))
    assert ranks_page.half_used(results, 8) == round(large / 1e-3)


def test_the_page_says_what_was_measured(results: dict[str, Any], tmp_path: Path) -> None:
    ranks_page.write_page(results, tmp_path / "ranks.md")
    page = (tmp_path / "ranks.md").read_text(encoding="utf8")
    assert "| 2 | 16 | 1.60 (1.25–1.76) | 16 | 1.60 (1.25–1.76) | 10 % | 20 % |" in page
    assert "45.0 MB, of 450.0 MB" in page


def test_the_guide_has_the_measured_gains() -> None:
    results = json.loads((RESULTS / "ranks.json").read_text(encoding="utf8"))
    assert "\n".join(ranks_page.gains(results)) in ranks_page.GUIDE.read_text(encoding="utf8")
