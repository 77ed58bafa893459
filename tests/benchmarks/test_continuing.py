"""The benchmark of training on with a few examples, on a handful of sentences."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from benchmarks import continuing


def test_what_is_learned_and_forgotten_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [
        (["Ann", "likes", "ham"], ["B-person", "O", "O"]),
        (["in", "Berlin", "."], ["O", "B-location", "O"]),
    ]
    docs = [Doc(Vocab(), words=words, ents=ents) for words, ents in sentences * 6]
    for name in ("train", "dev"):
        DocBin(docs=docs).to_disk(tmp_path / f"{name}.spacy")
    monkeypatch.setattr(continuing, "REPORTED", (1, 2))
    monkeypatch.setattr(continuing, "BATCH", 2)
    files = [f"--{name}={tmp_path / f'{name}.spacy'}" for name in ("train", "dev")]
    sizes = ["--examples=3", "--epochs=2", "--width=16", "--seeds=2", f"--output={tmp_path}"]
    monkeypatch.setattr(sys, "argv", ["continuing", *files, *sizes])
    with pytest.warns(UserWarning, match="W433.*'location'"):
        continuing.main()
    results = json.loads((tmp_path / "continuing.json").read_text(encoding="utf8"))
    assert results["sentences"] == 6
    assert results["before"]["new"] == 0.0 <= results["before"]["old"]
    assert {way: len(runs) for way, runs in results["after"].items()} == {
        "new": 2,
        "replay": 2,
        "rehearsal": 2,
    }
    page = (tmp_path / "continuing.md").read_text(encoding="utf8")
    assert f"| before | 0 | {results['before']['old']:.2f} | 0.00 |" in page
    assert "| rehearsal | 2 | " in page
