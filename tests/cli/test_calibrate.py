"""`psa calibrate`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_psa.calibration.temperature import HIGHEST, LOWEST
from spacy_psa.cli import calibrate as command

from ..pipeline.conftest import (
    WORDS,
    gold_doc,
    make_docs,
    tagger_of,
    trained_nlp,
)
from .commands import contents, failure, succeed

Fixture = Callable[..., Path]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A pipeline that predicts chunks."""
    path = tmp_path / "model"
    trained_nlp("spans").to_disk(path)
    return path


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    """Documents on which the pipeline makes mistakes."""
    docs = [gold_doc(spacy.blank("xx"), i) for i in range(len(WORDS))]
    docs[0].spans["sc"] = [Span(docs[0], 0, 2, "NP"), Span(docs[0], 2, 3, "NP")]
    return saved(tmp_path / "dev.spacy", docs)


def saved(path: Path, docs: list[Doc]) -> Path:
    DocBin(docs=docs).to_disk(path)
    return path


def temperature(folder: Path, name: str = "psa_tagger") -> float:
    return spacy.load(folder).get_pipe(name).cfg["temperature"]


def fail(*arguments: object) -> str:
    return failure("psa", "calibrate", *arguments)


def rows(shown: str) -> dict[str, list[str]]:
    """The rows of the table: two numbers by row name."""
    split = (line.rsplit(maxsplit=2) for line in shown.splitlines())
    return {row[0].strip(): row[1:] for row in split if len(row) == 3 and row[1][0].isdigit()}


def test_temperature_is_saved_in_place_and_nothing_else(model: Path, dev: Path):
    before = contents(model)
    shown = succeed("psa", "calibrate", model, dev)
    after = contents(model)
    assert [name for name in before if before[name] != after[name]] == ["psa_tagger/cfg"]
    assert before.keys() == after.keys()
    cfg = [json.loads(files["psa_tagger/cfg"]) for files in (before, after)]
    found = cfg[1].pop("temperature")
    assert cfg[0].pop("temperature", 1.0) == 1.0
    assert cfg[0] == cfg[1]
    assert LOWEST < found < HIGHEST
    assert rows(shown)["temperature"] == ["1.0000", f"{found:.4f}"]
    assert temperature(model) == found


def test_table_equals_what_users_see(model: Path, dev: Path):
    table = rows(succeed("psa", "calibrate", model, dev))
    nlp = spacy.load(model)
    tagger_of(nlp).cfg["probabilities"] = True
    docs = list(nlp.pipe(make_docs(nlp)))
    scores = [span._.psa_score for doc in docs for span in doc.spans["sc"]]
    # The first sentence is labeled NP, VP, NP; only the first chunk is in its gold standard
    right = np.array([1, 0, 0] + [1] * (len(scores) - 3))
    assert float(table["spans: correct (%)"][1]) == pytest.approx(100 * right.mean(), abs=0.006)
    confidence = float(table["spans: mean confidence (%)"][1])
    assert confidence == pytest.approx(100 * np.mean(scores), abs=0.006)
    brier = float(table["spans: Brier score"][1])
    assert brier == pytest.approx(np.square(scores - right).mean(), abs=6e-5)


@pytest.mark.filterwarnings("error")
def test_a_table_without_predicted_spans_has_no_figures_for_them():
    none = SimpleNamespace(confidence=np.array([]), correct=np.array([]))
    fit = SimpleNamespace(temperature=2.0, nll_before=1.0, nll_after=0.5)
    sides = {"spans": none}
    found: Any = SimpleNamespace(initial=1.0, fit=fit, unit="spans", before=sides, after=sides)
    table, worse = command.calibration_table(found, n_bins=10)
    assert table.rows[2:4] == [
        ["spans: correct (%)", "-", "-"],
        ["spans: mean confidence (%)", "-", "-"],
    ]
    assert not worse


def test_the_temperature_can_fit_what_is_predicted(model: Path, dev: Path, tmp_path: Path):
    succeed("psa", "calibrate", model, dev, "--output", tmp_path / "sequences")
    succeed("psa", "calibrate", model, dev, "--output", tmp_path / "spans", "--fit", "spans")
    assert temperature(tmp_path / "spans") != pytest.approx(
        temperature(tmp_path / "sequences"), rel=1e-3
    )


