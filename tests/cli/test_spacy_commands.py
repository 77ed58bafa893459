"""spaCy's commands that use or inspect a pipeline, with our components."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from .commands import ROOT, SmallCorpus, succeed

TEXTS = ["Mr. Lincoln said that shares moved higher.", "Canada is in the north."]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Texts in the input format of `apply` and `debug profile`."""
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


def test_apply_annotates_texts(tmp_path: Path, trained: Path, texts: Path) -> None:
    output = tmp_path / "annotated.spacy"
    succeed("apply", trained / "model-best", texts, output)
    docs = list(DocBin().from_disk(output).get_docs(Vocab()))
    nlp = spacy.load(trained / "model-best")
    assert [doc.text for doc in docs] == TEXTS
    for doc, text in zip(docs, TEXTS, strict=True):
        expected = nlp(text)
        assert [token.tag_ for token in doc] == [token.tag_ for token in expected]
        assert [ent.label_ for ent in doc.ents] == [ent.label_ for ent in expected.ents]
        assert all(token.tag_ for token in doc)


def test_apply_in_several_processes_gives_the_same(
    tmp_path: Path, trained: Path, texts: Path
) -> None:
    for n in (1, 2):
        output = tmp_path / f"{n}.spacy"
        succeed("apply", trained / "model-best", texts, output, "--n-process", n)
    one, two = (
        [doc.to_json() for doc in DocBin().from_disk(tmp_path / f"{n}.spacy").get_docs(Vocab())]
        for n in (1, 2)
    )
    assert one == two


@pytest.mark.parametrize("command", [("evaluate",), ("benchmark", "accuracy")])
def test_evaluations_have_the_standard_scores(
    tmp_path: Path, trained: Path, corpus: SmallCorpus, command: tuple[str, ...]
) -> None:
    path = tmp_path / "metrics.json"
    output = succeed(*command, trained / "model-best", corpus.dev, "--output", path)
    scores = json.loads(path.read_text())
    assert {"tag_acc", "ents_p", "ents_r", "ents_f", "ents_per_type", "speed"} <= set(scores)
    assert 0.4 < scores["tag_acc"] < 1.0
    assert set(scores["ents_per_type"]) == {"LOC", "MISC", "ORG", "PER"}
    assert re.search(rf"TAG +{100 * scores['tag_acc']:.2f}", output)
    assert re.search(rf"NER F +{100 * scores['ents_f']:.2f}", output)


def test_evaluation_agrees_with_the_training(
    tmp_path: Path, trained: Path, corpus: SmallCorpus
) -> None:
    path = tmp_path / "metrics.json"
    succeed("evaluate", trained / "model-best", corpus.dev, "--output", path)
    scores = json.loads(path.read_text())
    training = json.loads((trained / "model-best" / "meta.json").read_text())["performance"]
    for key in ("tag_acc", "ents_f"):
        assert scores[key] == pytest.approx(training[key]), key


def test_scores_per_component_go_to_their_components(
    tmp_path: Path, trained: Path, corpus: SmallCorpus
) -> None:
    path = tmp_path / "metrics.json"
    succeed(
        *("benchmark", "accuracy", trained / "model-best", corpus.dev),
        *("--output", path, "--per-component"),
    )
    scores = json.loads(path.read_text())
    assert set(scores["psa_pos"]) == {"tag_acc"}
    assert set(scores["psa_ner"]) == {"ents_p", "ents_r", "ents_f", "ents_per_type"}


def test_speed_can_be_measured(trained: Path, tmp_path: Path) -> None:
    DocBin(docs=[Doc(Vocab(), words=["He", "moved"])]).to_disk(tmp_path / "one.spacy")
    output = succeed(
        *("benchmark", "speed", trained / "model-best", tmp_path / "one.spacy"),
        *("--warmup", 0, "--batches", 30),
    )
    assert re.search(r"Mean: \d+\.\d words/s", output)


def test_debug_config_accepts_ours(tiny_config: Path, corpus: SmallCorpus) -> None:
    output = succeed("debug", "config", tiny_config, *corpus.paths)
    assert "Config is valid" in output


def test_debug_diff_config_shows_what_is_not_default() -> None:
    # The command takes component names for factory names; in this config they are the same.
    output = succeed("debug", "diff-config", ROOT / "configs" / "psa-spans.cfg", "--markdown")
    assert '+ target = "spans"' in output and '- target = "tag"' in output
    assert "+ momentum = 0.9" in output


def test_debug_model_shows_dimensions_at_every_step(tiny_config: Path, corpus: SmallCorpus) -> None:
    output = succeed(
        *("debug", "model", tiny_config, "psa_ner", *corpus.paths),
        *("-P0", "-P1", "-P2", "-P3", "-DIM", "-PAR", "-GRAD", "-ATTR"),
    )
    before, after = output.split("STEP 1")
    assert "dim nO: None" in before
    assert "dim nO: 17" in after, "four types of entities in four positions, and O"
    assert "STEP 2 - after training" in after
    assert "STEP 3 - prediction" in after
    assert "model looks good" in after


def test_debug_profile_runs_the_pipeline(
    tmp_path: Path, trained: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command leaves a file in the working directory.
    monkeypatch.chdir(tmp_path)
    output = succeed("debug", "profile", trained / "model-best", texts, "--n-texts", 2)
    assert "tiled_scores.py" in output


def test_debug_data_reads_the_corpus(tiny_config: Path, corpus: SmallCorpus) -> None:
    # The command only checks spaCy's own components.
    output = succeed("debug", "data", tiny_config, *corpus.paths)
    assert "Pipeline can be initialized with data" in output
    assert "Training pipeline: psa_pos, psa_ner" in output


def test_find_function_knows_our_blocks() -> None:
    output = succeed("find-function", "spacy_psa.ContextFusion.v1")
    assert "encoders.py" in "".join(output.split())


def test_info_describes_the_pipeline(trained: Path) -> None:
    output = succeed("info", trained / "model-best")
    assert re.search(r"components +\['psa_pos', 'psa_ner'\]", output)


def test_the_saved_config_trains_again(tmp_path: Path, trained: Path, corpus: SmallCorpus) -> None:
    config = trained / "model-best" / "config.cfg"
    succeed("train", config, "--output", tmp_path, *corpus.paths, "--training.max_steps", 1)
    settings, again = (
        Config().from_disk(path, interpolate=False)["components"]
        for path in (config, tmp_path / "model-last" / "config.cfg")
    )
    assert again == settings
