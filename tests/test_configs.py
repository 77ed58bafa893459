"""configs/psa-chunk.cfg has the settings of Wei et al. (2021), section 5.2."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from spacy.language import Language
from thinc.api import Config

from spacy_psa.cli.init_config import make_config
from spacy_psa.pipeline.srl.settings import DEFAULT_SRL_MODEL
from spacy_psa.pipeline.tagger.settings import DEFAULT_PSA_MODEL

from .documentation import ROOT

PSA = Config().from_disk(ROOT / "configs" / "psa-chunk.cfg", interpolate=False)
COMPONENT = PSA["components"]["psa_tagger"]
MODEL = COMPONENT["model"]
ENCODER = MODEL["encoder"]
OPTIMIZER = PSA["training"]["optimizer"]
FUSIONS = ("first_fusion", "second_fusion")


def without(config: dict[str, Any], *names: str) -> dict[str, Any]:
    """A section without some of its settings."""
    return {name: value for name, value in config.items() if name not in names}


def test_sgd_with_momentum_of_0_9() -> None:
    assert OPTIMIZER["@optimizers"] == "spacy_psa.SGD.v1"
    assert OPTIMIZER["momentum"] == 0.9


def test_learning_rate_of_0_015_for_chunks() -> None:
    assert COMPONENT["target"] == "spans" and COMPONENT["spans_key"] == "chunks"
    assert OPTIMIZER["learn_rate"]["@schedules"] == "spacy_psa.inverse_epoch_decay.v1"
    assert OPTIMIZER["learn_rate"]["initial_rate"] == 0.015


def test_learning_rate_decays_by_0_05_an_epoch() -> None:
    assert OPTIMIZER["learn_rate"]["decay"] == 0.05


def test_an_epoch_is_one_pass_over_the_training_part_of_conll_2000() -> None:
    # 8,936 sentences, of which 1,000 are held out.
    steps = math.ceil((8936 - 1000) / 10)
    assert OPTIMIZER["learn_rate"]["steps_per_epoch"] == steps
    assert PSA["training"]["eval_frequency"] == steps


def test_gradients_are_clipped_to_a_norm_of_5() -> None:
    assert COMPONENT["max_grad_norm"] == 5.0


def test_batches_of_10_sentences() -> None:
    assert PSA["training"]["batcher"]["@batchers"] == "spacy.batch_by_sequence.v1"
    assert PSA["training"]["batcher"]["size"] == 10


def test_dropout_of_0_55_around_the_bilstm() -> None:
    assert ENCODER["recurrent"]["input_dropout"] == 0.55
    assert ENCODER["recurrent"]["output_dropout"] == 0.55


@pytest.mark.parametrize("fusion", FUSIONS)
def test_dropout_of_0_2_on_the_self_attention(fusion: str) -> None:
    assert ENCODER[fusion]["dropout"] == 0.2


@pytest.mark.parametrize("fusion", FUSIONS)
def test_gaussian_window_of_10(fusion: str) -> None:
    assert ENCODER[fusion]["bias"]["window"] == 10


@pytest.mark.parametrize("fusion", FUSIONS)
def test_positions_are_clipped_at_a_distance_of_10(fusion: str) -> None:
    assert ENCODER[fusion]["bias"]["max_distance"] == 10


@pytest.mark.parametrize("fusion", FUSIONS)
def test_all_parts_of_the_positional_bias(fusion: str) -> None:
    bias = ENCODER[fusion]["bias"]
    assert bias["@architectures"] == "spacy_psa.PSABias.v1"
    assert bias["self_mask"] and bias["gaussian"] and bias["token_position"]


def test_character_embeddings_of_width_30() -> None:
    assert MODEL["tok2vec"]["characters"]["embedding_width"] == 30


def test_character_representations_of_width_100() -> None:
    assert MODEL["tok2vec"]["characters"]["width"] == 100


def test_one_bilstm_layer_of_width_300() -> None:
    assert ENCODER["recurrent"]["@architectures"] == "spacy_psa.BiLSTM.v1"
    assert ENCODER["recurrent"]["hidden_width"] == 300
    assert ENCODER["recurrent"]["depth"] == 1


def test_a_crf_decodes() -> None:
    assert MODEL["decoder"] == {"@architectures": "spacy_psa.CRF.v1"}


def test_words_have_the_width_of_the_vectors() -> None:
    assert MODEL["tok2vec"]["width"] is None


def without_dropout(section: dict[str, Any]) -> dict[str, Any]:
    """A section without the settings of dropout, also inside others."""
    return {
        name: without_dropout(value) if isinstance(value, dict) else value
        for name, value in section.items()
        if not name.endswith("dropout")
    }


def test_the_default_model_is_that_of_the_best_recipe_with_less_dropout() -> None:
    # The default must learn from two sentences as well
    text = make_config("psa", "ner", name="x.cfg")
    model = Config().from_str(text, interpolate=False)["components"]["psa_tagger"]["model"]
    assert without_dropout(without(model, "nO")) == without_dropout(DEFAULT_PSA_MODEL)


def test_the_default_model_of_roles_is_that_of_the_best_recipe() -> None:
    text = make_config("deepatt", "srl", name="x.cfg")
    model = Config().from_str(text, interpolate=False)["components"]["psa_srl"]["model"]
    model, default = (without(m, "nO", "decoder") for m in (model, DEFAULT_SRL_MODEL))
    assert without_dropout(model) == without_dropout(default)


def test_semantic_roles_are_learnt_as_in_their_paper() -> None:
    config = Config().from_disk(ROOT / "configs" / "deepatt-srl.cfg", interpolate=False)
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
def test_thinc_does_not_clip_each_tensor_on_its_own(path: Path) -> None:
    optimizer = Config().from_disk(path, interpolate=False)["training"]["optimizer"]
    assert optimizer.get("grad_clip", 0.0) == 0.0


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.cfg")), ids=lambda p: p.name)
def test_the_gpu_has_one_allocator(path: Path) -> None:
    config = Config().from_disk(path, interpolate=False)
    assert config["system"]["gpu_allocator"] == "pytorch"
    assert config["training"]["gpu_allocator"] == "${system.gpu_allocator}"


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.cfg")), ids=lambda p: p.name)
def test_training_leaves_a_log(path: Path) -> None:
    config = Config().from_disk(path, interpolate=False)
    assert config["training"]["logger"] == {
        "@loggers": "spacy_psa.JsonlLogger.v1",
        "path": None,
        "progress_bar": "run",
        "console_output": True,
    }


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.cfg")), ids=lambda p: p.name)
def test_scores_that_choose_the_best_model_are_those_of_the_targets(path: Path) -> None:
    from spacy_psa.annotation.targets import make_target

    config = Config().from_disk(path, interpolate=False)
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
    weights = {k: v for k, v in config["training"]["score_weights"].items() if v}
    assert set(weights) <= set(scores)
    assert sum(weights.values()) == pytest.approx(1.0)
