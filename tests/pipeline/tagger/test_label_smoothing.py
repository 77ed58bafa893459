"""The component's `label_smoothing` setting."""

from __future__ import annotations

import pytest
import torch
from spacy.tokens import Doc
from spacy.training import Example

from spacy_psa.inference import LinearChain
from spacy_psa.inference.losses import smoothed_log_prob

from ..conftest import (
    NAME,
    initialized_nlp,
    make_adam,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
)
from .gradients import assert_gradient_is_that_of_the_loss

SOFTMAX = {"@architectures": "spacy_psa.Softmax.v1"}


def test_a_softmax_learns_from_smoothed_labels_as_pytorch_has_them() -> None:
    nlp = initialized_nlp(model=tiny_model(decoder=SOFTMAX), label_smoothing=0.2)
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    potentials = tagger.model.predict([eg.predicted for eg in examples])
    loss, gradient = tagger.get_loss(examples, potentials)
    gold = [tagger.tags.index(token.tag_) for eg in examples for token in eg.reference]
    emissions = potentials.emissions.detach().requires_grad_()
    n = len(tagger.tags)
    expected = torch.nn.functional.cross_entropy(
        emissions, torch.tensor(gold), label_smoothing=0.2 * n / (n - 1), reduction="sum"
    ) / len(examples)
    expected.backward()
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    torch.testing.assert_close(gradient.emissions, emissions.grad, rtol=1e-4, atol=1e-6)


def test_the_gradient_is_that_of_the_loss(target: str) -> None:
    nlp = initialized_nlp(target, label_smoothing=0.1)
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    # Incomplete annotation: part of one sentence, and all of another.
    examples[1].reference[2].tag_ = ""
    examples.append(Example(*(Doc(nlp.vocab, words=["Ann", "Lee"]) for _ in range(2))))
    assert_gradient_is_that_of_the_loss(tagger, examples)


def test_tokens_that_are_not_annotated_are_summed_over() -> None:
    nlp = initialized_nlp(label_smoothing=0.1)
    tagger, examples = tagger_of(nlp), make_examples(nlp)[1:2]
    examples[0].reference[2].tag_ = ""
    potentials = tagger.model.predict([eg.predicted for eg in examples])
    gold = [tagger.tags.index(token.tag_) if token.tag_ else -1 for token in examples[0].reference]
    assert gold.count(-1) == 1
    expected = -smoothed_log_prob(LinearChain(potentials), torch.tensor(gold), 0.1)
    assert tagger.get_loss(examples, potentials)[0] == pytest.approx(
        float(expected.detach()), rel=1e-6
    )


def test_smoothed_labels_make_a_model_less_certain() -> None:
    certainty = []
    for smoothing in (0.0, 0.3):
        nlp = initialized_nlp(label_smoothing=smoothing)
        tagger, examples, optimizer = tagger_of(nlp), make_examples(nlp), make_adam()
        for _ in range(40):
            nlp.update(examples, sgd=optimizer)
        docs = [eg.predicted for eg in examples]
        marginals = LinearChain(tagger.model.predict(docs)).marginals
        certainty.append(float(marginals.detach().amax(dim=1).mean()))
    assert certainty[0] > 0.98
    assert 0.5 < certainty[1] < 0.9


def test_it_is_off_by_default() -> None:
    assert tagger_of(make_nlp()).cfg["label_smoothing"] == 0.0
    losses = [
        initialized_nlp(**settings).update(make_examples(make_nlp()))[NAME]
        for settings in ({}, {"label_smoothing": 0.0}, {"label_smoothing": 0.2})
    ]
    assert losses[0] == losses[1] != losses[2]


def test_it_does_not_go_with_constraints_in_training() -> None:
    with pytest.raises(ValueError, match=r"P231.*psa_tagger.*0\.1"):
        make_nlp("ents", label_smoothing=0.1, constrain_training=True)


def test_predictions_are_constrained_all_the_same() -> None:
    nlp = initialized_nlp("ents", label_smoothing=0.1)
    tagger, examples = tagger_of(nlp), make_examples(nlp)
    assert tagger.constraints is not None
    for _ in range(3):
        nlp.update(examples, sgd=make_adam())
    for prediction in tagger.predict([eg.predicted for eg in examples]):
        tags = [tagger.tags[i][0] for i in prediction.ids]
        for before, after in zip(["O", *tags], [*tags, "O"], strict=True):
            assert (before in "BI") == (after in "IE")
