"""Learning: losses and gradients, accumulation, optimizers, frozen components."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import SGD, Optimizer

from spacy_psa.models.updating import (
    global_norm,
    gradients_of,
    gradients_of_arrays,
    gradients_of_networks,
)
from spacy_psa.pipeline import monitors
from spacy_psa.training.optimizers import create_sgd

from ..conftest import (
    HASH,
    NAME,
    assert_same_weights,
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    train,
    trained_nlp,
    weights,
)
from .gradients import assert_gradient_is_that_of_the_loss, gradients


def plain_sgd(learn_rate: float) -> Optimizer:
    return SGD(learn_rate, L2=0.0, grad_clip=0.0, use_averages=False)


# Losses and gradients


@pytest.mark.parametrize("constrain", [True, False])
def test_the_gradient_is_that_of_the_loss(target: str, constrain: bool) -> None:
    nlp = initialized_nlp(target, constrain_training=constrain)
    tagger = tagger_of(nlp)
    examples = make_examples(nlp)
    # Incomplete annotation as well.
    examples.append(Example(make_docs(nlp)[0], make_docs(nlp)[0]))
    assert_gradient_is_that_of_the_loss(tagger, examples)


def test_the_loss_is_a_mean_over_sentences() -> None:
    nlp = initialized_nlp()
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    losses = [tagger.update([eg])[NAME] for eg in examples]
    assert tagger.update(examples)[NAME] == pytest.approx(np.mean(losses), rel=1e-5)


def test_losses_add_up() -> None:
    nlp = initialized_nlp()
    losses = {NAME: 1.0, "other": 2.0}
    found = tagger_of(nlp).update(make_examples(nlp), losses=losses)
    assert found is losses
    assert losses[NAME] > 1.0
    assert losses["other"] == 2.0


def test_something_other_than_examples_is_an_error() -> None:
    nlp = initialized_nlp()
    with pytest.raises(TypeError, match="E978"):
        tagger_of(nlp).update([nlp.make_doc("a")])


def test_all_parameters_learn(target: str) -> None:
    nlp = initialized_nlp(target)
    before = weights(nlp)
    train(nlp, make_examples(nlp), steps=2)
    after = weights(nlp)
    same = [name for name in before if np.array_equal(before[name], after[name])]
    # b of equation 11 is added to all scores of a token alike, which does not change their softmax:
    # its gradient is a rounding error, and may be zero
    assert [name for name in same if not name.endswith("token_position.bias")] == []


def test_the_model_is_in_evaluation_mode_after_an_update_and_after_a_prediction() -> None:
    nlp = initialized_nlp()
    networks = [s.network for node in tagger_of(nlp).model.walk() for s in node.shims]
    assert len(networks) == 2
    for step in (lambda: nlp.update(make_examples(nlp)), lambda: nlp("Ann saw Berlin .")):
        step()
        assert not any(module.training for n in networks for module in n.modules())


def test_dropout_is_on_in_updates_and_off_in_predictions() -> None:
    model = tiny_model(encoder__recurrent__input_dropout=0.5)
    nlp = initialized_nlp(model=model)
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    losses = {tagger.update(examples)[NAME] for _ in range(3)}
    assert len(losses) == 3
    docs = make_docs(nlp)
    first, second = (tagger.model.predict(docs).emissions for _ in range(2))
    assert torch.equal(first, second)


def test_spacys_drop_setting_does_not_reach_our_layers() -> None:
    nlp = initialized_nlp()
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    assert tagger.update(examples, drop=0.9)[NAME] == tagger.update(examples, drop=0.0)[NAME]


# Optimizers


def test_without_an_optimizer_gradients_add_up() -> None:
    nlp = initialized_nlp(max_grad_norm=None)
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    before = weights(nlp)
    tagger.update(examples)
    once = gradients(nlp)
    tagger.update(examples)
    assert_same_weights(weights(nlp), before)
    for name, gradient in gradients(nlp).items():
        np.testing.assert_allclose(gradient, 2 * once[name], rtol=1e-4, atol=1e-6)


def test_accumulated_gradients_equal_one_large_batch() -> None:
    found = []
    for batches in ([[0], [1], [2]], [[0, 1, 2]]):
        nlp = initialized_nlp(max_grad_norm=None)
        examples = make_examples(nlp)
        for batch in batches:
            tagger_of(nlp).update([examples[i] for i in batch])
        # The loss is a mean over the batch.
        tagger_of(nlp).finish_update(plain_sgd(0.1 * len(batches[0])))
        found.append(weights(nlp))
    for name in found[0]:
        np.testing.assert_allclose(found[0][name], found[1][name], atol=1e-5)


def test_an_update_takes_the_gradients_away() -> None:
    nlp = initialized_nlp()
    nlp.update(make_examples(nlp), sgd=make_adam())
    before = weights(nlp)
    tagger_of(nlp).finish_update(plain_sgd(1.0))
    assert_same_weights(weights(nlp), before)


@pytest.mark.parametrize(("max_norm", "expected"), [(0.01, 0.01), (None, None), (1e6, None)])
def test_the_global_norm_is_clipped(max_norm: float | None, expected: float | None) -> None:
    nlp = initialized_nlp(max_grad_norm=max_norm)
    tagger = tagger_of(nlp)
    before = weights(nlp)
    tagger.update(make_examples(nlp))
    norm = global_norm(gradients_of(tagger.model))
    tagger.finish_update(plain_sgd(1.0))
    after = weights(nlp)
    step = np.sqrt(sum(((before[name] - after[name]) ** 2).sum() for name in before))
    assert norm > 0.01
    assert step == pytest.approx(expected or norm, rel=1e-3)


def _learn_again(nlp: Language) -> None:
    tagger_of(nlp).update(make_examples(nlp))


def _multiply(nlp: Language) -> None:
    for gradient in gradients_of_networks(tagger_of(nlp).model):
        gradient.mul_(3.0)


def _replace(nlp: Language) -> None:
    for shim in (shim for node in tagger_of(nlp).model.walk() for shim in node.shims):
        for parameter in shim._model.parameters():
            if parameter.grad is not None:
                parameter.grad = 3.0 * parameter.grad


@pytest.mark.parametrize("change", [_learn_again, _multiply, _replace])
def test_gradients_that_changed_since_they_were_checked_are_clipped_by_what_they_are(
    change: Callable[[Language], None],
) -> None:
    nlp = initialized_nlp(max_grad_norm=0.01)
    tagger = tagger_of(nlp)
    before = weights(nlp)
    tagger.update(make_examples(nlp))
    change(nlp)
    tagger.finish_update(plain_sgd(1.0))
    after = weights(nlp)
    step = np.sqrt(sum(((before[name] - after[name]) ** 2).sum() for name in before))
    assert step == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("max_norm", [0.01, None])
def test_gradients_are_read_once_for_their_check_and_their_norm(
    max_norm: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    norms = []
    monkeypatch.setattr(
        monitors,
        "global_norm",
        lambda gradients: norms.append(1) or global_norm(gradients),
    )
    nlp = initialized_nlp(max_grad_norm=max_norm)
    tagger = tagger_of(nlp)
    tagger.update(make_examples(nlp))
    tagger.finish_update(plain_sgd(1.0))
    assert len(norms) == 1
    # No reference keeps the gradients alive
    assert tagger.learner.monitor._norm is None


def test_gradients_of_thincs_layers_are_clipped_by_what_they_are() -> None:
    nlp = initialized_nlp(max_grad_norm=0.01, model=tiny_model(tok2vec=HASH))
    tagger = tagger_of(nlp)
    tagger.update(make_examples(nlp))
    arrays = list(gradients_of_arrays(tagger.model))
    assert arrays
    for array in arrays:
        array.numpy()[...] *= 100.0
    norm = global_norm(gradients_of(tagger.model))
    assert tagger.learner.monitor.gradient_scale(tagger.model, 0.01) == pytest.approx(
        0.01 / norm, rel=1e-6
    )


def test_learns_with_the_papers_optimizer(target: str) -> None:
    nlp = initialized_nlp(target)
    optimizer = create_sgd(0.1)
    examples = make_examples(nlp)
    first = nlp.update(examples, sgd=optimizer)[NAME]
    for _ in range(15):
        last = nlp.update(examples, sgd=optimizer)[NAME]
    assert last < first / 2


# Frozen components


def test_an_excluded_component_does_not_change() -> None:
    nlp = trained_nlp()
    before = weights(nlp)
    losses = nlp.update(make_examples(nlp), sgd=make_adam(), exclude=[NAME])
    assert_same_weights(weights(nlp), before)
    assert losses == {}


def test_a_disabled_component_neither_predicts_nor_learns() -> None:
    nlp = trained_nlp()
    before = weights(nlp)
    with nlp.select_pipes(disable=[NAME]):
        doc = nlp("Ann saw Berlin .")
        nlp.update(make_examples(nlp), sgd=make_adam())
    assert [token.tag_ for token in doc] == [""] * 4
    assert_same_weights(weights(nlp), before)
    assert nlp("Ann saw Berlin .")[0].tag_ == "NNP"


def test_a_frozen_component_without_a_model_is_no_obstacle() -> None:
    nlp = make_nlp()
    nlp.add_pipe("sentencizer", first=True)
    with nlp.select_pipes(disable=["sentencizer"]):
        nlp.initialize(lambda: make_examples(nlp))
    assert [doc.has_annotation("TAG") for doc in nlp.pipe(["Ann saw Berlin ."])] == [True]


def test_a_frozen_component_can_annotate_for_others() -> None:
    nlp = trained_nlp()
    nlp.add_pipe("psa_tagger", "second", config={"target": "ents", "model": tiny_model()})
    nlp.get_pipe("second").initialize(lambda: make_examples(nlp))
    before = weights(nlp)
    examples = make_examples(nlp)
    losses = nlp.update(examples, sgd=make_adam(), exclude=[NAME], annotates=[NAME])
    assert losses["second"] > 0.0
    assert_same_weights(weights(nlp), before)


def test_predictions_are_those_of_the_weights_of_now() -> None:
    """Layers do not use values cached from earlier weights."""
    nlp, examples = initialized_nlp(), make_examples(make_nlp())
    docs, seen = [example.reference for example in examples], []

    def check() -> None:
        loaded = make_nlp()
        tagger_of(loaded).from_bytes(tagger_of(nlp).to_bytes())
        now, expected = (
            tagger_of(p).distribution(docs).potentials.emissions for p in (nlp, loaded)
        )
        torch.testing.assert_close(now, expected)
        assert not any(torch.allclose(now, before, atol=1e-4) for before in seen)
        seen.append(now)

    check()
    optimizer = make_adam(0.1)
    for _ in range(3):
        nlp.update(examples, sgd=optimizer)
        check()
    averages = {
        (shim.id, name): 0.5 * value.detach().numpy()
        for node in tagger_of(nlp).model.walk()
        for shim in node.shims
        for name, value in shim._model.named_parameters()
    }
    with nlp.use_params(averages):
        check()
    torch.testing.assert_close(tagger_of(nlp).distribution(docs).potentials.emissions, seen[-2])