def test_output_gets_a_copy(model: Path, dev: Path, tmp_path: Path):
    before = contents(model)
    output = tmp_path / "new" / "calibrated"
    succeed("psa", "calibrate", model, dev, "--output", output)
    assert contents(model) == before
    copy = contents(output)
    assert [name for name in before if before[name] != copy[name]] == ["psa_tagger/cfg"]
    assert copy.keys() == before.keys()
    assert os.listdir(output.parent) == ["calibrated"]
    assert temperature(output) != 1.0


def test_output_may_be_an_empty_folder_or_the_model(model: Path, dev: Path, tmp_path: Path):
    output = tmp_path / "empty"
    output.mkdir()
    succeed("psa", "calibrate", model, dev, "--output", output)
    succeed("psa", "calibrate", model, dev, "--output", model)
    assert contents(model) == contents(output)


def test_several_files_are_taken_as_one(model: Path, dev: Path, tmp_path: Path):
    docs = list(DocBin().from_disk(dev).get_docs(spacy.blank("xx").vocab))
    parts = [saved(tmp_path / f"{i}.spacy", docs[i : i + 2]) for i in (0, 2)]
    succeed("psa", "calibrate", model, *parts, "--output", tmp_path / "parts")
    succeed("psa", "calibrate", model, dev, "--output", tmp_path / "whole")
    assert temperature(tmp_path / "parts") == pytest.approx(temperature(tmp_path / "whole"))


def test_components_before_run_and_those_after_do_not(dev: Path):
    nlp = trained_nlp("spans")
    seen: list[str] = []

    @Language.component("calibration_test_chunk")
    def chunk(doc: Doc) -> Doc:
        seen.append(doc.text)
        assert not doc.spans and not doc.ents and not doc.has_annotation("TAG")
        if doc[0].text == "Ann":
            doc.spans["sc"] = [Span(doc, 0, 1, "VP")]
        return doc

    @Language.component("calibration_test_fail")
    def fail(doc: Doc) -> Doc:
        raise AssertionError("a component after the tagger was run")

    nlp.add_pipe("calibration_test_chunk", first=True)
    nlp.add_pipe("calibration_test_fail", last=True)
    gold = list(DocBin().from_disk(dev).get_docs(nlp.vocab))
    found = command.calibrate(nlp, "psa_tagger", gold, "dev")
    assert len(seen) == len(gold)
    assert (found.fit.n_chains, found.fit.n_impossible) == (2, 1)
    # The existing span is kept, has confidence 1, and is wrong
    assert found.after["spans"].confidence[0] == pytest.approx(1.0)
    assert not found.after["spans"].correct[0]
    assert tagger_of(nlp).cfg["temperature"] == 1.0


def test_one_of_several_components_is_calibrated(dev: Path, tmp_path: Path):
    nlp = trained_nlp("spans")
    nlp.add_pipe("psa_tagger", name="ner", source=trained_nlp("ents"))
    nlp.to_disk(tmp_path / "two")
    message = fail(tmp_path / "two", dev)
    assert "[P347]" in message and "psa_tagger, ner" in message
    succeed("psa", "calibrate", tmp_path / "two", dev, "--component", "ner")
    assert temperature(tmp_path / "two", "ner") == LOWEST
    assert temperature(tmp_path / "two", "psa_tagger") == 1.0


def test_end_of_the_range_is_told(tmp_path: Path):
    trained_nlp("tag").to_disk(tmp_path / "model")
    docs = [gold_doc(spacy.blank("xx"), i) for i in range(len(WORDS))]
    shown = succeed("psa", "calibrate", tmp_path / "model", saved(tmp_path / "d.spacy", docs))
    assert "limit of the range" in shown


def test_sentences_that_were_left_out_are_told(model: Path, tmp_path: Path):
    docs = [gold_doc(spacy.blank("xx"), i) for i in range(len(WORDS))]
    docs[1].spans["sc"] = [Span(docs[1], 0, 1, "NEW")]
    del docs[2].spans["sc"]
    shown = succeed("psa", "calibrate", model, saved(tmp_path / "d.spacy", docs))
    assert "Sentences used: 1; left out:" in shown
    assert "1 without annotation, 1 with labels unknown to the component" in shown


