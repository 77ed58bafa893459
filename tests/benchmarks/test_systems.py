"""The benchmark of all systems, on untrained pipelines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from benchmarks import systems

TINY = {
    "bilstm-crf": {"@architectures": "spacy_psa.BiLSTM.v1", "hidden_width": 6},
    "other": {"@architectures": "spacy_psa.BiLSTM.v1", "hidden_width": 10},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("systems")
    for system, encoder in TINY.items():
        nlp = spacy.blank("en")
        nlp.add_pipe("psa_tagger", config={"target": "tag", "model": {"encoder": encoder}})
        nlp.config["corpora"]["train"]["path"] = f"{systems.ROOT}/corpus/train.spacy"
        doc = Doc(nlp.vocab, words=["We", "can", "fish"], tags=["PRP", "MD", "VB"])
        nlp.initialize(lambda doc=doc: [Example(doc.copy(), doc)])
        run = folder / "runs" / f"{system}-pos"
        run.mkdir(parents=True)
        nlp.to_disk(run / "model-best")
        text = f"\x1b[38;5;4mUsing CPU\x1b[0m\nSaved to {run.parent}\nthe end\n"
        run.with_suffix(".log").write_text(text, encoding="utf8")
        for part in ("train", "dev", "test"):
            (folder / "data").mkdir(exist_ok=True)
            DocBin(docs=[doc] * 12).to_disk(folder / "data" / f"{part}.spacy")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, dict[str, float]]:
    runs = systems.find_runs(folder / "runs", "pos")
    found = systems.measure("pos", folder / "data", runs, repeat=1)
    systems.keep(runs["other"], found["other"], folder / "out")
    return found


def test_the_baseline_comes_first_and_is_1(results: dict[str, dict[str, float]]) -> None:
    assert list(results) == ["bilstm-crf", "other"]
    assert results["bilstm-crf"]["training"] == results["bilstm-crf"]["tagging"] == 1.0


def test_scores_and_parameters_are_those_of_the_pipelines(
    folder: Path, results: dict[str, dict[str, float]]
) -> None:
    nlp = spacy.load(folder / "runs" / "other-pos" / "model-best")
    found = systems.score(nlp, folder / "data" / "test.spacy", "tag_acc")
    assert results["other"]["test"] == pytest.approx(100 * found, abs=0.01)
    network = nlp.get_pipe("psa_tagger").model.get_ref("network").shims[0].network
    parameters = results["other"]["parameters"]
    assert parameters["without words"] > sum(p.numel() for p in network.parameters())
    # Vectors of width 100: three words, the unknown word and, in some tables, padding
    assert (parameters["all"] - parameters["without words"]) % 100 == 0
    assert parameters["all"] > parameters["without words"]


def test_what_is_kept_does_not_say_where_the_run_was(
    folder: Path, results: dict[str, dict[str, float]]
) -> None:
    kept = folder / "out" / "other-pos"
    assert (kept / "train.log").read_text(encoding="utf8") == "Using CPU\nthe end\n"
    assert json.loads((kept / "scores.json").read_text(encoding="utf8")) == results["other"]
    config = (kept / "config.cfg").read_text(encoding="utf8")
    assert 'path = "corpus/train.spacy"' in config
    assert str(systems.ROOT) not in config


def test_the_page_has_a_row_for_each_system(results: dict[str, dict[str, float]]) -> None:
    machine = {"processor": "P", "torch": "2"}
    tasks = {"pos": {"data": "data", "systems": results}}
    page = systems.to_markdown({"machine": machine, "repetitions": 1, "tasks": tasks})
    assert [line.split("]")[0] for line in page.splitlines() if line.startswith("| [")] == [
        "| [bilstm-crf",
        "| [other",
    ]


def test_a_missing_baseline_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["systems", str(tmp_path), "--data", "chunk=x"])
    with pytest.raises(SystemExit, match="SYSTEM-chunk"):
        systems.main()
    (tmp_path / "other-chunk" / "model-best").mkdir(parents=True)
    assert list(systems.find_runs(tmp_path, "chunk")) == ["other"]
    with pytest.raises(SystemExit, match="bilstm-crf-chunk"):
        systems.main()


def test_tasks_have_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["systems", str(tmp_path), "--data", f"spans={tmp_path}"])
    with pytest.raises(SystemExit):
        systems.main()
    assert "one of: chunk, ner, pos" in capsys.readouterr().err
