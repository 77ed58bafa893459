"""The component's `set_separator` setting: labels that are known only as a set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.inference import Potentials

from ...inference.brute_force import BruteForce
from ..conftest import (
    gold_doc,
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
)
from .gradients import assert_gradient_is_that_of_the_loss

SOFTMAX = {"@architectures": "spacy_psa.Softmax.v1"}
WORDS = ["Ann", "Lee", "eat", "ham"]
DECODERS = {"crf": {"@architectures": "spacy_psa.CRF.v1"}, "softmax": SOFTMAX}
all_decoders = pytest.mark.parametrize("decoder", DECODERS)


def tag_example(nlp: Language) -> Example:
    reference = Doc(nlp.vocab, words=WORDS, tags=["NNP|NN", "NNP", "", "NN|JJ|NNP"])
    return Example(Doc(nlp.vocab, words=WORDS), reference)


def agrees_with_tags(tags: Sequence[str]) -> bool:
    first, second, _, last = tags
    return first in ("NNP", "NN") and second == "NNP" and last in ("NN", "JJ", "NNP")


def span_example(nlp: Language, kind: str) -> Example:
    """A span with two labels, then a token outside, and one without annotation."""
    reference = Doc(nlp.vocab, words=WORDS)
    span = Span(reference, 0, 2, "PER|LOC")
    if kind == "ents":
        reference.set_ents([span], missing=[reference[3:4]])
    else:
        reference.spans["sc"] = [span]
    return Example(Doc(nlp.vocab, words=WORDS), reference)


def agrees_with_span(tags: Sequence[str]) -> bool:
    return list(tags[:3]) in (["B-PER", "E-PER", "O"], ["B-LOC", "E-LOC", "O"])


def is_well_formed(tags: Sequence[str]) -> bool:
    return not SCHEMES["BIOES"].problems(list(tags))


def enumerated(
    potentials: Potentials,
    tags: Sequence[str],
    agrees: Callable[[Sequence[str]], bool],
    possible: Callable[[Sequence[str]], bool] = lambda tags: True,
) -> float:
    """The negative log probability of the agreeing sequences among the possible ones."""
    (paths, scores), *others = BruteForce(potentials).chains
    assert not others
    sequences = [[tags[i] for i in path] for path in paths]
    whole = np.array([possible(sequence) for sequence in sequences])
    part = np.array([agrees(sequence) for sequence in sequences]) & whole
    assert 1 < part.sum() < whole.sum()
    return np.logaddexp.reduce(scores[whole]) - np.logaddexp.reduce(scores[part])


def loss_of(nlp: Language, eg: Example) -> tuple[float, Potentials]:
    tagger = tagger_of(nlp)
    # Scores far from zero, for which wrong sums are far off
    potentials = tagger.model.predict([eg.predicted])
    rng = np.random.default_rng(0)
    fields = {
        name: tensor.double() + tensor.new_tensor(rng.normal(size=tuple(tensor.shape))).double()
        for name, tensor in potentials.tensors().items()
    }
    potentials = Potentials(lengths=potentials.lengths, **fields)
    return tagger.get_loss([eg], potentials)[0], potentials


@all_decoders
def test_all_tags_in_the_sets_are_summed_over(decoder: str) -> None:
    nlp = initialized_nlp(set_separator="|", model=tiny_model(decoder=DECODERS[decoder]))
    loss, potentials = loss_of(nlp, tag_example(nlp))
    expected = enumerated(potentials, tagger_of(nlp).tags, agrees_with_tags)
    assert loss == pytest.approx(expected, rel=1e-6)


@all_decoders
def test_a_span_has_one_label_of_its_set_on_all_tokens(decoder: str) -> None:
    nlp = initialized_nlp("ents", set_separator="|", model=tiny_model(decoder=DECODERS[decoder]))
    loss, potentials = loss_of(nlp, span_example(nlp, "ents"))
    expected = enumerated(potentials, tagger_of(nlp).tags, agrees_with_span)
    assert loss == pytest.approx(expected, rel=1e-6)


@all_decoders
def test_sets_go_with_constraints_in_training(decoder: str) -> None:
    model = tiny_model(decoder=DECODERS[decoder])
    nlp = initialized_nlp("ents", set_separator="|", constrain_training=True, model=model)
    loss, potentials = loss_of(nlp, span_example(nlp, "ents"))
    tags = tagger_of(nlp).tags
    expected = enumerated(potentials, tags, agrees_with_span, is_well_formed)
    assert loss == pytest.approx(expected, rel=1e-6)


def test_groups_of_spans_have_sets() -> None:
    nlp = make_nlp("spans", set_separator="|")
    eg = span_example(nlp, "spans")
    nlp.initialize(lambda: [eg])
    loss, potentials = loss_of(nlp, eg)
    expected = enumerated(
        potentials,
        tagger_of(nlp).tags,
        lambda tags: agrees_with_span(tags) and tags[3] == "O",
    )
    assert loss == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["tag", "ents"])
def test_the_gradient_is_that_of_the_loss(kind: str) -> None:
    nlp = initialized_nlp(kind, set_separator="|")
    tagger = tagger_of(nlp)
    own = tag_example(nlp) if kind == "tag" else span_example(nlp, kind)
    # In the middle of a batch, where token indices differ from those in the document
    examples = [make_examples(nlp)[0], own, make_examples(nlp)[2]]
    assert_gradient_is_that_of_the_loss(tagger, examples)


def test_the_loss_of_a_batch_is_the_mean_of_those_of_its_sentences() -> None:
    nlp = initialized_nlp("ents", set_separator="|")
    examples = [make_examples(nlp)[1], span_example(nlp, "ents"), span_example(nlp, "ents")]
    losses = [_plain_loss(nlp, [eg]) for eg in examples]
    assert _plain_loss(nlp, examples) == pytest.approx(np.mean(losses), rel=1e-6)


def _plain_loss(nlp: Language, examples: list[Example]) -> float:
    tagger = tagger_of(nlp)
    return tagger.get_loss(examples, tagger.model.predict([eg.predicted for eg in examples]))[0]


@pytest.mark.parametrize("kind", ["tag", "ents", "spans"])
def test_a_separator_changes_nothing_where_there_are_no_sets(kind: str) -> None:
    losses = []
    for settings in ({}, {"set_separator": "|"}):
        nlp = initialized_nlp(kind, **settings)
        losses.append(_plain_loss(nlp, make_examples(nlp)))
    assert losses[0] == losses[1]


def test_there_are_no_sets_by_default() -> None:
    nlp = make_nlp()
    eg = tag_example(nlp)
    nlp.initialize(lambda: [eg])
    assert tagger_of(nlp).cfg["set_separator"] is None
    assert tagger_of(nlp).labels == ("NNP", "NNP|NN", "NN|JJ|NNP")


@pytest.mark.parametrize(
    ("kind", "labels"), [("tag", ("JJ", "NN", "NNP")), ("ents", ("LOC", "PER"))]
)
def test_labels_are_the_parts_of_sets(kind: str, labels: tuple[str, ...]) -> None:
    nlp = make_nlp(kind, set_separator="|")
    eg = tag_example(nlp) if kind == "tag" else span_example(nlp, kind)
    nlp.initialize(lambda: [eg])
    assert tagger_of(nlp).labels == labels


def test_other_sentences_tell_which_label_of_a_set_is_right() -> None:
    nlp = make_nlp(set_separator="|")
    examples = make_examples(nlp)
    # "Ann" and "Lee" are NNP everywhere else, and "." is unambiguous
    for token, tag in zip(examples[1].reference, ["NNP|VBZ", "VBD"], strict=False):
        token.tag_ = tag
    examples[1].reference[7].tag_ = ".|NNP"
    nlp.initialize(lambda: examples)
    optimizer = make_adam()
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    docs = list(nlp.pipe(make_docs(nlp)))
    for i, doc in enumerate(docs):
        gold = gold_doc(nlp, i)
        found, expected = ([t.tag_ for t in d] for d in (doc, gold))
        if i == 1:
            assert found[0] in ("NNP", "VBZ") and found[7] in (".", "NNP")
            found, expected = found[1:7], expected[1:7]
        assert found == expected


def test_evaluation_takes_each_label_of_a_set_for_right() -> None:
    nlp = initialized_nlp(set_separator="|")
    examples = make_examples(nlp)
    optimizer = make_adam()
    for _ in range(30):
        nlp.update(examples, sgd=optimizer)
    for eg in examples:
        for token in eg.reference:
            token.tag_ = f"{token.tag_}|XX"
    assert nlp.evaluate(examples)["tag_acc"] == 1.0
    tagger_of(nlp).cfg["set_separator"] = None
    assert nlp.evaluate(make_examples(nlp))["tag_acc"] == 1.0
    assert nlp.evaluate(examples)["tag_acc"] == 0.0


def test_the_separator_is_saved_with_the_component() -> None:
    nlp = initialized_nlp("ents", set_separator="|")
    other = make_nlp("ents").from_bytes(nlp.to_bytes())
    tagger = tagger_of(other)
    assert tagger.cfg["set_separator"] == "|"
    assert tagger.target.sets is not None and tagger.target.sets.separator == "|"
    eg = span_example(other, "ents")
    assert _plain_loss(other, [eg]) == pytest.approx(_plain_loss(nlp, [eg]))


# Errors


def test_sets_do_not_go_with_label_smoothing() -> None:
    with pytest.raises(ValueError, match=r"P367.*psa_tagger.*0\.1.*'\|'"):
        make_nlp(set_separator="|", label_smoothing=0.1)


def test_a_set_cannot_be_a_label() -> None:
    nlp = make_nlp(set_separator="|")
    with pytest.raises(ValueError, match=r"P371.*psa_tagger.*'NN\|JJ'.*'NN', 'JJ'"):
        tagger_of(nlp).add_label("NN|JJ")
    examples = make_examples(nlp)
    with pytest.raises(ValueError, match="P371"):
        tagger_of(nlp).initialize(lambda: examples, labels=["NN", "NN|JJ"])


@pytest.mark.parametrize("label", ["NN|", "NN|NN", "NN | JJ"])
def test_sets_that_are_not_well_formed_stop_training(label: str) -> None:
    nlp = initialized_nlp(set_separator="|")
    examples: list[Any] = make_examples(nlp)
    examples[1].reference[2].tag_ = label
    with pytest.raises(ValueError, match="P370"):
        nlp.update(examples, sgd=make_adam())
    with pytest.raises(ValueError, match="P370"):
        nlp.evaluate(examples)
