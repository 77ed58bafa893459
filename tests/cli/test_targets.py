"""One vocabulary of targets and systems in all commands; earlier words work, and say so."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from spacy.util import registry
from thinc.api import Config
from typer.testing import CliRunner

from spacy_psa.annotation.targets import TARGETS as OF_TAGGER
from spacy_psa.cli import psa_cli
from spacy_psa.cli._names import EARLIER_TASKS, TARGETS, current_system, current_target
from spacy_psa.cli._reproduction_runs import parse_systems
from spacy_psa.cli._templates import names
from spacy_psa.corpora.formats import TARGETS as OF_CORPORA
from spacy_psa.evaluation.layers import LAYERS
from spacy_psa.reproduction.papers import METRICS


def config(*arguments: str, warns: str = "") -> Config:
    with pytest.warns(UserWarning, match=f"W440.*{warns}") if warns else nullcontext():
        done = CliRunner().invoke(psa_cli, ["init-config", "-", *arguments])
    assert done.exit_code == 0, done.output
    return Config().from_str(done.stdout, interpolate=False)


def test_all_commands_have_the_targets_of_the_components() -> None:
    assert set(TARGETS) == {*OF_TAGGER, "roles"} == {*names("targets"), "roles"}
    assert set(TARGETS) == set(LAYERS) and set(TARGETS) < set(OF_CORPORA)
    assert set(METRICS) <= set(TARGETS)
    assert set(EARLIER_TASKS.values()) <= set(TARGETS)


@pytest.mark.parametrize("target", ["tag", "pos", "morph", "ents", "spans"])
def test_a_target_is_what_the_component_writes(target: str) -> None:
    found = config("--system", "bilstm-softmax", "--target", target)
    assert found["components"]["psa_tagger"]["target"] == target
    weights = found["training"]["score_weights"]
    metric = {"ents": "ents_f", "spans": "spans_chunks_f"}.get(target, f"{target}_acc")
    assert [name for name, weight in weights.items() if weight] == [metric]


def test_earlier_words_mean_the_same_and_say_what_they_are_called_now() -> None:
    softmax = ["--system", "bilstm-softmax"]
    tag = config(*softmax, "--target", "tag")
    assert config(*softmax, "--task", "pos", warns="--target 'tag'") == tag
    assert config(*softmax, "--target", "tag", "--task", "pos", warns="--target 'tag'") == tag
    assert config(*softmax, "--pipeline", "tag", warns="--pipeline, is now.*--target 'tag'") == tag
    roles = config("--system", "deepatt", "--target", "roles")
    assert config("--system", "deepatt", "--target", "srl", warns="--target roles") == roles


def test_several_targets_are_several_components() -> None:
    found = config("--system", "bilstm-softmax", "--target", "pos morph spans:genes")
    taggers = {n: c for n, c in found["components"].items() if c["factory"] == "psa_tagger"}
    assert list(taggers) == ["psa_pos", "psa_morph", "psa_genes"]
    assert [c["target"] for c in taggers.values()] == ["pos", "morph", "spans"]


@pytest.mark.parametrize("arguments", [[], ["--target", "name"], ["--task", "name"]])
def test_other_words_and_none_are_errors(arguments: list[str]) -> None:
    done = CliRunner().invoke(psa_cli, ["init-config", "-", "--system", "psa", *arguments])
    assert done.exit_code != 0
    assert "--target" in done.output


def test_the_transformer_from_scratch_hints_at_pretrained_ones() -> None:
    with pytest.warns(UserWarning, match="W441.*'vaswani'.*--transformer"):
        assert current_system("transformer") == "vaswani"
    with pytest.warns(UserWarning, match="'vaswani-2-bias'"):
        assert parse_systems("transformer-2-bias", "ents") == {"vaswani-2-bias": None}
    assert current_system("transformers") == "transformers"
    assert current_target("ents") == "ents"


def test_the_earlier_name_of_its_block_builds_the_same() -> None:
    make = registry.architectures.get("spacy_psa.Vaswani.v1")
    with pytest.warns(UserWarning, match="W441.*spacy_psa.Vaswani.v1"):
        earlier = registry.architectures.get("spacy_psa.Transformer.v1")(None, None, depth=3)
    assert earlier.keywords == make(None, None, depth=3).keywords
