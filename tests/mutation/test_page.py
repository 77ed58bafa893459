"""The page about mutation testing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..documentation import ROOT
from .page import interval, page, reasons

RESULTS = ROOT / "benchmarks" / "results"


def results() -> dict[str, Any]:
    return json.loads((RESULTS / "mutation.json").read_text(encoding="utf8"))


def mutant(before: str, after: str) -> dict[str, Any]:
    return {
        "module": "spacy_psa/inference/a.py",
        "function": "f",
        "operator": "core/AddNot",
        "occurrence": 0,
        "before": before,
        "after": after,
    }


def test_the_page_has_what_was_found() -> None:
    assert (RESULTS / "mutation.md").read_text(encoding="utf8") == page(results(), reasons())


def test_all_survivors_were_looked_at_and_nothing_else() -> None:
    survivors = [m for found in results().values() for m in found["survivors"]]
    keys = ("module", "before", "after")
    looked_at = {tuple(reason[key] for key in keys) for reason in reasons()}
    assert looked_at == {tuple(mutant[key] for key in keys) for mutant in survivors}
    assert all(reason["reason"].endswith(".") for reason in reasons())


def test_the_numbers_add_up() -> None:
    for found in results().values():
        assert found["killed"] + len(found["survivors"]) == found["tried"] <= found["possible"]
        assert found["killed_first"] <= found["killed"]


def test_equivalent_mutants_do_not_count() -> None:
    found = {"possible": 1000, "tried": 20, "killed_first": 10, "killed": 14}
    found["survivors"] = [mutant("a", str(i)) for i in range(6)]
    known = [
        {**mutant("a", "1"), "equivalent": True, "reason": "Never."},
        {**mutant("a", "2"), "equivalent": False, "reason": "Too slow."},
    ]
    text = page({"inference": found}, known)
    assert "| `inference` | 1,000 | 20 | 10 (50 %) | 30–70 % | 14 | 1 | 74 % |" in text
    assert "* `a.py`, `f`: `a` → `1`. Equivalent: Never." in text
    assert "* `a.py`, `f`: `a` → `2`. Not tested: Too slow." in text
    assert "* `a.py`, `f`: `a` → `3`. Not looked at." in text


@pytest.mark.parametrize(
    ("successes", "trials", "expected"),
    # Newcombe (1998), table I, method 3
    [(81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0.0, 0.1611))],
)
def test_intervals(successes: int, trials: int, expected: tuple[float, float]) -> None:
    assert interval(successes, trials) == pytest.approx(expected, abs=1e-4)


def test_all_of_a_sample_may_be_killed() -> None:
    assert interval(29, 29) == pytest.approx((0.8830, 1.0), abs=1e-4)
