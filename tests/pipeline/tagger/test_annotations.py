"""What the component learns from incomplete annotation, and what it writes."""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from spacy.util import fix_random_seed

from ..conftest import (
    TARGETS,
    WORDS,
    annotation,
    initialized_nlp,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    trained_nlp,
)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """Each of the targets, which are read and written in ways of their own."""
    return request.param


def loss_of(nlp: Language, examples: list[Example]) -> float:
    tagger = tagger_of(nlp)
    return tagger.get_loss(examples, tagger.model.predict([eg.predicted for eg in examples]))[0]


def unannotated(nlp: Language) -> list[Example]:
    return [Example(doc, doc.copy()) for doc in make_docs(nlp)]


def randomize(nlp: Language, scale: float = 3.0) -> None:
    """Set random weights with which the model could prefer anything."""
    fix_random_seed(3)
    for node in tagger_of(nlp).model.walk():
        for shim in node.shims:
            for parameter in shim._model.parameters():
                torch.nn.init.normal_(parameter, std=scale)


def spans_of(doc: Doc, target: str) -> list[Span]:
    return list(doc.ents) if target == "ents" else list(doc.spans["sc"])


# Reading


def test_docs_without_annotation_teach_nothing(target: str) -> None:
    nlp = initialized_nlp(target)
    tagger = tagger_of(nlp)
    examples = unannotated(nlp)
    potentials = tagger.model.predict([eg.predicted for eg in examples])
    loss, gradient = tagger.get_loss(examples, potentials)
    assert loss == pytest.approx(0.0, abs=1e-9)
    assert all(float(tensor.abs().max()) < 1e-6 for tensor in gradient.tensors().values())


def test_annotated_docs_are_not_disturbed_by_others(target: str) -> None:
    nlp = initialized_nlp(target)
    examples = make_examples(nlp)
    expected = loss_of(nlp, examples)
    mixed = loss_of(nlp, [*examples, *unannotated(nlp)])
    assert mixed == pytest.approx(expected / 2, rel=1e-6)


@pytest.mark.parametrize(
    "gold",
    [
        {"tags": ["", "NNP", "", "JJ", "NNP", ""]},
        {"entities": ["-", "U-PER", "-", "O", "U-LOC", "-"]},
        {"words": ["Ann", "Le", "e", "likes", "greenBerlin", "."], "tags": ["NNP"] * 6},
        {"words": ["AnnLee", "likes", "green", "Ber", "lin", "."], "entities": ["O"] * 6},
    ],
)
def test_learns_from_partial_and_misaligned_annotation(gold: dict[str, Any]) -> None:
    target = "tag" if "tags" in gold else "ents"
    nlp = initialized_nlp(target)
    example = Example.from_dict(make_docs(nlp)[0], gold)
    first = nlp.update([example])[tagger_of(nlp).name]
    for _ in range(10):
        last = nlp.update([example])[tagger_of(nlp).name]
    assert 0.0 < last < first


def test_only_annotated_tokens_count() -> None:
    nlp = initialized_nlp("tag")
    doc = make_docs(nlp)[2]
    full = Example.from_dict(doc.copy(), {"tags": ["PRP", "VBP", "JJ", "NN", "."]})
    partial = Example.from_dict(doc.copy(), {"tags": ["PRP", "", "", "", ""]})
    assert 0.0 < loss_of(nlp, [partial]) < loss_of(nlp, [full])


def test_constrained_training_is_finite_with_unknown_tags(target: str) -> None:
    nlp = initialized_nlp(target, constrain_training=True)
    assert np.isfinite(loss_of(nlp, [*make_examples(nlp), *unannotated(nlp)]))


def test_constraints_in_training_raise_the_probability_of_allowed_sequences() -> None:
    nlp = initialized_nlp("ents")
    examples = make_examples(nlp)
    free = loss_of(nlp, examples)
    tagger_of(nlp).cfg["constrain_training"] = True
    assert loss_of(nlp, examples) < free


# Writing


@pytest.mark.parametrize("target", ["ents", "spans"])
@pytest.mark.parametrize("decoder", ["spacy_psa.CRF.v1", "spacy_psa.Softmax.v1"])
def test_spans_never_overlap_whatever_the_weights(target: str, decoder: str) -> None:
    nlp = initialized_nlp(target, model=tiny_model(decoder={"@architectures": decoder}))
    randomize(nlp)
    words = [word for sentence in WORDS for word in sentence]
    rng = np.random.default_rng(0)
    docs = make_docs(nlp, [rng.choice(words, size=n).tolist() for n in (1, 2, 3, 17, 60)])
    tagger = tagger_of(nlp)
    predictions = tagger.predict(docs)
    tagger.set_annotations(docs, predictions)
    assert sum(len(spans_of(doc, target)) for doc in docs) > 10
    for doc, prediction in zip(docs, predictions, strict=True):
        spans = spans_of(doc, target)
        tags = [tagger.tags[i] for i in prediction.ids]
        # Nothing was repaired: encoding the spans as tags gives the prediction.
        assert tagger.target.gold_tags(Example(Doc(doc.vocab, [t.text for t in doc]), doc), ()) == (
            tags
        )
        assert all(a.end <= b.start for a, b in pairwise(spans))


