"""Result files, and summaries of several results."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from spacy_psa.reproduction.results import (
    add_or_replace,
    by_training,
    read_results,
    summarize,
    to_json,
)

from .helpers import make_result


def test_results_come_back_from_a_file(tmp_path: Path) -> None:
    results = [make_result("psa", 0, 0.9), make_result("lan", 1, 0.8)]
    path = tmp_path / "results.json"
    path.write_text(to_json(results), encoding="utf8")
    assert read_results(path) == results


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\[P109\].*none\.json"):
        read_results(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"test": {}}, "'test'.*precision, recall, f1, accuracy"),
        ({"dev": {**make_result("psa", 0, 0.5).dev, "f1": None}}, "'dev'"),
        ({"brown": {"f1": 0.5}}, "'brown'"),
        ({"lengths": {"1": {}}}, "'1'"),
        ({"lengths": {"1": 5}}, "'1'"),
        ({"test": 5}, "dict.*'test'"),
        ({"seed": "one"}, "int.*'seed'"),
        ({"epochs": None}, "float.*'epochs'"),
        ({"target": "lemma"}, "target 'lemma'"),
        ({"parameters": {}}, "'all'"),
    ],
)
def test_results_that_lack_something_are_refused(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    path, good = tmp_path / "results.json", asdict(make_result("psa", 0, 0.9))
    path.write_text(json.dumps({"format": 1, "results": [good, {**good, **change}]}))
    with pytest.raises(ValueError, match=rf"\[P396\].*result 2 .*{problem}"):
        read_results(path)


@pytest.mark.parametrize("entries", [5, None, {}, [1], [None], ["psa"]])
def test_results_that_are_none_are_refused(tmp_path: Path, entries: Any) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"format": 1, "results": entries}))
    with pytest.raises(ValueError, match=r"\[P396\]"):
        read_results(path)


def test_summaries_have_the_deviation_of_a_sample() -> None:
    summary = summarize([94.0, 95.0, 96.0, 97.0])
    assert summary.mean == 95.5
    assert summary.std == pytest.approx(((1.5**2 + 0.5**2) * 2 / 3) ** 0.5)
    assert (summary.max, summary.n) == (97.0, 4)
    assert str(summary) == "95.50 ± 1.29"


def test_a_single_result_has_no_deviation() -> None:
    assert str(summarize([94.126])) == "94.13"


def test_a_new_result_takes_the_place_of_the_old_one() -> None:
    old = [make_result("psa", 0, 0.9), make_result("psa", 1, 0.8)]
    new = make_result("psa", 0, 0.7, config="other")
    assert add_or_replace(old, new) == [new, old[1]]
    other = make_result("psa", 0, 0.7, corpus="wnut17")
    assert add_or_replace(old, other) == [*old, other]


def test_results_of_other_trainings_are_other_groups() -> None:
    a, b = make_result("psa", 0, 0.9), make_result("psa", 1, 0.8)
    c = make_result("psa", 1, 0.8, max_epochs=8)
    assert list(by_training([a, c, b]).values()) == [[a, b], [c]]


@pytest.mark.parametrize(("target", "score"), [("spans", 50), ("tag", 90)])
def test_scores_are_those_that_papers_report(target: str, score: float) -> None:
    result = make_result("psa", 0, 0.1, target=target)
    result.test.update(f1=0.5, accuracy=0.9)
    assert result.score("test") == pytest.approx(score)
