"""The benchmark of the k best label sequences."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import nbest


def test_results_have_a_ratio_for_each_k(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nbest, "SIZES", ((2, 3), (1, 4)))
    monkeypatch.setattr(nbest, "LABELS", (2, 3))
    monkeypatch.setattr(sys, "argv", ["nbest", "--repeat", "2", "--output", str(tmp_path)])
    nbest.main()
    results = json.loads((tmp_path / "nbest.json").read_text(encoding="utf8"))
    assert [(c["sentences"], c["labels"]) for c in results["cases"]] == [
        (2, 2),
        (2, 3),
        (1, 2),
        (1, 3),
    ]
    for case in results["cases"]:
        assert list(case["ratios"]) == [str(k) for k in nbest.KS]
        assert all(ratio > 0 for ratio in case["ratios"].values())
    page = (tmp_path / "nbest.md").read_text(encoding="utf8")
    assert page.count("| 2 × 3 × ") == 2