@pytest.mark.parametrize("target", ["ents", "spans"])
def test_no_span_crosses_a_sentence_boundary(target: str) -> None:
    nlp = initialized_nlp(target)
    randomize(nlp)
    doc = make_docs(nlp, [WORDS[1] * 5])[0]
    for token in doc:
        token.is_sent_start = token.i % 3 == 0
    tagger_of(nlp)(doc)
    spans = spans_of(doc, target)
    assert spans
    assert all(span.start // 3 == (span.end - 1) // 3 for span in spans)


SENTINELS = {
    "tag": lambda doc: setattr(doc[0], "tag_", "OLD"),
    "pos": lambda doc: setattr(doc[0], "pos_", "X"),
    "morph": lambda doc: doc[0].set_morph("Old=Yes"),
    "ents": lambda doc: doc.set_ents([Span(doc, 0, 3, "OLD")]),
    "spans": lambda doc: doc.spans.update({"sc": [Span(doc, 0, 4, "OLD")]}),
}


@pytest.mark.parametrize("overwrite", [True, False])
def test_overwrite(target: str, overwrite: bool) -> None:
    nlp = trained_nlp(target, overwrite=overwrite)
    fresh, old, done = make_docs(nlp, [WORDS[0]] * 3)
    for doc in (old, done):
        SENTINELS[target](doc)
    tagger_of(nlp)(fresh)
    tagger_of(nlp)(done)
    if overwrite:
        assert annotation(done) == annotation(fresh)
    else:
        assert annotation(done) != annotation(fresh)
        assert _first(done, target) == _first(old, target)
        assert _last(done, target) == _last(fresh, target)


def _first(doc: Doc, target: str) -> Any:
    if target in ("ents", "spans"):
        span = spans_of(doc, target)[0]
        return span.start, span.end, span.label_
    return str(getattr(doc[0], "morph" if target == "morph" else f"{target}_"))


def _last(doc: Doc, target: str) -> Any:
    if target == "ents":
        return doc[4].ent_type_
    if target == "spans":
        # The two-token span there touches the old one, and the label is no longer predicted.
        return None
    return str(getattr(doc[4], "morph" if target == "morph" else f"{target}_"))


def test_the_spans_key_is_where_spans_are_read_and_written() -> None:
    nlp = make_nlp("spans", spans_key="chunks")
    examples = make_examples(nlp)
    for eg in examples:
        eg.reference.spans["chunks"] = eg.reference.spans["sc"].copy()
        del eg.reference.spans["sc"]
    nlp.initialize(lambda: examples)
    doc = nlp("Ann likes Berlin .")
    assert list(doc.spans) == ["chunks"]
    assert doc.spans["chunks"].name == "chunks"


def test_the_component_says_what_it_assigns() -> None:
    assigns = Language.get_factory_meta("psa_tagger").assigns
    assert assigns == ["token.tag", "token.pos", "token.morph", "doc.ents", "doc.spans"]


def test_other_spans_stay() -> None:
    nlp = trained_nlp("spans", overwrite=True)
    doc = make_docs(nlp)[0]
    doc.spans["mine"] = [Span(doc, 0, 1, "X")]
    tagger_of(nlp)(doc)
    assert [span.label_ for span in doc.spans["mine"]] == ["X"]


@pytest.mark.parametrize("words", [WORDS[0], []])
def test_what_an_empty_group_carries_stays(words: list[str]) -> None:
    nlp = trained_nlp("spans")
    doc = Doc(nlp.vocab, words=words)
    doc.spans["sc"] = SpanGroup(doc, name="sc", attrs={"source": "mine"})
    tagger_of(nlp)(doc)
    assert bool(doc.spans["sc"]) is bool(words)
    assert doc.spans["sc"].attrs["source"] == "mine"


def test_well_formed_annotation_gives_no_warnings(target: str) -> None:
    nlp = initialized_nlp(target)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        nlp.update(make_examples(nlp))
        list(nlp.pipe(["Ann saw Berlin ."]))
