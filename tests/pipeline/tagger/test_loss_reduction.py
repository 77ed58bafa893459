"""The component's `loss_reduction` setting: the mean over the sentences of a batch, or the sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from spacy_psa.inference import LinearChain

from ..conftest import (
    initialized_nlp,
    make_examples,
    tagger_of,
    tiny_model,
    trained_nlp,
)
from .gradients import gradients

CRF = tiny_model()["decoder"]
DECODERS = [CRF, {"@architectures": "spacy_psa.Softmax.v1"}]


@pytest.mark.parametrize("decoder", DECODERS, ids=["crf", "softmax"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_sum_is_the_mean_times_the_number_of_sentences(
    decoder: dict[str, Any], smoothing: float
) -> None:
    settings = {"model": tiny_model(decoder=decoder), "label_smoothing": smoothing}
    tagger = tagger_of(nlp := initialized_nlp(**settings))
    examples = make_examples(nlp)
    potentials = tagger.model.predict([eg.predicted for eg in examples])
    loss, gradient = tagger.get_loss(examples, potentials)
    tagger.cfg["loss_reduction"] = "sum"
    total, of_total = tagger.get_loss(examples, potentials)
    if not smoothing:
        gold = torch.tensor([tagger.tags.index(t.tag_) for eg in examples for t in eg.reference])
        expected = -LinearChain(potentials).log_prob(gold)
        assert len(expected) == len(examples) == 3
        assert total == pytest.approx(float(expected.sum().detach()), rel=1e-5)
    assert total == pytest.approx(3 * loss, rel=1e-5)
    for name, tensor in gradient.tensors().items():
        torch.testing.assert_close(of_total.tensors()[name], 3 * tensor, rtol=1e-4, atol=1e-6)


def _update(nlp: Any) -> None:
    nlp.update(make_examples(nlp), sgd=False)


def _distill(nlp: Any) -> None:
    teacher = tagger_of(trained_nlp())
    tagger_of(nlp).distill(teacher, make_examples(nlp), sgd=None)


@pytest.mark.parametrize("step", [_update, _distill])
def test_the_model_gets_the_gradient_of_the_sum(step: Callable[[Any], None]) -> None:
    found = []
    for reduction in ("mean", "sum"):
        nlp = initialized_nlp(loss_reduction=reduction)
        step(nlp)
        found.append(gradients(nlp))
    mean, total = found
    assert mean
    for name, array in mean.items():
        assert total[name] == pytest.approx(3 * array, rel=1e-3, abs=1e-5), name
