"""Saving and loading."""

from pathlib import Path

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.util import load_model_from_config

from ..conftest import (
    NAME,
    annotation,
    assert_same_weights,
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    trained_nlp,
    weights,
)


def assert_same(actual: Language, expected: Language) -> None:
    """Compare weights, labels and predictions exactly."""
    assert_same_weights(weights(actual), weights(expected))
    assert tagger_of(actual).labels == tagger_of(expected).labels
    assert tagger_of(actual).tags == tagger_of(expected).tags
    one, other = (tagger_of(nlp).model.predict(make_docs(nlp)) for nlp in (actual, expected))
    assert torch.equal(one.emissions, other.emissions)
    docs = zip(actual.pipe(make_docs(actual)), expected.pipe(make_docs(expected)), strict=True)
    assert all(annotation(a) == annotation(b) for a, b in docs)


def test_the_pipeline_through_disk(target: str, tmp_path: Path) -> None:
    nlp = trained_nlp(target)
    nlp.to_disk(tmp_path / "model")
    assert_same(spacy.load(tmp_path / "model"), nlp)


def test_the_pipeline_through_bytes(target: str) -> None:
    nlp = trained_nlp(target)
    loaded = load_model_from_config(nlp.config, auto_fill=True)
    assert_same(loaded.from_bytes(nlp.to_bytes()), nlp)


def test_the_model_can_be_excluded() -> None:
    nlp = trained_nlp()
    before = weights(nlp)
    other = initialized_nlp(seed=5)
    tagger_of(nlp).from_bytes(tagger_of(other).to_bytes(), exclude=["model"])
    assert_same_weights(weights(nlp), before)


def test_the_settings_can_be_excluded() -> None:
    nlp = trained_nlp()
    tagger_of(nlp).cfg["overwrite"] = True
    tagger_of(nlp).from_bytes(tagger_of(nlp).to_bytes(exclude=["cfg"]))
    assert tagger_of(nlp).cfg["overwrite"] is True


def test_the_component_can_be_excluded_from_loading(tmp_path: Path) -> None:
    trained_nlp().to_disk(tmp_path)
    nlp = spacy.load(tmp_path, exclude=[NAME])
    assert nlp.pipe_names == []


def test_an_uninitialized_pipeline_is_saved_and_loaded(tmp_path: Path, target: str) -> None:
    nlp = make_nlp(target)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    loaded.initialize(lambda: make_examples(loaded))
    assert tagger_of(loaded).labels
    assert weights(make_nlp(target).from_bytes(nlp.to_bytes())) == {}


def test_an_uninitialized_pipeline_with_labels_is_saved_and_loaded() -> None:
    nlp = make_nlp()
    tagger_of(nlp).add_label("A")
    loaded = make_nlp().from_bytes(nlp.to_bytes())
    assert tagger_of(loaded).labels == ("A",)


def test_loading_replaces_what_was_there(target: str) -> None:
    nlp = trained_nlp(target)
    other = initialized_nlp(target, seed=5)
    tagger_of(other).predict(make_docs(other))
    assert tagger_of(other).from_bytes(tagger_of(nlp).to_bytes()) is tagger_of(other)
    assert_same(other, nlp)


def test_training_goes_on_alike_after_loading() -> None:
    found = []
    for load in (False, True):
        nlp = initialized_nlp()
        if load:
            nlp = make_nlp().from_bytes(nlp.to_bytes())
        nlp.update(make_examples(nlp), sgd=make_adam())
        found.append(weights(nlp))
    assert_same_weights(*found)


def test_a_component_can_be_sourced_from_another_pipeline(target: str, tmp_path: Path) -> None:
    nlp = trained_nlp(target)
    other = spacy.blank("xx")
    other.add_pipe(NAME, source=nlp)
    assert_same(other, nlp)
    other.to_disk(tmp_path)
    assert_same(spacy.load(tmp_path), nlp)


def test_pretrained_vectors_travel_with_the_pipeline(tmp_path: Path) -> None:
    from .test_vectors import nlp_with_vectors

    nlp = nlp_with_vectors()
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    for text in ("Rome", "Ann saw Rome and rome .", "zzz"):
        one, other = (tagger_of(n).model.predict([n.make_doc(text)]) for n in (nlp, loaded))
        assert torch.equal(one.emissions, other.emissions)


@pytest.mark.parametrize(
    ("name", "value"), [("threshold", 80), ("threshold", np.float32(0.5)), ("temperature", 1e-40)]
)
def test_settings_that_could_not_be_loaded_are_not_saved(
    name: str, value: object, tmp_path: Path
) -> None:
    nlp = trained_nlp()
    nlp.to_disk(tmp_path)
    tagger_of(nlp).cfg[name] = value
    for save in (nlp.to_bytes, lambda: nlp.to_disk(tmp_path)):
        with pytest.raises(ValueError, match=f"P210.*'{name}'"):
            save()
    assert tagger_of(spacy.load(tmp_path)).cfg[name] != value


@pytest.mark.parametrize(
    ("name", "value"), [("target", "pos"), ("spans_key", "other"), ("set_separator", "|")]
)
def test_what_is_read_and_written_cannot_be_changed(name: str, value: str) -> None:
    nlp = trained_nlp("spans")
    tagger_of(nlp).cfg[name] = value
    with pytest.raises(ValueError, match=f"P316.*{name}"):
        nlp.to_bytes()


@pytest.mark.parametrize("name", ["overwrite", "constrain_training", "max_grad_norm", "spans_key"])
def test_the_settings_are_saved(name: str) -> None:
    values = {"overwrite": True, "constrain_training": True, "max_grad_norm": 1.5, "spans_key": "k"}
    nlp = make_nlp(**{name: values[name]})
    assert tagger_of(make_nlp().from_bytes(nlp.to_bytes())).cfg[name] == values[name]
