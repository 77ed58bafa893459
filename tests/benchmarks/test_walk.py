"""The way of a new user: its commands, its programs, and what happens when a step fails."""

from __future__ import annotations

import json
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import walk
from tests.cli.commands import plain
from tests.cli.commands import run as run_spacy

TRAINING = "--training.max_steps 2 --training.eval_frequency 1"


def row(text: str, **spans: str) -> dict[str, Any]:
    found = [
        {"start": text.index(name), "end": text.index(name) + len(name), "label": label}
        for name, label in spans.items()
    ]
    return {"text": text, "spans": found}


def test_the_way_leads_to_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "way"
    folder.mkdir()
    monkeypatch.chdir(folder)
    real = walk.run

    def run(command: str, where: Path) -> tuple[int, str]:
        """Run spaCy's commands and programs in this process, where no import costs time."""
        first, _, last = command.rpartition(" && ")
        if first:
            assert real(first, where)[0] == 0
        words = shlex.split(last)
        if "package" in words or "pip" in words:  # these need a network, or an environment
            return 0, "✔ en_posts-0.0.0-py3-none-any.whl\nSuccessfully installed"
        if words[:3] == ["python", "-m", "spacy"]:
            done = run_spacy(*words[3:])
            return done.exit_code, plain(done.output)
        arguments = words[words.index("python") + 1 :]
        arguments = ["trained/model-best" if x == "en_posts" else x for x in arguments]
        monkeypatch.setattr(sys, "argv", arguments)
        capsys.readouterr()
        runpy.run_path(arguments[0])
        return 0, capsys.readouterr().out

    monkeypatch.setattr(walk, "run", run)
    options = ["--number", "100", "--label", "MISC", "--options", TRAINING]
    places = ["--folder", str(folder), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["walk", *options, *places])
    walk.main()
    results = json.loads((tmp_path / "walk.json").read_text(encoding="utf8"))
    assert results["label"] == "MISC"
    outcomes = [step["outcome"] for step in results["steps"]]
    assert outcomes[0] == "Wrote 100 Docs to all.spacy"
    assert any(", MISC " in outcome for outcome in outcomes)
    page = (tmp_path / "walk.md").read_text(encoding="utf8")
    assert " && python more.py trained/model-best more.cfg` |" in page
    assert len(results["steps"]) == len(walk.steps("MISC", "", "", 14)) == page.count("\n| ") - 2


def test_a_step_that_fails_ends_the_way(tmp_path: Path) -> None:
    fine = walk.Step("one", "echo '✔ done'", walk.said())
    for broken, why in (
        (walk.Step("two", "echo oops; exit 3", walk.said()), "exit status 3.*\noops"),
        (walk.Step("two", "echo '✔ done'", walk.test_score("x")), "what should have come out"),
    ):
        with pytest.raises(SystemExit, match=rf"Step 2, two, failed \({why}"):
            walk.walk([fine, broken], tmp_path)
    assert walk.walk([fine], tmp_path)[0]["outcome"] == "done"
    assert "$ echo oops; exit 3\noops" in (tmp_path / "walk.log").read_text(encoding="utf8")


def test_texts_are_kept_apart(tmp_path: Path) -> None:
    rows = [row(f"Ann sees {n}", Ann="PER") for n in range(100)]
    rows += [row(f"Bob in Rome {n}", Bob="PER", Rome="LOC") for n in range(50)]
    assert walk.prepare(tmp_path, rows, 50, None) == "LOC"
    files = {path.stem: walk.read(path) for path in tmp_path.glob("*.jsonl")}
    assert {name: len(part) for name, part in files.items()} == {
        "texts": 50,
        "update": 20,
        "label": 20,
        "label-dev": 30,
    }
    texts = [text["text"] for part in files.values() for text in part]
    texts += (tmp_path / "plain.txt").read_text(encoding="utf8").splitlines()
    assert sorted(texts) == sorted(text["text"] for text in rows)
    assert not any("Rome" in text["text"] for text in files["texts"] + files["update"])


def test_texts_that_do_not_do_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="Expected two labels or more"):
        walk.prepare(tmp_path, [row("Ann", Ann="PER")], 1, None)
    with pytest.raises(SystemExit, match="Too few texts: 1 with LOC, 1 without"):
        walk.prepare(tmp_path, [row("Ann", Ann="PER"), row("Rome", Rome="LOC")], 1, "LOC")
    (tmp_path / "a.jsonl").write_text('{"text": "Ann"}\n', encoding="utf8")
    with pytest.raises(SystemExit, match=r'a\.jsonl, text 1: expected the keys "text" and "spans"'):
        walk.read(tmp_path / "a.jsonl")
    assert not list(tmp_path.glob("texts*"))


def test_the_sample_has_spans_by_characters() -> None:
    rows = walk.sample()
    assert len(rows) == 600
    spans = [
        (text["text"][s["start"] : s["end"]], s["label"]) for text in rows for s in text["spans"]
    ]
    assert ("Halvorsen", "PER") in spans
    assert len(spans) == 923  # assets/sample/README.md
