"""Components trained in mixed precision, as set in a config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

from spacy_psa.models import labeler
from spacy_psa.models.mixed_precision import HALF_PRECISIONS
from spacy_psa.models.network_shim import NetworkShim
from spacy_psa.pipeline.srl.settings import DEFAULT_SRL_MODEL
from spacy_psa.pipeline.tagger.settings import DEFAULT_PSA_MODEL
from spacy_psa.training.state import read_state, write_state

from . import srl_data
from .conftest import (
    HASH,
    NAME,
    SCORES,
    assert_same_weights,
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    train,
    weights,
)
from .tagger.gradients import gradients


def shim_of(model: Model) -> NetworkShim:
    """The shim of the network that is trained in mixed precision."""
    return labeler.shim_of(model.get_ref("network"))


def mixed_nlp(target: str = "tag", setting: str = "bf16", **config: Any) -> Language:
    return initialized_nlp(target, model=tiny_model(mixed_precision=setting), **config)


@pytest.mark.parametrize(
    ("target", "setting"), [("tag", "bf16"), ("ents", "fp16"), ("spans", "bf16")]
)
def test_overfits(target: str, setting: str) -> None:
    nlp = mixed_nlp(target, setting)
    examples = make_examples(nlp)
    # The first steps may overflow, until the scale is small enough
    assert train(nlp, examples, steps=60) < 0.1
    assert nlp.evaluate(examples)[SCORES[target]] == 1.0


@pytest.mark.parametrize("setting", HALF_PRECISIONS)
def test_roles_are_learnt(setting: str) -> None:
    nlp = srl_data.initialized_nlp(srl_data.tiny_model(mixed_precision=setting))
    assert shim_of(srl_data.srl_of(nlp).model)._half == HALF_PRECISIONS[setting]
    assert srl_data.train(nlp) < 0.3


def test_full_precision_is_the_default() -> None:
    assert DEFAULT_PSA_MODEL["mixed_precision"] is None
    assert DEFAULT_SRL_MODEL["mixed_precision"] is None
    plain, given = initialized_nlp(), mixed_nlp(setting=None)
    for nlp in (plain, given):
        train(nlp, make_examples(nlp), steps=3)
    assert_same_weights(weights(plain), weights(given))


def test_the_gradient_is_nearly_that_of_full_precision() -> None:
    found = {}
    for setting in (None, *HALF_PRECISIONS):
        nlp = mixed_nlp(setting=setting)
        tagger_of(nlp).update(make_examples(nlp))
        found[setting] = gradients(nlp)
    for setting in HALF_PRECISIONS:
        assert found[setting].keys() == found[None].keys()
        one, other = (
            np.concatenate([g.ravel() for g in found[s].values()]) for s in (setting, None)
        )
        assert 0 < np.linalg.norm(one - other) < 0.02 * np.linalg.norm(other)


@pytest.mark.parametrize("setting", HALF_PRECISIONS)
def test_gradients_of_parts_of_a_batch_add_up(setting: str) -> None:
    nlp = mixed_nlp(setting=setting)
    examples, alone = make_examples(nlp), []
    for example in examples:
        nlp = mixed_nlp(setting=setting)
        tagger_of(nlp).update([example])
        alone.append(gradients(nlp))
    nlp = mixed_nlp(setting=setting)
    for example in examples:
        tagger_of(nlp).update([example])
    for name, found in gradients(nlp).items():
        expected = sum(part[name] for part in alone)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("parts", [1, 2])
def test_an_update_that_overflows_is_none_of_any_layer(parts: int) -> None:
    """It changes neither the network nor the embeddings, by momentum or by another part of the
    batch.
    """
    nlp, optimizer = mixed_nlp(setting="fp16"), make_adam()
    scaler, examples = shim_of(tagger_of(nlp).model).scaler, make_examples(nlp)
    scaler._scale.fill_(2.0**10)
    for _ in range(3):
        nlp.update(examples, sgd=optimizer)
    before = weights(nlp)
    if parts == 2:
        tagger_of(nlp).update(examples)
    scaler._scale.fill_(2.0**40)
    nlp.update(examples, sgd=optimizer)
    assert_same_weights(weights(nlp), before)
    assert float(scaler._scale) == 2.0**39
    assert not gradients(nlp)
    scaler._scale.fill_(2.0**10)
    nlp.update(examples, sgd=optimizer)
    after = weights(nlp)
    assert all(
        not np.array_equal(after[name], value) for name, value in before.items() if value.any()
    )


def test_layers_of_thinc_are_not_updated_either() -> None:
    model = tiny_model(tok2vec=HASH, mixed_precision="fp16")
    nlp, optimizer = initialized_nlp(model=model), make_adam()
    scaler = shim_of(tagger_of(nlp).model).scaler
    scaler._scale.fill_(2.0**10)
    nlp.update(make_examples(nlp), sgd=optimizer)
    before = weights(nlp)
    scaler._scale.fill_(2.0**40)
    nlp.update(make_examples(nlp), sgd=optimizer)
    assert_same_weights(weights(nlp), before)


def test_a_training_that_diverges_in_float16_is_stopped() -> None:
    nlp, optimizer = mixed_nlp(setting="fp16"), make_adam()
    shim = shim_of(tagger_of(nlp).model)

    def spoil(module: torch.nn.Module, inputs: Any, output: torch.Tensor) -> None:
        output.register_hook(lambda gradient: gradient * float("nan"))

    shim.network.encoder.register_forward_hook(spoil)
    before = weights(nlp)
    with pytest.raises(ValueError, match="P307"):
        for _ in range(30):
            nlp.update(make_examples(nlp), sgd=optimizer)
    assert_same_weights(weights(nlp), before)


def test_a_batch_that_is_stopped_has_no_consequences_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nlp = mixed_nlp(setting="fp16")
    examples, tagger = make_examples(nlp), tagger_of(nlp)
    scaler = shim_of(tagger.model).scaler
    scaler._scale.fill_(2.0**40)
    tagger.update(examples)
    assert scaler.found_inf
    get_loss = tagger.get_loss
    with monkeypatch.context() as patched, pytest.raises(ValueError, match="P307"):
        patched.setattr(tagger, "get_loss", lambda *args: (float("nan"), get_loss(*args)[1]))
        tagger.update(examples)
    assert not scaler.found_inf and not gradients(nlp)


def test_predictions_are_in_full_precision_and_the_setting_is_saved(tmp_path: Path) -> None:
    nlp = mixed_nlp()
    train(nlp, make_examples(nlp), steps=3)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.config["components"][NAME]["model"]["mixed_precision"] == "bf16"
    assert shim_of(tagger_of(loaded).model)._half == torch.bfloat16
    full = make_nlp()
    tagger_of(full).from_bytes(tagger_of(nlp).to_bytes())
    expected = tagger_of(full).model.predict(make_docs(full))
    for other in (nlp, loaded):
        potentials = tagger_of(other).model.predict(make_docs(other))
        assert torch.equal(potentials.emissions, expected.emissions)


def test_a_checkpoint_of_full_precision_goes_on_in_bfloat16() -> None:
    nlp, optimizer = mixed_nlp(setting=None), make_adam()
    nlp.update(make_examples(nlp), sgd=optimizer)
    other = mixed_nlp(seed=1)
    write_state(other, make_adam(), [], *read_state(nlp, optimizer, []))
    assert_same_weights(weights(other), weights(nlp))


def test_a_checkpoint_has_the_scale() -> None:
    nlp, optimizer = mixed_nlp(setting="fp16"), make_adam()
    scaler = shim_of(tagger_of(nlp).model).scaler
    scaler._scale.fill_(2.0**40)
    nlp.update(make_examples(nlp), sgd=optimizer)
    tensors, rest = read_state(nlp, optimizer, [])
    other, others_optimizer = mixed_nlp(setting="fp16", seed=1), make_adam()
    write_state(other, others_optimizer, [], tensors, rest)
    assert float(shim_of(tagger_of(other).model).scaler._scale) == 2.0**39
    for one, sgd in ((nlp, optimizer), (other, others_optimizer)):
        one.update(make_examples(one), sgd=sgd)
    assert_same_weights(weights(other), weights(nlp))


def some_outside(nlp: Language, words: list[list[str]]) -> list[NDArray[np.float32]]:
    """The emissions of sentences, predicted one by one, every other one under autocast."""
    found = []
    for i, of_one in enumerate(words):
        doc = Doc(nlp.vocab, words=of_one)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=i % 2 == 0):
            found.append(tagger_of(nlp).model.predict([doc]).emissions.numpy())
    return found


def test_predictions_do_not_depend_on_mixed_precision_around_them() -> None:
    words = [["Ann", "likes"], ["Bob", "likes"], ["Bob", "saw", "Berlin"], ["Berlin", "green"]]
    nlp, plain = initialized_nlp(), initialized_nlp()
    for found, of_one in zip(some_outside(nlp, words), words, strict=True):
        expected = tagger_of(plain).model.predict([Doc(plain.vocab, words=of_one)]).emissions
        np.testing.assert_array_equal(found, expected.numpy())


def test_roles_do_not_depend_on_mixed_precision_around_them() -> None:
    nlp, plain = srl_data.trained_nlp(), srl_data.trained_nlp()
    for i in (0, 1, 0):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=i == 0):
            found = srl_data.arguments(nlp(srl_data.given_doc(nlp, i)))
        assert found == srl_data.arguments(plain(srl_data.given_doc(plain, i)))
