"""BiLSTM-LAN and structured refinement from config to disk."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed
from torch import nn

from spacy_psa.layers import LabelAttention, LabelMarginals

from ..conftest import (
    NAME,
    annotation,
    assert_same_weights,
    make_adam,
    make_nlp,
    tagger_of,
    tiny_model,
    train,
    weights,
)


def refinement(refine: dict[str, Any], connection: str, depth: int, **labels: Any) -> dict:
    return {
        "@architectures": "spacy_psa.LabelRefinement.v1",
        "depth": depth,
        "input_dropout": 0.0,
        "recurrent": {
            "@architectures": "spacy_psa.BiLSTM.v1",
            "hidden_width": 16,
            "input_dropout": 0.0,
            "output_dropout": 0.0,
        },
        "refine": refine,
        "connection": {"@architectures": f"spacy_psa.{connection}.v1"},
        "labels": {"@architectures": "spacy_psa.LabelSet.v1", **labels},
    }


def attention(projection: str, **settings: Any) -> dict[str, Any]:
    return {
        "@architectures": "spacy_psa.LabelAttention.v1",
        "projection": {"@architectures": f"spacy_psa.{projection}.v1"},
        **settings,
    }


MARGINALS = {"@architectures": "spacy_psa.LabelMarginals.v1"}
LAN = refinement(attention("LinearProjection", heads=4), "Concatenation", 3)
PUBLISHED_LAN = refinement(attention("ReLUProjection", heads=4), "Concatenation", 3)


def lan_decoder(projection: str | None, **settings: Any) -> dict[str, Any]:
    part = None if projection is None else {"@architectures": f"spacy_psa.{projection}.v1"}
    return {
        "@architectures": "spacy_psa.LabelAttentionDecoder.v1",
        "projection": part,
        **settings,
    }


STRUCTURED = refinement(MARGINALS, "ResidualNorm", 2)
SEPARATE = refinement(
    MARGINALS, "ResidualNorm", 2, tie_embeddings=False, tie_transitions=False, n_latent=5
)
LABEL_CRF = {"@architectures": "spacy_psa.LabelCRF.v1"}
SYSTEMS = {
    "BiLSTM-LAN": tiny_model(encoder=LAN, decoder=lan_decoder("LinearProjection")),
    "BiLSTM-LAN, naive attention": tiny_model(encoder=LAN, decoder=lan_decoder(None, scaled=False)),
    "BiLSTM-LAN as published": tiny_model(
        encoder=PUBLISHED_LAN, decoder=lan_decoder("ReLUProjection")
    ),
    "structured refinement": tiny_model(encoder=STRUCTURED, decoder=LABEL_CRF),
    "structured refinement with latent labels": tiny_model(encoder=SEPARATE, decoder=LABEL_CRF),
}
PLACES = ("Berlin", "Paris", "Rome", "Oslo", "Lima")
PEOPLE = ("Ann", "Bob", "Eve", "Max", "Lee")


def sentences() -> list[tuple[list[str], list[str]]]:
    """Twenty sentences, as words and entity tags."""
    chosen, found = random.Random(0), []
    for i in range(20):
        person, place = chosen.choice(PEOPLE), chosen.choice(PLACES)
        words, tags = [
            ([person, "Miller", "likes", place, "."], ["B-PER", "L-PER", "O", "U-LOC", "O"]),
            (["New", place, "is", "far", "."], ["B-LOC", "L-LOC", "O", "O", "O"]),
            ([place, "Miller", "saw", person], ["B-PER", "L-PER", "O", "U-PER"]),
            (["no", "names", "here", "."], ["O", "O", "O", "O"]),
        ][i % 4]
        found.append((words, tags))
    return found


def make_examples(nlp: Language) -> list[Example]:
    return [
        Example.from_dict(Doc(nlp.vocab, words=words), {"entities": tags})
        for words, tags in sentences()
    ]


def initialized(name: str) -> Language:
    nlp = make_nlp("ents", model=SYSTEMS[name])
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def network_of(nlp: Language) -> nn.Module:
    return tagger_of(nlp).model.get_ref("network").shims[0].network


def predictions(nlp: Language) -> list[tuple[Any, ...]]:
    docs = [Doc(nlp.vocab, words=words) for words, _ in sentences()]
    return [annotation(doc) for doc in nlp.pipe(docs)]


def knows(nlp: Language) -> bool:
    return nlp.evaluate(make_examples(nlp))["ents_f"] == 1.0


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_learns_by_heart_and_is_saved(name: str, tmp_path: Path) -> None:
    nlp = initialized(name)
    examples = make_examples(nlp)
    assert nlp.evaluate(examples)["ents_f"] < 1.0
    train(nlp, examples, steps=60, until=lambda: knows(nlp))
    assert knows(nlp)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert_same_weights(weights(loaded), weights(nlp))
    assert predictions(loaded) == predictions(nlp)
    again = make_nlp("ents", model=SYSTEMS[name]).from_bytes(nlp.to_bytes())
    assert predictions(again) == predictions(nlp)


@pytest.mark.parametrize("name", SYSTEMS)
def test_labels_are_still_shared_after_loading_and_go_on_learning(name: str) -> None:
    found = []
    for load in (False, True):
        nlp = initialized(name)
        if load:
            nlp = make_nlp("ents", model=SYSTEMS[name]).from_bytes(nlp.to_bytes())
        network = network_of(nlp)
        parts = (LabelAttention, LabelMarginals)
        layers = [m for m in network.modules() if isinstance(m, parts)]
        owners = [network.decoder, *layers]
        tied = name != "structured refinement with latent labels"
        assert len({id(owner.labels) for owner in owners}) == (1 if tied else len(owners))
        for _ in range(2):
            nlp.update(make_examples(nlp), sgd=make_adam())
        found.append(weights(nlp))
    assert_same_weights(*found)


@pytest.mark.parametrize("name", SYSTEMS)
def test_averages_are_those_of_each_parameter_once(name: str) -> None:
    nlp = initialized(name)
    optimizer = make_adam(use_averages=True)
    for _ in range(3):
        nlp.update(make_examples(nlp), sgd=optimizer)
    before = weights(nlp)
    assert len(optimizer.averages) == len(before)
    with nlp.use_params(optimizer.averages):
        inside = weights(nlp)
        saved = nlp.to_bytes()
    assert_same_weights(weights(nlp), before)
    moved = [key for key in before if not np.array_equal(before[key], inside[key])]
    assert any("labels" in key for key in moved)
    again = make_nlp("ents", model=SYSTEMS[name]).from_bytes(saved)
    assert_same_weights(weights(again), inside)


def test_updates_are_those_of_one_shared_parameter() -> None:
    # A step of plain gradient descent moves it by the sum of the gradients from all its uses.
    nlp = initialized("structured refinement")
    network, keys = network_of(nlp), []
    before = network.encoder.labels.weight.detach().clone()

    def step(key, values, gradient):
        keys.append(key)
        if key[1] == "encoder.labels.weight":
            np.testing.assert_allclose(values, before.numpy())
        return values - 0.1 * gradient, gradient

    nlp.update(make_examples(nlp), sgd=step)
    assert len(keys) == len(set(keys))
    assert (network.decoder.labels.weight.detach() - before).abs().sum() > 0
    assert [key for _, key in keys if key.startswith("decoder.")] == []


def test_the_default_settings_of_blocks_are_filled_in() -> None:
    config = make_nlp("ents", model=SYSTEMS["BiLSTM-LAN"]).config
    encoder = config["components"][NAME]["model"]["encoder"]
    assert encoder["refine"]["dropout"] == 0.0
    assert encoder["connection"]["residual"] is True
    assert encoder["labels"]["tie_embeddings"] is True
