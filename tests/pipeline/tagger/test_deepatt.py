"""DeepAtt from a config: learning, saving, loading, and values out of range."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config, registry
from thinc.api import Config

from spacy_psa.layers import DeepAtt, SequenceMask
from spacy_psa.training.optimizers import create_adadelta

from ..conftest import (
    NAME,
    assert_same_weights,
    make_adam,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    weights,
)

SUBLAYERS: dict[str, dict[str, Any] | None] = {
    "feed-forward": {
        "@architectures": "spacy_psa.FeedForwardSublayer.v1",
        "hidden_width": 32,
        "dropout": 0.0,
    },
    "recurrent": {"@architectures": "spacy_psa.RecurrentSublayer.v1"},
    "convolution": {"@architectures": "spacy_psa.ConvolutionSublayer.v1", "kernel_size": 3},
    "attention alone": None,
}
POSITIONS: dict[str, dict[str, Any] | None] = {
    "timing": {"@architectures": "spacy_psa.SinusoidalPositions.v1"},
    "embedding": {"@architectures": "spacy_psa.PositionEmbedding.v1", "max_length": 32},
    "none": None,
}


def deepatt(sublayer: str = "feed-forward", positions: str = "timing", **settings: Any) -> dict:
    """The config section of a tiny DeepAtt encoder."""
    return {
        "@architectures": "spacy_psa.DeepAtt.v1",
        "sublayer": SUBLAYERS[sublayer],
        "positions": POSITIONS[positions],
        "width": 16,
        "depth": 2,
        "n_heads": 4,
        "residual_dropout": 0.0,
        "attention_dropout": 0.0,
        **settings,
    }


def model(**settings: Any) -> dict[str, Any]:
    softmax = {"@architectures": "spacy_psa.Softmax.v1"}
    return tiny_model(encoder=deepatt(**settings), decoder=softmax)


def sentences(nlp: Language) -> list[Example]:
    """20 sentences of 2 to 7 words. A word's tag depends on the previous word, so that predicting
    it takes the neighbors and their order.
    """
    rng = np.random.default_rng(0)
    examples = []
    for _ in range(20):
        words = rng.choice(list("abcdefgh"), size=rng.integers(2, 8)).tolist()
        tags = [
            f"{'<' if before < word else '>'}{word}"
            for before, word in zip(["", *words], words, strict=False)
        ]
        examples.append(Example.from_dict(Doc(nlp.vocab, words=words), {"tags": tags}))
    return examples


def accuracy(nlp: Language, examples: list[Example]) -> float:
    docs = [nlp(Doc(nlp.vocab, words=[token.text for token in eg.reference])) for eg in examples]
    pairs = [
        (found.tag_, gold.tag_)
        for doc, eg in zip(docs, examples, strict=True)
        for found, gold in zip(doc, eg.reference, strict=True)
    ]
    return float(np.mean([found == gold for found, gold in pairs]))


@pytest.mark.parametrize("sublayer", ["feed-forward", "recurrent", "convolution"])
def test_learns_sentences_by_heart(sublayer: str) -> None:
    nlp = make_nlp("tag", model=model(sublayer=sublayer))
    examples = sentences(nlp)
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    optimizer = make_adam(0.01)
    for _ in range(80):
        nlp.update(examples, sgd=optimizer)
    assert accuracy(nlp, examples) == 1.0


def test_learns_with_the_papers_training() -> None:
    nlp = make_nlp("tag", model=model(), label_smoothing=0.1, max_grad_norm=1.0)
    examples = sentences(nlp)
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    optimizer = create_adadelta()
    before = nlp.update(examples, sgd=optimizer)[NAME]
    for _ in range(200):
        after = nlp.update(examples, sgd=optimizer)[NAME]
    assert after < before / 1.5
    assert accuracy(nlp, examples) > 0.8


@pytest.mark.parametrize(
    ("sublayer", "positions"),
    [
        ("feed-forward", "timing"),
        ("recurrent", "embedding"),
        ("convolution", "none"),
        ("attention alone", "timing"),
    ],
)
def test_is_built_from_the_config_learns_and_is_saved(sublayer: str, positions: str) -> None:
    nlp = make_nlp("ents", model=tiny_model(encoder=deepatt(sublayer, positions)))
    text = nlp.config.to_str()
    nlp = load_model_from_config(Config().from_str(text, interpolate=False))
    assert Config().from_str(nlp.config.to_str()) == Config().from_str(text)
    nlp.initialize(lambda: make_examples(nlp))
    before = weights(nlp)
    examples, optimizer = make_examples(nlp), make_adam()
    losses = [nlp.update(examples, sgd=optimizer)[NAME] for _ in range(5)]
    assert losses[-1] < losses[0]
    after = weights(nlp)
    assert [name for name in before if np.array_equal(before[name], after[name])] == []
    loaded = load_model_from_config(Config().from_str(nlp.config.to_str()))
    loaded.from_bytes(nlp.to_bytes())
    assert_same_weights(weights(loaded), weights(nlp))
    docs, others = make_docs(nlp), make_docs(loaded)
    found, expected = (
        tagger_of(pipeline).model.predict(own).emissions
        for pipeline, own in ((loaded, others), (nlp, docs))
    )
    assert torch.equal(found, expected)


@pytest.mark.parametrize("sublayer", SUBLAYERS)
def test_predictions_do_not_depend_on_the_batch(sublayer: str) -> None:
    nlp = make_nlp("tag", model=model(sublayer=sublayer))
    nlp.initialize(lambda: make_examples(nlp))
    predict = tagger_of(nlp).model.predict
    together = predict(make_docs(nlp)).emissions
    alone = torch.cat([predict([doc]).emissions for doc in make_docs(nlp)])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


def resolve(section: dict[str, Any]) -> Any:
    return registry.resolve({"part": section})["part"]


def test_settings_reach_the_network() -> None:
    settings = {
        "residual_dropout": 0.3,
        "attention_dropout": 0.4,
        "input_dropout": 0.5,
        "scale_input": True,
    }
    network = resolve(deepatt(**settings))(8, 3)
    assert isinstance(network, DeepAtt)
    assert network.width == 16
    assert network.input_scale == 4.0
    assert network.input_dropout.p == 0.5
    assert {block.dropout.p for block in network.sublayers} == {0.3}
    assert [block.sublayer.attention_dropout for block in network.sublayers[1::2]] == [0.4] * 2
    assert network.sublayers[0].sublayer.hidden.out_features == 32


def test_builders_can_be_pickled() -> None:
    for sublayer in SUBLAYERS:
        builder = pickle.loads(pickle.dumps(resolve(deepatt(sublayer))))
        network = builder(8, 3)
        output = network(torch.ones(1, 2, 8), SequenceMask(torch.tensor([2]), 2))
        assert output.shape == (1, 2, 16)


@pytest.mark.parametrize(
    ("section", "name"),
    [
        (deepatt(n_heads=0), "n_heads"),
        (deepatt(n_heads=5), "width"),
        (deepatt(width=0), "width"),
        (deepatt(depth=0), "depth"),
        (deepatt(residual_dropout=1.0), "residual_dropout"),
        (deepatt(attention_dropout=-0.1), "attention_dropout"),
        (deepatt(input_dropout=1.5), "input_dropout"),
        ({**SUBLAYERS["feed-forward"], "hidden_width": 0}, "hidden_width"),
        ({**SUBLAYERS["feed-forward"], "dropout": 1.0}, "dropout"),
        ({**SUBLAYERS["convolution"], "kernel_size": 2}, "kernel_size"),
        ({**SUBLAYERS["convolution"], "kernel_size": -1}, "kernel_size"),
    ],
)
def test_values_out_of_range_are_errors(section: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=rf"P210.*'{name}'"):
        resolve(section)
