"""The scaling benchmark: synthetic corpora, axes, memory, and the page."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import memory, peak_memory, scaling, synthetic
from benchmarks.scaling_axes import AXES, Axis, Setting


def test_words_are_all_different_and_the_first_ones_short() -> None:
    words = [synthetic.spell(number) for number in range(10_200)]
    assert len(set(words)) == len(words)
    assert [len(words[i]) for i in (0, 99, 100, 10_099, 10_100)] == [2, 2, 4, 4, 6]


def test_lengths_are_those_of_newspaper_sentences() -> None:
    lengths = synthetic.sentence_lengths(4_000)
    assert min(lengths) >= 1 and max(lengths) == 70
    assert sum(lengths) / len(lengths) == pytest.approx(24, abs=0.5)
    assert synthetic.sentence_lengths(3) == synthetic.sentence_lengths(3)


@pytest.mark.parametrize("name", AXES)
def test_an_axis_changes_one_size(name: str) -> None:
    axis = AXES[name]
    assert axis.base in axis.sizes
    for size in axis.sizes:
        setting = axis.make(size, 2_000)
        assert size in setting
        assert setting.n_sentences >= setting.batch or name == "length"


def test_memory_of_a_step_and_of_a_run_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "ATTENTION_WIDTH", 4)
    nlp, _ = synthetic.make_tagger("psa", [["a", "b", "c"]] * 2, 2, hidden=4)
    nlp.to_disk(tmp_path)
    for case in ("windows", "at once", "additive"):
        assert memory.CASES[case](str(tmp_path), 40, "cpu")["memory"] >= 0
    run = memory.CASES["stream"](str(tmp_path), 100, "cpu")
    assert run["tokens"] == list(range(10, 110, 10))
    assert run["memory"] == sorted(run["memory"])


def test_memory_is_that_of_this_process_alone() -> None:
    before = peak_memory.peak()
    block = bytearray(40 << 20)
    assert peak_memory.peak() >= before
    assert len(block) >> 20 == 40


def test_results_have_all_axes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = {
        "length": Axis("tokens", (2, 4), 4, lambda n, tokens: Setting(tokens // n, length=n)),
        "vectors": Axis("rows", (100, 200), 100, lambda n, tokens: Setting(2, 5, vectors=n)),
        "words": Axis("words", (50,), 50, lambda n, tokens: Setting(2, 5, words=n)),
    }
    calls: list[tuple[Any, ...]] = []

    def in_child(case: str, folder: str, size: int, device: str) -> dict[str, Any]:
        calls.append((case, size, device))
        return {"memory": [50.0, 55.0], "tokens": [1, 2]} if case == "stream" else {"memory": 2.0}

    monkeypatch.setattr(scaling, "AXES", small)
    monkeypatch.setattr(scaling, "in_child", in_child)
    options = "--tokens 12 --hidden 4 --repeat 1 --long 30 --stream 60 --axes length vectors words"
    monkeypatch.setattr(sys, "argv", ["scaling", *options.split(), "--output", str(tmp_path)])
    scaling.main()
    results = json.loads((tmp_path / "scaling.json").read_text(encoding="utf8"))
    assert list(results["axes"]) == list(small)
    for name, axis in results["axes"].items():
        for ways in axis["microseconds"].values():
            for times in ways.values():
                assert list(times) == [str(size) for size in small[name].sizes]
                assert all(time > 0 for time in times.values())
    cases = [("windows", 30), ("at once", 30)] * 2 + [("additive", 30), ("stream", 60)]
    assert calls == [(*case, "cpu") for case in cases]
    page = (tmp_path / "scaling.md").read_text(encoding="utf8")
    assert "| 4 | 1.00 | 1.00 | 1.00 | 1.00 |" in page
    assert "| 2 | 1.100 |" in page
    assert "By rows" in (tmp_path / "scaling.svg").read_text(encoding="utf8")
