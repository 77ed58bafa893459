"""Training that diverges is stopped before it corrupts weights, and the error names the batch."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Optimizer

from spacy_psa.cli.train import train as psa_train
from spacy_psa.inference import Potentials
from spacy_psa.training.optimizers import create_sgd

from ..cli.commands import plain, run
from ..pipeline import srl_data
from ..pipeline.conftest import (
    NAME,
    assert_same_weights,
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    tagger_of,
    tiny_model,
    trained_nlp,
    weights,
)
from ..training.runs import write_config, write_corpora

Spoil = Callable[[torch.nn.Module], None]


def network(nlp: Language) -> torch.nn.Module:
    return tagger_of(nlp).model.get_ref("network").shims[0].network


def spoil_gradient(nlp: Language, value: float) -> None:
    """Make backpropagation meet a non-finite number while the loss is finite."""
    network(nlp).decoder.emission.weight.register_hook(lambda g: torch.full_like(g, value))


def assert_stops(nlp: Language, optimizer: Optimizer, match: str, steps: int = 3) -> None:
    """Update until training stops, and compare the weights with those before the last update."""
    before = weights(nlp)
    with pytest.raises(ValueError, match=match):
        for _ in range(steps):
            before = weights(nlp)
            nlp.update(make_examples(nlp), sgd=optimizer)
    assert_same_weights(weights(nlp), before)
    assert all(np.isfinite(value).all() for value in before.values())


@pytest.mark.parametrize("make", [create_sgd, make_adam])
@pytest.mark.parametrize("max_grad_norm", [5.0, None])
def test_an_absurd_learning_rate_stops_training(
    make: Callable[[float], Optimizer], max_grad_norm: float | None
) -> None:
    nlp = initialized_nlp(max_grad_norm=max_grad_norm)
    match = r"P307.*loss is .*e\+.* in update 2 .*3 documents \('Ann Lee likes.*', 'Bob saw"
    assert_stops(nlp, make(1e9), match)


def test_a_loss_that_is_nan_stops_training() -> None:
    # Of spaCy's own optimizer, since ours refuse such a rate
    assert_stops(initialized_nlp("spans"), make_adam(1e38), r"P307.*loss is nan in update 2")


@pytest.mark.parametrize("backend", ["scaled", "logspace"])
def test_a_nan_in_the_scores_is_found_by_all_backends(backend: str) -> None:
    nlp = initialized_nlp(inference_backend=backend)
    network(nlp).decoder.emission.bias.data[0] = float("nan")
    before = weights(nlp)
    with pytest.raises(ValueError, match=r"P307.*update 1 "):
        nlp.update(make_examples(nlp), sgd=make_adam())
    assert_same_weights(weights(nlp), before)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("max_grad_norm", [5.0, None])
def test_a_gradient_that_is_not_finite_stops_training(
    value: float, max_grad_norm: float | None
) -> None:
    nlp = initialized_nlp(max_grad_norm=max_grad_norm)
    spoil_gradient(nlp, value)
    assert_stops(nlp, make_adam(), r"P307.*gradient of the weights is not finite in update 1")


def test_accumulated_gradients_are_checked_before_any_component_is_updated() -> None:
    nlp = initialized_nlp()
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    tagger.update(examples[:1])
    spoil_gradient(nlp, float("nan"))
    # `spacy train` passes no optimizer here, and updates all components at the end of the batch.
    with pytest.raises(ValueError, match=r"P307.*update 1 .*2 documents \('Bob saw"):
        tagger.update(examples[1:])


def test_weights_that_an_update_makes_infinite_are_found_at_once() -> None:
    nlp = initialized_nlp()

    def overflow(key: Any, weight: Any, gradient: Any, **_: Any) -> tuple[Any, Any]:
        weight += np.inf
        return weight, gradient * 0

    tagger_of(nlp).update(make_examples(nlp))
    with pytest.raises(ValueError, match=r"P430.*after update 1 .*3 documents \('Ann Lee"):
        tagger_of(nlp).finish_update(overflow)


def test_updates_are_counted_and_empty_documents_are_not_named() -> None:
    nlp = initialized_nlp()
    for _ in range(3):
        nlp.update(make_examples(nlp), sgd=make_adam())
    network(nlp).decoder.emission.bias.data[:] = float("nan")
    empty = Doc(nlp.vocab)
    batch = [Example(empty, empty.copy()), *make_examples(nlp)[2:]]
    with pytest.raises(ValueError, match=r"update 4 .*1 document \('They eat blue ham"):
        nlp.update(batch, sgd=make_adam())


def test_long_batches_and_documents_are_named_by_their_beginnings() -> None:
    nlp = initialized_nlp()
    network(nlp).decoder.emission.bias.data[:] = float("nan")
    long = Doc(nlp.vocab, words=["Ann"] * 300, tags=["NNP"] * 300)
    batch = [Example(Doc(nlp.vocab, words=["Ann"] * 300), long) for _ in range(9)]
    with pytest.raises(ValueError, match=r"9 documents \('Ann") as error:
        nlp.update(batch)
    assert "…" in str(error.value)
    assert len(str(error.value)) < 600


def test_a_large_loss_that_can_be_learnt_from_is_none() -> None:
    nlp = initialized_nlp()
    network(nlp).decoder.emission.weight.data *= 1e4
    nlp.update(make_examples(nlp), sgd=make_adam())


def test_the_largest_loss_grows_with_the_longest_document() -> None:
    nlp = initialized_nlp()
    tagger = tagger_of(nlp)

    def check(*lengths: int) -> None:
        gradient = Potentials(torch.zeros(sum(lengths), 2), lengths)
        tagger.learner.monitor.check_loss(NAME, tagger.model, 5 * 2.0**24, gradient, make_docs(nlp))

    check(2, 5)
    with pytest.raises(ValueError, match=r"P307.*loss is 8\.39e\+07 in update 1 "):
        check(4, 3, 4)


def test_an_overflow_of_mixed_precision_is_left_to_thinc() -> None:
    nlp = initialized_nlp()
    shim = tagger_of(nlp).model.get_ref("network").shims[0]
    shim._mixed_precision = True
    shim.scaler._found_inf = True
    spoil_gradient(nlp, float("inf"))
    tagger_of(nlp).update(make_examples(nlp))


def test_rehearsal_that_diverges_is_stopped() -> None:
    nlp = trained_nlp()
    nlp.resume_training()
    network(nlp).decoder.emission.bias.data[:] = float("nan")
    raw = [Example(doc, doc.copy()) for doc in make_docs(nlp)]
    before = weights(nlp)
    for rehearse in (nlp.rehearse, tagger_of(nlp).rehearse):
        with pytest.raises(ValueError, match=r"P307.*Ann Lee"):
            rehearse(raw, sgd=make_adam())
    assert_same_weights(weights(nlp), before)


def test_psa_srl_is_stopped() -> None:
    nlp = srl_data.initialized_nlp()
    with pytest.raises(ValueError, match=r"P307.*'psa_srl'.*update 2 .*4 documents \('Mary"):
        for _ in range(3):
            nlp.update(srl_data.make_examples(nlp), sgd=create_sgd(1e9))


def test_a_tok2vec_that_is_shared_keeps_its_weights() -> None:
    width = 8
    nlp = spacy.blank("xx")
    settings = {"width": width, "depth": 1, "embed_size": 50, "window_size": 1}
    hashed = {"@architectures": "spacy.HashEmbedCNN.v2", "maxout_pieces": 2, **settings}
    hashed |= {"subword_features": True, "pretrained_vectors": None}
    nlp.add_pipe("tok2vec", config={"model": hashed})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": width, "upstream": "*"}
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec=listener)})
    optimizer = nlp.initialize(lambda: make_examples(nlp))
    spoil_gradient(nlp, float("nan"))
    before = nlp.get_pipe("tok2vec").model.to_bytes()
    with pytest.raises(ValueError, match="P307"):
        nlp.update(make_examples(nlp), sgd=False)
    # What the loop of `spacy train` would use next, had it not been stopped.
    assert np.isfinite(optimizer.learn_rate)
    assert nlp.get_pipe("tok2vec").model.to_bytes() == before


# Saving and predicting


def test_what_was_saved_is_not_written_over_after_a_divergence(tmp_path: Path) -> None:
    nlp = initialized_nlp()
    nlp.to_disk(tmp_path)
    saved = (tmp_path / NAME / "model").read_bytes()
    assert_stops(nlp, create_sgd(1e9), "P307")
    with pytest.raises(ValueError, match=r"P431.*P307.*Ann Lee"):
        nlp.to_disk(tmp_path)
    assert (tmp_path / NAME / "model").read_bytes() == saved
    spacy.load(tmp_path)


def test_settings_that_were_saved_are_no_model_to_keep(tmp_path: Path) -> None:
    nlp = initialized_nlp()
    tagger_of(nlp).to_disk(tmp_path, exclude=["model"])
    assert_stops(nlp, create_sgd(1e9), "P307")
    tagger_of(nlp).to_disk(tmp_path)
    loaded = initialized_nlp(seed=3)
    tagger_of(loaded).from_disk(tmp_path)
    assert_same_weights(weights(loaded), weights(nlp))


def test_a_model_is_kept_if_settings_alone_were_saved_later(tmp_path: Path) -> None:
    nlp = initialized_nlp()
    for exclude in ([], ["model"]):
        tagger_of(nlp).to_disk(tmp_path, exclude=exclude)
    assert_stops(nlp, create_sgd(1e9), "P307")
    with pytest.raises(ValueError, match=r"P431.*P307"):
        tagger_of(nlp).to_disk(tmp_path)


def test_a_divergence_is_over_when_a_batch_is_learnt_from(tmp_path: Path) -> None:
    nlp = initialized_nlp()
    nlp.to_disk(tmp_path)
    handle = network(nlp).decoder.emission.weight.register_hook(lambda g: g * float("nan"))
    with pytest.raises(ValueError, match="P307"):
        nlp.update(make_examples(nlp), sgd=make_adam())
    handle.remove()
    nlp.update(make_examples(nlp), sgd=make_adam())
    nlp.to_disk(tmp_path)


@pytest.mark.parametrize("save", ["to_disk", "to_bytes"])
def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path, save: str) -> None:
    nlp = initialized_nlp()
    network(nlp).decoder.emission.bias.data[0] = float("inf")
    arguments = [tmp_path] if save == "to_disk" else []
    with pytest.raises(ValueError, match=rf"P431.*'{NAME}'.*not finite"):
        getattr(nlp, save)(*arguments)
    assert not (tmp_path / NAME / "model").exists()


def test_weights_that_are_nan_predict_nothing() -> None:
    nlp = initialized_nlp()
    network(nlp).decoder.emission.bias.data[:] = float("nan")
    with pytest.raises(ValueError, match=rf"P435.*'{NAME}'.*1 document \('Ann saw"):
        nlp("Ann saw Berlin .")


def test_infinite_scores_are_not_taken_for_nan() -> None:
    nlp = initialized_nlp()
    network(nlp).decoder.emission.bias.data[:2] = torch.tensor([-float("inf"), float("inf")])
    (prediction,) = nlp.get_pipe(NAME).predict([nlp.make_doc("Ann saw Berlin .")])
    assert prediction.ids[0] == 1


# Commands


def diverging_config(folder: Path) -> Path:
    """A config whose loss is fine at first: the learning rate of the eighth step is absurd."""
    write_corpora(folder)
    rates = {"@schedules": "spacy_psa.test_cliff.v1"}
    optimizer = {"@optimizers": "spacy_psa.SGD.v1", "learn_rate": rates}
    settings = {"max_epochs": 4, "eval_frequency": 3}
    return write_config(folder, training=settings, training__optimizer=optimizer)


@spacy.registry.schedules("spacy_psa.test_cliff.v1")
def cliff() -> Any:
    for step in range(1000):
        yield 0.1 if step < 7 else 1e9


@pytest.mark.parametrize("command", [("train",), ("psa", "train")])
def test_the_last_good_models_stay(tmp_path: Path, command: tuple[str, ...]) -> None:
    output = tmp_path / "out"
    result = run(*command, diverging_config(tmp_path), "--output", output)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    text = " ".join(re.sub("[─│╭╮╰╯]", " ", plain(result.output)).split())
    assert re.search(r"\[P431\].*\[P307\].*in update 9 of this process.*documents? \(", text)
    for name in ("model-best", "model-last"):
        found = spacy.load(output / name)
        pipe = found.get_pipe("labels")
        arrays = [p for n in pipe.model.walk() for s in n.shims for p in s.network.parameters()]
        # Those of the previous evaluation, not those after a rate of 1e9
        assert arrays and all(bool((p.abs() < 10).all()) for p in arrays)


def test_a_training_that_diverges_at_once_leaves_weights_that_load(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    optimizer = {"@optimizers": "spacy_psa.SGD.v1", "learn_rate": 1e9}
    config = write_config(tmp_path, training__optimizer=optimizer)
    with pytest.raises(ValueError, match=r"P307|P431"):
        psa_train(config, tmp_path / "out")
    for path in (tmp_path / "out").glob("model-*"):
        spacy.load(path)
