"""The component's `label_weights` setting: errors that count more or less than others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import log
from typing import Any

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Config

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.inference import LinearChain, Potentials

from ...inference.brute_force import BruteForce
from ..conftest import (
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    trained_nlp,
)
from .gradients import assert_gradient_is_that_of_the_loss

WORDS = ["Ann", "Lee", "eat", "ham"]
DECODERS = {
    "crf": {"@architectures": "spacy_psa.CRF.v1"},
    "softmax": {"@architectures": "spacy_psa.Softmax.v1"},
}
WEIGHTS: dict[str, dict[str, float]] = {
    "tag": {"NNP": 3.0, "NN": 0.5},
    "ents": {"PER": 4.0, "O": 0.25},
}
all_decoders = pytest.mark.parametrize("decoder", DECODERS)
kinds = pytest.mark.parametrize("kind", WEIGHTS)

Gold = list[str | None]
GOLD: dict[str, Gold] = {
    "tag": ["NNP", "NNP", None, "NN"],
    "ents": ["B-PER", "E-PER", "O", None],
}


def annotated(nlp: Language, kind: str) -> Example:
    """A sentence with the tags of `GOLD`."""
    reference = Doc(nlp.vocab, words=WORDS)
    if kind == "tag":
        for token, tag in zip(reference, GOLD["tag"], strict=True):
            token.tag_ = tag or ""
    else:
        reference.set_ents([Span(reference, 0, 2, "PER")], missing=[reference[3:4]])
    return Example(Doc(nlp.vocab, words=WORDS), reference)


def label_of(tag: str) -> str:
    return tag.split("-", 1)[-1]


def cost(tags: Sequence[str], gold: Gold, weights: dict[str, float]) -> float:
    """The cost of a sequence: the sum of the log weights of the labels that it misses."""
    return sum(
        log(weights.get(label_of(right), 1.0))
        for tag, right in zip(tags, gold, strict=True)
        if right is not None and tag != right
    )


def enumerated(
    potentials: Potentials,
    names: Sequence[str],
    gold: Gold,
    weights: dict[str, float],
    possible: Callable[[list[str]], bool] = lambda tags: True,
    smoothing: float = 0.0,
) -> float:
    """Compute the loss by enumeration: equation 4 of Gimpel and Smith (2010), summed over the
    labels of unannotated tokens; or a cross-entropy.
    """
    (paths, scores), *others = BruteForce(potentials).chains
    assert not others
    sequences = [[names[i] for i in path] for path in paths]
    augmented = np.array(
        [
            score + cost(sequence, gold, weights) if possible(sequence) else -np.inf
            for sequence, score in zip(sequences, scores, strict=True)
        ]
    )
    whole = np.logaddexp.reduce(augmented)
    if smoothing == 0.0:
        agrees = np.array([cost(s, gold, dict.fromkeys(names_of(names), 2.0)) for s in sequences])
        return whole - np.logaddexp.reduce(augmented[agrees == 0.0])
    expected = 0.0
    for sequence, score in zip(sequences, augmented, strict=True):
        share = 1.0
        for tag, right in zip(sequence, gold, strict=True):
            share *= 1 - smoothing if tag == right else smoothing / (len(names) - 1)
        expected += share * (whole - score)
    return expected


def names_of(tags: Sequence[str]) -> list[str]:
    return [label_of(tag) for tag in tags]


def is_well_formed(tags: Sequence[str]) -> bool:
    return not SCHEMES["BIOES"].problems(list(tags))


def random_scores(nlp: Language, docs: list[Doc]) -> Potentials:
    """Scores like those of the model, but larger."""
    potentials = tagger_of(nlp).model.predict(docs)
    rng = np.random.default_rng(0)
    fields = {
        name: tensor.new_tensor(rng.normal(size=tuple(tensor.shape))).double()
        for name, tensor in potentials.tensors().items()
    }
    return Potentials(lengths=potentials.lengths, **fields)


def check_loss(nlp: Language, kind: str, gold: Gold | None = None, **settings: Any) -> None:
    eg = annotated(nlp, kind)
    if gold is not None:
        for token, tag in zip(eg.reference, gold, strict=True):
            token.tag_ = tag or ""
    potentials = random_scores(nlp, [eg.predicted])
    loss, _ = tagger_of(nlp).get_loss([eg], potentials)
    names = tagger_of(nlp).tags
    expected = enumerated(potentials, names, gold or GOLD[kind], WEIGHTS[kind], **settings)
    unweighted = enumerated(potentials, names, gold or GOLD[kind], {}, **settings)
    assert loss == pytest.approx(expected, rel=1e-5)
    assert loss != pytest.approx(unweighted, rel=1e-2)


@kinds
@all_decoders
def test_errors_make_competitors_stronger_by_their_cost(kind: str, decoder: str) -> None:
    model = tiny_model(decoder=DECODERS[decoder])
    check_loss(initialized_nlp(kind, label_weights=WEIGHTS[kind], model=model), kind)


@all_decoders
def test_weights_go_with_constraints_in_training(decoder: str) -> None:
    settings = {"constrain_training": True, "label_weights": WEIGHTS["ents"]}
    nlp = initialized_nlp("ents", model=tiny_model(decoder=DECODERS[decoder]), **settings)
    check_loss(nlp, "ents", possible=is_well_formed)


@all_decoders
def test_weights_go_with_label_smoothing(decoder: str) -> None:
    settings = {"label_smoothing": 0.1, "label_weights": WEIGHTS["tag"]}
    nlp = initialized_nlp(model=tiny_model(decoder=DECODERS[decoder]), **settings)
    check_loss(nlp, "tag", ["NNP", "NNP", "VBD", "NN"], smoothing=0.1)


def test_sets_of_labels_cost_nothing() -> None:
    nlp = initialized_nlp(set_separator="|", label_weights=WEIGHTS["tag"])
    eg = annotated(nlp, "tag")
    eg.reference[0].tag_ = "NNP|NN"
    potentials = random_scores(nlp, [eg.predicted])
    loss, _ = tagger_of(nlp).get_loss([eg], potentials)
    names = tagger_of(nlp).tags
    (paths, scores), *_ = BruteForce(potentials).chains
    sequences = [[names[i] for i in path] for path in paths]
    gold: Gold = [None, *GOLD["tag"][1:]]
    augmented = scores + [cost(s, gold, WEIGHTS["tag"]) for s in sequences]
    agrees = [s[0] in ("NNP", "NN") and (s[1], s[3]) == ("NNP", "NN") for s in sequences]
    expected = np.logaddexp.reduce(augmented) - np.logaddexp.reduce(augmented[agrees])
    assert loss == pytest.approx(expected, rel=1e-5)


@kinds
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_is_that_of_the_loss(kind: str, smoothing: float) -> None:
    nlp = initialized_nlp(kind, label_weights=WEIGHTS[kind], label_smoothing=smoothing)
    tagger = tagger_of(nlp)
    examples = [make_examples(nlp)[0], annotated(nlp, kind)]
    potentials = random_scores(nlp, [eg.predicted for eg in examples])
    assert_gradient_is_that_of_the_loss(tagger, examples, potentials)


@pytest.mark.parametrize("weights", [None, {}, {"NNP": 1.0}])
def test_weights_of_one_change_nothing(weights: dict[str, float] | None) -> None:
    losses = []
    for settings in ({}, {"label_weights": weights}):
        nlp = initialized_nlp(**settings)
        examples = make_examples(nlp)
        docs = [eg.predicted for eg in examples]
        losses.append(tagger_of(nlp).get_loss(examples, tagger_of(nlp).model.predict(docs))[0])
    assert losses[0] == losses[1]


def test_predictions_are_those_of_the_model_without_costs() -> None:
    distributions = []
    for settings in ({}, {"label_weights": WEIGHTS["ents"]}):
        nlp = trained_nlp("ents", **settings)
        distributions.append(tagger_of(nlp).distribution(make_docs(nlp)))
    assert isinstance(distributions[1], LinearChain)
    first, second = (d.marginals.numpy() for d in distributions)
    np.testing.assert_array_equal(first, second)


def test_weights_are_saved_with_the_component() -> None:
    nlp = initialized_nlp("ents", label_weights=WEIGHTS["ents"])
    other = make_nlp("ents").from_bytes(nlp.to_bytes())
    assert tagger_of(other).cfg["label_weights"] == WEIGHTS["ents"]
    check_loss(other, "ents")


def test_a_weight_can_be_changed_in_place() -> None:
    nlp = initialized_nlp("ents", label_weights={"PER": 2.0})
    assert tagger_of(nlp).learner.costs is not None
    tagger_of(nlp).cfg["label_weights"].update(WEIGHTS["ents"])
    check_loss(nlp, "ents")


# Precision and recall


# Words, and how often each has the label A and another label
OCCURRENCES = {"always": (3, 0), "mostly": (6, 4), "rarely": (4, 6), "never": (0, 3)}
# Words alone make the difference
BILSTM = {"@architectures": "spacy_psa.BiLSTM.v1", "hidden_width": 16}


@cache
def precision_and_recall(kind: str, weights: tuple[tuple[str, float], ...]) -> tuple[float, float]:
    """The precision and recall of the label A, after training on contradictory data."""
    model = tiny_model(encoder=BILSTM, tok2vec__characters=None)
    nlp = make_nlp(kind, model=model, label_weights=dict(weights) or None)
    fix_random_seed(0)
    examples = []
    for word, counts in OCCURRENCES.items():
        for has_label, count in zip((True, False), counts, strict=True):
            for _ in range(count):
                reference = Doc(nlp.vocab, words=[word])
                reference[0].tag_ = "A" if has_label else "B"
                reference.set_ents([Span(reference, 0, 1, "A")] if has_label else [])
                examples.append(Example(Doc(nlp.vocab, words=[word]), reference))
    nlp.initialize(lambda: examples)
    optimizer = make_adam()
    for _ in range(60):
        nlp.update(examples, sgd=optimizer)
    for eg, doc in zip(examples, nlp.pipe([eg.predicted for eg in examples]), strict=True):
        assert eg.predicted is doc
    found = np.array([eg.predicted[0].tag_ == "A" or bool(eg.predicted.ents) for eg in examples])
    gold = np.array([eg.reference[0].tag_ == "A" for eg in examples])
    return (found & gold).sum() / found.sum(), (found & gold).sum() / gold.sum()


@kinds
def test_a_weight_above_one_raises_recall_at_the_cost_of_precision(kind: str) -> None:
    precision, recall = precision_and_recall(kind, ())
    # 'rarely' is predicted as well
    assert (precision, recall) == pytest.approx((9 / 13, 9 / 13))
    assert precision_and_recall(kind, (("A", 10.0),)) == pytest.approx((13 / 23, 1.0))


@kinds
def test_a_weight_below_one_raises_precision_at_the_cost_of_recall(kind: str) -> None:
    # 'mostly' is no longer predicted
    assert precision_and_recall(kind, (("A", 0.1),)) == pytest.approx((1.0, 3 / 13))


def test_a_weight_of_tokens_outside_raises_the_precision_of_spans() -> None:
    assert precision_and_recall("ents", (("O", 10.0),)) == pytest.approx((1.0, 3 / 13))


# Errors


@pytest.mark.parametrize(
    ("kind", "label", "options"),
    [
        ("tag", "XX", r"\., CC, JJ"),
        ("tag", "O", r"\., CC, JJ"),
        ("ents", "B-PER", "O, LOC, PER"),
        ("ents", "PER|LOC", "O, LOC, PER"),
    ],
)
def test_weights_of_unknown_labels_are_errors(kind: str, label: str, options: str) -> None:
    with pytest.raises(ValueError, match=f"P372.*psa_tagger.*{options}") as error:
        initialized_nlp(kind, label_weights={label: 2.0})
    assert f"'{label}'" in str(error.value)


def test_a_config_may_have_weights_in_a_section() -> None:
    text = """
[nlp]
lang = "en"
pipeline = ["psa_tagger"]

[components]

[components.psa_tagger]
factory = "psa_tagger"

[components.psa_tagger.label_weights]
NNP = 2
O = 0.5
"""
    nlp = load_model_from_config(Config().from_str(text), auto_fill=True)
    assert tagger_of(nlp).cfg["label_weights"] == {"NNP": 2.0, "O": 0.5}
