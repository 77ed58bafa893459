"""configs/psa-spans.cfg has the settings of Wei et al. (2021), section 5.2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spacy.language import Language
from thinc.api import Config

from spacy_psa.annotation.targets import make_target
from spacy_psa.cli._configs import make_config
from spacy_psa.pipeline.srl.settings import DEFAULT_SRL_MODEL
from spacy_psa.pipeline.tagger.settings import DEFAULT_PSA_MODEL

from .documentation import ROOT

PSA = Config().from_disk(ROOT / "configs" / "psa-spans.cfg", interpolate=False)


def without(config: dict[str, Any], *names: str) -> dict[str, Any]:
    """A section without some of its settings."""
    return {name: value for name, value in config.items() if name not in names}


# What the paper says of training, by the names of settings in the config
CHUNKS = -(-(8936 - 1000) // 10)  # updates an epoch: of 8,936 sentences, 1,000 are held out
TRAINING = {
    "training.optimizer.@optimizers": "spacy_psa.SGD.v1",
    "training.optimizer.momentum": 0.9,
    "training.optimizer.learn_rate.@schedules": "spacy_psa.inverse_epoch_decay.v1",
    "training.optimizer.learn_rate.initial_rate": 0.015,
    "training.optimizer.learn_rate.decay": 0.05,
    "training.optimizer.learn_rate.steps_per_epoch": CHUNKS,
    "training.eval_frequency": CHUNKS,
    "training.batcher.@batchers": "spacy.batch_by_sequence.v1",
    "training.batcher.size": 10,
    "components.psa_tagger.target": "spans",
    "components.psa_tagger.spans_key": "chunks",
    "components.psa_tagger.max_grad_norm": 5.0,
}
# And of the model
NETWORK: dict[str, Any] = {
    "tok2vec.width": None,  # that of the vectors
    "tok2vec.characters.embedding_width": 30,
    "tok2vec.characters.width": 100,
    "encoder.recurrent.@architectures": "spacy_psa.BiLSTM.v1",
    "encoder.recurrent.hidden_width": 300,
    "encoder.recurrent.depth": 1,
    "encoder.recurrent.input_dropout": 0.55,
    "encoder.recurrent.output_dropout": 0.55,
    "decoder": {"@architectures": "spacy_psa.CRF.v1"},
}
FUSION = {
    "dropout": 0.2,
    "bias.@architectures": "spacy_psa.PSABias.v1",
    "bias.window": 10,
    "bias.max_distance": 10,
    "bias.self_mask": True,
    "bias.gaussian": True,
    "bias.token_position": True,
}
for fusion in ("first_fusion", "second_fusion"):
    NETWORK.update({f"encoder.{fusion}.{path}": value for path, value in FUSION.items()})
PAPER = {**TRAINING, **{f"components.psa_tagger.model.{k}": v for k, v in NETWORK.items()}}


@pytest.mark.parametrize("path", PAPER)
def test_a_setting_is_that_of_the_paper(path: str) -> None:
    found: Any = PSA
    for name in path.split("."):
        found = found[name]
    assert found == PAPER[path]


def without_dropout(section: dict[str, Any]) -> dict[str, Any]:
    """A section without the settings of dropout, also inside others."""
    return {
        name: without_dropout(value) if isinstance(value, dict) else value
        for name, value in section.items()
        if not name.endswith("dropout")
    }


def test_the_default_model_is_that_of_the_best_recipe_with_less_dropout() -> None:
    # The default must learn from two sentences as well
    text = make_config("psa", "ents", name="x.cfg")
    model = Config().from_str(text, interpolate=False)["components"]["psa_tagger"]["model"]
    assert without_dropout(without(model, "nO")) == without_dropout(DEFAULT_PSA_MODEL)


def test_the_default_model_of_roles_is_that_of_the_best_recipe() -> None:
    text = make_config("deepatt", "roles", name="x.cfg")
    model = Config().from_str(text, interpolate=False)["components"]["psa_srl"]["model"]
    model, default = (without(m, "nO", "decoder") for m in (model, DEFAULT_SRL_MODEL))
    assert without_dropout(model) == without_dropout(default)


def test_semantic_roles_are_learnt_as_in_their_paper() -> None:
    config = Config().from_disk(ROOT / "configs" / "deepatt-roles.cfg", interpolate=False)
    component, training = config["components"]["psa_srl"], config["training"]
    encoder = component["model"]["encoder"]
    assert encoder["sublayer"]["@architectures"] == "spacy_psa.FeedForwardSublayer.v1"
    assert (encoder["width"], encoder["depth"], encoder["sublayer"]["hidden_width"]) == (
        200,
        10,
        800,
    )
    assert encoder["residual_dropout"] == 0.2
    softmax = {"@architectures": "spacy_psa.Softmax.v1"}
    assert component["model"]["decoder"] == {**softmax, "bias": False}
    # The component's default has a bias, as pipelines have that were saved before it was a setting
    assert DEFAULT_SRL_MODEL["decoder"] == softmax
    assert (component["label_smoothing"], component["max_grad_norm"]) == (0.1, 1.0)
    assert training["batcher"]["size"] == 4096
    assert training["max_steps"] == 600_000
    rate = {"@schedules": "spacy_psa.halving.v1", "initial_rate": 1.0}
    assert training["optimizer"] == {
        "@optimizers": "spacy_psa.Adadelta.v1",
        "rho": pytest.approx(0.95),
        "eps": 1e-6,
        "L2": 0.0,
        "use_averages": False,
        "groups": None,
        "learn_rate": {**rate, "hold": 400_000, "every": 100_000},
    }


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.cfg")), ids=lambda p: p.name)
def test_what_all_configs_have_in_common(path: Path) -> None:
    config = Config().from_disk(path, interpolate=False)
    training = config["training"]
    # thinc would clip each tensor on its own
    assert training["optimizer"].get("grad_clip", 0.0) == 0.0
    assert config["system"]["gpu_allocator"] == "pytorch"
    assert training["gpu_allocator"] == "${system.gpu_allocator}"
    assert training["logger"] == {
        "@loggers": "spacy_psa.JsonlLogger.v1",
        "path": None,
        "progress_bar": "run",
        "console_output": True,
    }
    # Scores that choose the best model are those of the targets
    components = config["components"].values()
    scores = [
        score
        for component in components
        if component["factory"] == "psa_tagger"
        for score in make_target(
            component["target"], spans_key=component["spans_key"]
        ).score_weights
    ]
    if any(component["factory"] == "psa_srl" for component in components):
        scores += Language.get_factory_meta("psa_srl").default_score_weights
    weights = {k: v for k, v in training["score_weights"].items() if v}
    assert set(weights) <= set(scores)
    assert sum(weights.values()) == pytest.approx(1.0)
