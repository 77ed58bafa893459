"""`psa init-config --target`: one vocabulary, that of the components' setting."""

from __future__ import annotations

import pytest
from thinc.api import Config
from typer.testing import CliRunner

from spacy_psa.annotation.targets import TARGETS as OF_TAGGER
from spacy_psa.cli import psa_cli
from spacy_psa.cli._assembly import TARGETS, TASKS
from spacy_psa.cli._templates import names


def config(*arguments: str) -> Config:
    done = CliRunner().invoke(psa_cli, ["init-config", "-", *arguments])
    assert done.exit_code == 0, done.output
    return Config().from_str(done.stdout, interpolate=False)


def test_targets_are_those_of_the_components() -> None:
    assert set(TARGETS) == {*OF_TAGGER, "roles"}
    assert set(TARGETS.values()) == {*TASKS, *names("targets")}


@pytest.mark.parametrize("target", ["tag", "pos", "morph", "ents", "spans"])
def test_a_target_is_what_the_component_writes(target: str) -> None:
    found = config("--system", "bilstm-softmax", "--target", target)
    assert found["components"]["psa_tagger"]["target"] == target
    weights = found["training"]["score_weights"]
    metric = {"ents": "ents_f", "spans": "spans_chunks_f"}.get(target, f"{target}_acc")
    assert [name for name, weight in weights.items() if weight] == [metric]


def test_the_words_of_papers_mean_the_same() -> None:
    system = ["--system", "bilstm-softmax"]
    assert config(*system, "--target", "tag") == config(*system, "--task", "pos")
    assert config("--system", "deepatt", "--target", "roles") == config(
        "--system", "deepatt", "--task", "srl"
    )


def test_several_targets_are_several_components() -> None:
    found = config("--system", "bilstm-softmax", "--target", "pos morph spans:genes")
    taggers = {n: c for n, c in found["components"].items() if c["factory"] == "psa_tagger"}
    assert [c["target"] for c in taggers.values()] == ["pos", "morph", "spans"]


@pytest.mark.parametrize(
    "arguments", [[], ["--target", "tag", "--task", "pos"], ["--target", "ner"]]
)
def test_other_words_and_both_or_none_are_errors(arguments: list[str]) -> None:
    done = CliRunner().invoke(psa_cli, ["init-config", "-", "--system", "psa", *arguments])
    assert done.exit_code != 0
    assert "target" in done.output
