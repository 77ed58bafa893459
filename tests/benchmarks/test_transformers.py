"""The benchmark of components on a transformer, on a handful of sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.vocab import Vocab

from benchmarks import cells, transformers, transformers_page, transformers_speed
from benchmarks.recipes_cell import pack_units

from ..tiny_transformer import write_transformer

WORDS = ["Ann", "saw", "New", "York"]


@pytest.mark.parametrize("bf16", [False, True])
def test_systems_are_trained_and_compared(
    bf16: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_transformer(tmp_path / "bert", WORDS)
    doc = Doc(Vocab(), words=WORDS, tags=["NNP", "VBD", "NNP", "NNP"])
    doc.spans["chunks"] = [Span(doc, 0, 1, "NP"), Span(doc, 2, 4, "NP")]
    for corpus in ("conll2000", "ewt"):
        (tmp_path / corpus).mkdir()
        for name in ("train", "dev", "test"):
            DocBin(docs=[doc] * 3).to_disk(tmp_path / corpus / f"{name}.spacy")
    folders = [f"--data={tmp_path}", f"--runs={tmp_path / 'runs'}", f"--output={tmp_path / 'out'}"]
    chosen = ["--corpora", "conll2000", "ewt", "--systems", "crf", "spacy"]
    arguments = ["x", str(tmp_path / "bert"), *folders, *chosen, "--updates=40", "--rates=0.02"]
    arguments += ["--bf16"] * bf16

    def here(command: list[str], **_: object) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["x", *command[3:]])
        transformers.main()
        return SimpleNamespace(returncode=0)

    with monkeypatch.context() as patch:
        found = SimpleNamespace(run=here, TimeoutExpired=subprocess.TimeoutExpired)
        patch.setattr(cells, "subprocess", found)
        patch.setattr(sys, "argv", arguments)
        transformers.main()
    results = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("*.json")]
    assert {(r["corpus"], r["system"]) for r in results} == {
        (corpus, system) for corpus in ("conll2000", "ewt") for system in ("crf", "spacy")
    }
    assert all(r["dev"] == r["test"] == 100.0 for r in results if r["system"] == "crf")
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf8")
    precision = "bf16" if bf16 else "fp32"
    assert (
        f"| conll2000 | all | 40 | {precision} | crf | 0.02 | 0.001 | 1 | 100.00 | 100.00 |" in page
    )
    assert page.count("| spacy |") == 2


def test_the_guide_has_the_scores_of_all_seeds(tmp_path: Path) -> None:
    limit, updates, precision, rate, factor = transformers_page.COMPARED
    cell = {"corpus": "ncbi", "limit": limit, "updates": updates, "rate": rate, "factor": factor}
    doc = Doc(Vocab(), words=WORDS, ents=["B-PER", "O", "B-LOC", "I-LOC"])
    bare = Doc(doc.vocab, words=WORDS)
    for name, system, seed, test, of_run in (
        ("a", "crf", 0, 80.0, precision),
        ("b", "crf", 1, 82.0, precision),
        ("c", "spacy", 0, 70.0, precision),
        ("d", "psa", 0, 99.0, "fp32"),
    ):
        result = {**cell, "system": system, "seed": seed, "test": test, "precision": of_run}
        found = [doc] * 7 if system == "crf" else [bare] * 7
        result["units"] = pack_units([Example(d, doc) for d in found], "ents_f")
        (tmp_path / f"{name}.json").write_text(json.dumps(result), encoding="utf8")
    assert [line for line in transformers_page.summary(tmp_path) if line] == [
        "| test score | CRF alone | spaCy |",
        "| --- | ---: | ---: |",
        "| NCBI disease | 81.00 ± 1.41 (2 seeds) | 70.00 |",
        "| difference | CRF alone − spaCy |",
        "| --- | ---: |",
        "| NCBI disease | +10.00 (p = 0.016) |",
    ]


def test_the_guide_is_up_to_date(tmp_path: Path) -> None:
    guide = tmp_path / "transformers.md"
    guide.write_bytes(transformers_page.GUIDE.read_bytes())
    transformers_page.write_guide(guide=guide)
    assert guide.read_bytes() == transformers_page.GUIDE.read_bytes()


def test_speeds_are_medians_of_sentences_per_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_transformer(tmp_path / "bert", WORDS)
    doc = Doc(Vocab(), words=WORDS, ents=["B-PER", "O", "B-LOC", "I-LOC"])
    DocBin(docs=[doc] * 40).to_disk(tmp_path / "train.spacy")
    (tmp_path / "dev.spacy").write_bytes((tmp_path / "train.spacy").read_bytes())
    folders = [f"--data={tmp_path}", f"--output={tmp_path / 'out'}", "--repeat=1", "--batches=1"]
    monkeypatch.setattr(
        sys, "argv", ["x", str(tmp_path / "bert"), *folders, "--systems", "crf", "spacy"]
    )
    transformers_speed.main()
    found = json.loads((tmp_path / "out" / "transformers-speed.json").read_text(encoding="utf8"))
    for key in ("sentences/s", "tagged sentences/s"):
        assert list(found[key]) == ["crf, fp32", "spacy, fp32"]
        assert all(speed > 0 for speed in found[key].values())
    page = (tmp_path / "out" / "transformers-speed.md").read_text(encoding="utf8")
    assert "| crf |" in page and "| system | training, fp32 | tagging, fp32 |" in page