@pytest.mark.parametrize("target", ["spans", "tag"])
def test_diagram_is_drawn(target: str, dev: Path, tmp_path: Path):
    trained_nlp(target).to_disk(tmp_path / "model")
    plot = tmp_path / "plots" / "p.svg"
    succeed("psa", "calibrate", tmp_path / "model", dev, "--plot", plot, "--bins", 5)
    root = ElementTree.fromstring(plot.read_text(encoding="utf8"))
    found = [node.text or "" for node in root.iter()]
    unit = {"spans": "spans", "tag": "tokens"}[target]
    assert f"Reliability: {unit} of psa_tagger" in found
    assert {"precision", "recall", "F1", "perfect calibration"} <= set(found)
    assert any(text.startswith("before: T = 1.000, ECE") for text in found)
    assert "80–100" in found


def test_data_without_the_annotation_is_an_error(model: Path, tmp_path: Path):
    docs = [Doc(spacy.blank("xx").vocab, words=["a"])]
    docs[0].spans["others"] = []
    before = contents(model)
    message = fail(model, saved(tmp_path / "bare.spacy", docs))
    assert "[P348]" in message and "others" in message
    assert contents(model) == before


def test_data_that_fits_nowhere_is_an_error(model: Path, tmp_path: Path):
    doc = gold_doc(spacy.blank("xx"), 0)
    doc.spans["sc"] = [Span(doc, 0, 1, "NEW")]
    assert "[P344]" in fail(model, saved(tmp_path / "new.spacy", [doc]))


def test_missing_files_are_errors(model: Path, dev: Path, tmp_path: Path):
    assert "[P109]" in fail(model, tmp_path / "missing.spacy")
    assert "missing" in fail(tmp_path / "missing", dev)


@pytest.mark.parametrize(
    ("place", "problem"),
    [("full", "not empty"), ("file", "a file"), ("model/inside", "is inside")],
)
def test_output_has_to_be_free(model: Path, dev: Path, tmp_path: Path, place: str, problem: str):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    before = contents(tmp_path)
    message = fail(model, dev, "--output", tmp_path / place)
    assert "[P349]" in message and problem in message
    assert contents(tmp_path) == before


def test_an_output_is_replaced_by_force_if_it_is_a_pipeline(
    model: Path, dev: Path, tmp_path: Path
) -> None:
    output = tmp_path / "calibrated"
    succeed("psa", "calibrate", model, dev, "--output", output)
    before = contents(output)
    message = " ".join(fail(model, dev, "--output", output).split())
    assert "[P349]" in message and "or replace it with --force" in message
    (output / "old.txt").write_text("x")
    succeed("psa", "calibrate", model, dev, "--output", output, "--force")
    assert contents(output) == before


def raiser(*arguments: Any, **settings: Any) -> None:
    raise OSError("the disk is full")


@pytest.mark.parametrize("output", [None, "new"])
def test_what_cannot_be_written_leaves_no_trace(
    model: Path, dev: Path, tmp_path: Path, output: str | None, monkeypatch: pytest.MonkeyPatch
):
    before = contents(tmp_path)
    # Without --output a file is replaced, with it a folder is renamed
    monkeypatch.setattr(os, "replace" if output is None else "rename", raiser)
    options = [] if output is None else ["--output", tmp_path / output]
    assert "the disk is full" in fail(model, dev, *options)
    assert contents(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"model", "dev.spacy"}


def test_copy_that_breaks_off_leaves_no_trace(
    model: Path, dev: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def break_off(source: Path, target: Path) -> None:
        Path(target).mkdir()
        (Path(target) / "meta.json").write_text("{")
        raise OSError("the disk is full")

    monkeypatch.setattr(shutil, "copytree", break_off)
    assert "the disk is full" in fail(model, dev, "--output", tmp_path / "new")
    assert {path.name for path in tmp_path.iterdir()} == {"model", "dev.spacy"}


def test_diagram_that_cannot_be_written_leaves_the_pipeline_as_it_was(
    model: Path, dev: Path, tmp_path: Path
):
    (tmp_path / "file").write_text("x")
    before = contents(model)
    fail(model, dev, "--plot", tmp_path / "file" / "p.svg")
    assert contents(model) == before


@pytest.mark.parametrize("plot", ["new.svg", "new.svg/p.svg"])
def test_diagram_does_not_take_the_place_of_the_pipeline(
    model: Path, dev: Path, tmp_path: Path, plot: str
) -> None:
    before = contents(tmp_path)
    message = fail(model, dev, "--output", tmp_path / "new.svg", "--plot", tmp_path / plot)
    assert "[P349]" in message and "would contain" in message
    assert contents(tmp_path) == before
