"""A model small enough to memorize its data in a second, and data for each target."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Adam, Optimizer

from spacy_psa.pipeline.tagger import PSATagger

# For networks this small, threads cost more than they gain.
torch.set_num_threads(1)

NAME = "psa_tagger"
TARGETS = ("tag", "pos", "morph", "ents", "spans")
WORDS = (
    ["Ann", "Lee", "likes", "green", "Berlin", "."],
    ["Bob", "saw", "New", "York", "City", "and", "Ann", "."],
    ["They", "eat", "blue", "ham", "."],
)
# A small embedding of spaCy's
HASH = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "width": 8,
    "depth": 1,
    "embed_size": 50,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
    "pretrained_vectors": None,
}
LAYERS: dict[str, tuple[Any, ...]] = {
    "tags": (
        ["NNP", "NNP", "VBZ", "JJ", "NNP", "."],
        ["NNP", "VBD", "NNP", "NNP", "NNP", "CC", "NNP", "."],
        ["PRP", "VBP", "JJ", "NN", "."],
    ),
    "pos": (
        ["PROPN", "PROPN", "VERB", "ADJ", "PROPN", "PUNCT"],
        ["PROPN", "VERB", "PROPN", "PROPN", "PROPN", "CCONJ", "PROPN", "PUNCT"],
        ["PRON", "VERB", "ADJ", "NOUN", "PUNCT"],
    ),
    "morphs": (
        ["Number=Sing", "Number=Sing", "Number=Sing|Tense=Pres", "Degree=Pos", "Number=Sing", "_"],
        ["Number=Sing", "Tense=Past", *["Number=Sing"] * 3, "_", "Number=Sing", "_"],
        ["Number=Plur", "Number=Plur|Tense=Pres", "Degree=Pos", "Number=Sing", "_"],
    ),
    "entities": (
        ["B-PER", "L-PER", "O", "O", "U-LOC", "O"],
        ["U-PER", "O", "B-LOC", "I-LOC", "L-LOC", "O", "U-PER", "O"],
        ["O"] * 5,
    ),
}
SPANS: tuple[list[tuple[int, int, str]], ...] = (
    [(0, 2, "NP"), (2, 3, "VP"), (3, 5, "NP")],
    [(0, 1, "NP"), (1, 2, "VP"), (2, 7, "NP")],
    [(0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP")],
)
LABELS = {
    "tag": [".", "CC", "JJ", "NN", "NNP", "PRP", "VBD", "VBP", "VBZ"],
    "pos": ["ADJ", "CCONJ", "NOUN", "PRON", "PROPN", "PUNCT", "VERB"],
    "morph": [
        "Degree=Pos",
        "Number=Plur",
        "Number=Plur|Tense=Pres",
        "Number=Sing",
        "Number=Sing|Tense=Pres",
        "Tense=Past",
        "_",
    ],
    "ents": ["LOC", "PER"],
    "spans": ["NP", "VP"],
}
SCORES = {
    "tag": "tag_acc",
    "pos": "pos_acc",
    "morph": "morph_acc",
    "ents": "ents_f",
    "spans": "spans_sc_f",
}


def tiny_model(**overrides: Any) -> dict[str, Any]:
    """The default architecture, tiny and without dropout.

    **overrides: Values to change; a double underscore enters a section, as in
        `tok2vec__min_freq=2`.
    """

    def fusion() -> dict[str, Any]:
        bias = {"@architectures": "spacy_psa.PSABias.v1", "window": 3, "max_distance": 4}
        gate = {"@architectures": "spacy_psa.FeatureGate.v1"}
        return {
            "@architectures": "spacy_psa.ContextFusion.v1",
            "bias": bias,
            "gate": gate,
            "dropout": 0.0,
        }

    model: dict[str, Any] = {
        "@architectures": "spacy_psa.SequenceLabeler.v1",
        "max_length": 512,
        "overlap": 64,
        "tok2vec": {
            "@architectures": "spacy_psa.WordCharEmbed.v1",
            "width": None,
            "min_freq": 1,
            "dropout": 0.0,
            "characters": {
                "@architectures": "spacy_psa.CharacterBiLSTM.v1",
                "embedding_width": 4,
                "width": 8,
            },
        },
        "encoder": {
            "@architectures": "spacy_psa.PSAEncoder.v1",
            "first_fusion": fusion(),
            "recurrent": {
                "@architectures": "spacy_psa.BiLSTM.v1",
                "hidden_width": 16,
                "depth": 1,
                "input_dropout": 0.0,
                "output_dropout": 0.0,
            },
            "second_fusion": fusion(),
        },
        "decoder": {"@architectures": "spacy_psa.CRF.v1"},
    }
    for path, value in overrides.items():
        *sections, name = path.split("__")
        place = model
        for section in sections:
            place = place[section]
        place[name] = value
    return model


def make_nlp(
    target: str = "tag",
    *,
    lang: str = "xx",
    model: dict[str, Any] | None = None,
    **config: Any,
) -> Language:
    """A pipeline with a tiny, uninitialized component."""
    nlp = spacy.blank(lang)
    model = tiny_model() if model is None else model
    nlp.add_pipe(NAME, config={"model": model, "target": target, **config})
    return nlp


def tagger_of(nlp: Language) -> PSATagger:
    """The component."""
    pipe = nlp.get_pipe(NAME)
    assert isinstance(pipe, PSATagger)
    return pipe


def gold_doc(nlp: Language, i: int) -> Doc:
    """The i-th document, annotated for all targets."""
    empty = Doc(nlp.vocab, words=WORDS[i])
    doc = Example.from_dict(empty, {name: layer[i] for name, layer in LAYERS.items()}).reference
    doc.spans["sc"] = [Span(doc, start, end, label) for start, end, label in SPANS[i]]
    return doc


def make_examples(nlp: Language) -> list[Example]:
    """Examples annotated for all targets."""
    return [Example(Doc(nlp.vocab, words=words), gold_doc(nlp, i)) for i, words in enumerate(WORDS)]


def make_adam(learn_rate: float = 0.03, **settings: Any) -> Optimizer:
    """An optimizer that fits tiny data quickly."""
    return Adam(learn_rate, **{"L2": 0.0, "grad_clip": 0.0, "use_averages": False, **settings})


def train(
    nlp: Language,
    examples: list[Example],
    *,
    steps: int = 30,
    sgd: Optimizer | None = None,
    until: Callable[[], bool] = lambda: False,
) -> float:
    """Train, and return the last loss.

    until: Whether enough is learned, which is asked after every tenth step.
    """
    optimizer = make_adam() if sgd is None else sgd
    losses: dict[str, float] = {}
    for i in range(1, steps + 1):
        losses = nlp.update(examples, sgd=optimizer)
        if i % 10 == 0 and until():
            break
    return losses[NAME]


def initialized_nlp(target: str = "tag", *, seed: int = 0, **settings: Any) -> Language:
    """A pipeline initialized from the examples."""
    nlp = make_nlp(target, **settings)
    fix_random_seed(seed)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


@cache
def _trained(target: str) -> bytes:
    nlp = initialized_nlp(target)
    train(nlp, make_examples(nlp))
    return nlp.to_bytes()


def trained_nlp(target: str = "tag", **config: Any) -> Language:
    """A pipeline that has memorized the examples; each call returns a new one."""
    nlp = make_nlp(target, **config).from_bytes(_trained(target))
    tagger_of(nlp).cfg.update(config)
    return nlp


def make_docs(nlp: Language, words: Any = WORDS) -> list[Doc]:
    """Documents without annotation."""
    return [Doc(nlp.vocab, words=list(ws)) for ws in words]


def annotation(doc: Doc) -> tuple[Any, ...]:
    """Everything that any target writes."""
    return (
        [token.tag_ for token in doc],
        [token.pos_ for token in doc],
        [str(token.morph) for token in doc],
        [(ent.start, ent.end, ent.label_) for ent in doc.ents],
        {key: [(s.start, s.end, s.label_) for s in group] for key, group in doc.spans.items()},
    )


def weights(nlp: Language) -> dict[str, NDArray]:
    """Copies of all parameters of the component, PyTorch's and thinc's."""
    found: dict[str, NDArray] = {}
    for i, node in enumerate(tagger_of(nlp).model.walk()):
        for name in node.param_names:
            if node.has_param(name):
                found[f"{i}.{name}"] = node.get_param(name).copy()
        for shim in node.shims:
            if shim._model is not None:
                for name, parameter in shim._model.named_parameters():
                    found[f"{i}.{name}"] = parameter.detach().numpy().copy()
    return found


def assert_same_weights(actual: dict[str, NDArray], expected: dict[str, NDArray]) -> None:
    """Compare weights exactly."""
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value, err_msg=name)


# Where it only matters whether spans are predicted, and where to: the others are like "tag"
LIKE_TAG = ("pos", "morph")
KINDS = [pytest.param(t, marks=[pytest.mark.nightly] * (t in LIKE_TAG)) for t in TARGETS]


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest) -> str:
    """A target of each kind."""
    return request.param
