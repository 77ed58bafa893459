"""The encoders and character layers of the papers, from a config to memorized labels."""

from __future__ import annotations

import random
from typing import Any

import pytest
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_psa.training.optimizers import create_adadelta

from ...models.test_deepatt import deepatt
from ..conftest import (
    NAME,
    make_adam,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    train,
)
from .test_config import CNN, FUSION, MIXTURE, SOFTMAX, TRANSFORMER

FIRST_VERSION: dict[str, Any] = {**FUSION, "bias": MIXTURE}
LEARNERS = {
    "first version of PSA": tiny_model(
        encoder__first_fusion=FIRST_VERSION, encoder__second_fusion=FIRST_VERSION
    ),
    "Transformer": tiny_model(encoder=TRANSFORMER),
    "Transformer with bias": tiny_model(
        encoder={**TRANSFORMER, "positions": None, "bias": FUSION["bias"]}
    ),
    "character CNN": tiny_model(tok2vec__characters=CNN),
    **{
        f"DeepAtt, {sublayer}": tiny_model(encoder=deepatt(sublayer), decoder=SOFTMAX)
        for sublayer in ("feed-forward", "recurrent", "convolution")
    },
}


def sentences() -> list[tuple[list[str], list[str]]]:
    """Twenty short sentences of single letters, whose tags depend on the previous word."""
    numbers = random.Random(0)
    found = []
    for _ in range(20):
        words = numbers.choices("abcde", k=numbers.randint(1, 6))
        tags = [f"{before}{word}" for before, word in zip(["-", *words], words, strict=False)]
        found.append((words, tags))
    return found


def examples_of(nlp: Language) -> list[Example]:
    return [
        Example.from_dict(Doc(nlp.vocab, words=words), {"tags": tags})
        for words, tags in sentences()
    ]


@pytest.mark.parametrize("name", LEARNERS)
def test_twenty_sentences_are_learnt_by_heart(name: str) -> None:
    nlp = make_nlp(model=LEARNERS[name])
    examples = examples_of(nlp)
    fix_random_seed(0)
    nlp.initialize(lambda: examples)

    def knows() -> bool:
        docs = nlp.pipe(Doc(nlp.vocab, words=words) for words, _ in sentences())
        return [[t.tag_ for t in doc] for doc in docs] == [tags for _, tags in sentences()]

    train(nlp, examples, steps=80, sgd=make_adam(0.01), until=knows)
    assert knows()


def test_deepatt_learns_with_the_papers_training() -> None:
    model = LEARNERS["DeepAtt, feed-forward"]
    nlp = make_nlp("tag", model=model, label_smoothing=0.1, max_grad_norm=1.0)
    examples = examples_of(nlp)
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    optimizer = create_adadelta()
    before = nlp.update(examples, sgd=optimizer)[NAME]

    def knows() -> bool:
        return nlp.evaluate(examples)["tag_acc"] > 0.8

    assert train(nlp, examples, steps=200, sgd=optimizer, until=knows) < before / 1.5
    assert knows()


def test_the_model_of_the_first_version_has_its_parts() -> None:
    nlp = make_nlp(model=LEARNERS["first version of PSA"])
    nlp.initialize(lambda: make_examples(nlp))
    network = tagger_of(nlp).model.get_ref("network").shims[0].network
    for fusion in (network.encoder.encoders[0], network.encoder.encoders[2]):
        assert fusion.attention.bias.alphas.shape == (3,)
        assert fusion.attention.bias.biases[0].relative.shape[0] == 7
