"""Existing annotation is kept, and the rest is predicted given that it is right."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import fix_random_seed

from spacy_psa.annotation.rules import Rule
from spacy_psa.annotation.schemes import SCHEMES

from ...inference.brute_force import BruteForce
from ..conftest import (
    WORDS,
    annotation,
    initialized_nlp,
    make_docs,
    make_examples,
    tagger_of,
    tiny_model,
    trained_nlp,
)

BIOES = SCHEMES["BIOES"]
DECODERS = ["spacy_psa.CRF.v1", "spacy_psa.Softmax.v1"]
FOUR = ["Ann", "saw", "New", "York"]
Holds = Callable[[list[str]], bool]


@cache
def random_nlp(target: str, decoder: str) -> Language:
    """A pipeline whose random weights could prefer anything."""
    nlp = initialized_nlp(target, model=tiny_model(decoder={"@architectures": decoder}))
    fix_random_seed(3)
    for node in tagger_of(nlp).model.walk():
        for shim in node.shims:
            for parameter in shim._model.parameters():
                torch.nn.init.normal_(parameter, std=0.7)
    return nlp


def assert_distribution(nlp: Language, doc: Doc, holds: Holds) -> None:
    """Compare with enumeration of the well-formed tag sequences that agree with what is known."""
    tagger = tagger_of(nlp)
    tags = tagger.tags
    brute = BruteForce(tagger.model.predict([doc]))
    rows, best, start = [], [], 0
    for paths, scores in brute.chains:
        length = paths.shape[1]
        kept = []
        for path, score in zip(paths, scores, strict=True):
            names = [tags[i] for i in path]
            known = [*[None] * start, *names, *[None] * (len(doc) - start - length)]
            is_formed = not tagger.target.has_spans or not BIOES.problems(names)
            if is_formed and holds(known):
                kept.append((path, score))
        weights = np.exp(np.array([score for _, score in kept]) - max(s for _, s in kept))
        for at in range(length):
            labels = [path[at] for path, _ in kept]
            rows.append(np.bincount(labels, weights, len(tags)) / weights.sum())
        best.extend(max(kept, key=lambda pair: pair[1])[0])
        start += length
    found = tagger.distribution([doc])
    np.testing.assert_allclose(found.marginals.numpy(), rows, atol=2e-5)
    assert found.argmax.tolist() == best
    assert tagger.predict([doc])[0].ids.tolist() == best


def agrees(known: dict[int, str]) -> Holds:
    """Whether the known tokens have their tags, or None if the sequence does not cover them."""
    return lambda tags: all(tags[i] in (None, tag) for i, tag in known.items())


# The distribution


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(
    ("spans", "known"),
    [
        ([], {}),
        ([(1, 2, "PER")], {1: "S-PER"}),
        ([(1, 3, "LOC")], {1: "B-LOC", 2: "E-LOC"}),
        ([(0, 1, "LOC"), (1, 4, "LOC")], {0: "S-LOC", 1: "B-LOC", 2: "I-LOC", 3: "E-LOC"}),
        ([(1, 3, "GPE")], {1: "O", 2: "O"}),
    ],
)
def test_entities_condition_the_rest(
    decoder: str, spans: list[tuple[int, int, str]], known: dict[int, str]
) -> None:
    nlp = random_nlp("ents", decoder)
    (doc,) = make_docs(nlp, [FOUR])
    doc.set_ents([Span(doc, *span) for span in spans])
    assert_distribution(nlp, doc, agrees(known))


@pytest.mark.parametrize("decoder", DECODERS)
def test_blocked_tokens_condition_the_rest(decoder: str) -> None:
    nlp = random_nlp("ents", decoder)
    (doc,) = make_docs(nlp, [FOUR])
    doc.set_ents([], blocked=[doc[1:2], doc[3:4]])
    assert_distribution(nlp, doc, agrees({1: "O", 3: "O"}))


@pytest.mark.parametrize("decoder", DECODERS)
def test_spans_that_overlap_condition_the_rest(decoder: str) -> None:
    nlp = random_nlp("spans", decoder)
    (doc,) = make_docs(nlp, [FOUR])
    doc.spans["sc"] = [Span(doc, 0, 2, "NP"), Span(doc, 1, 3, "VP")]
    assert_distribution(nlp, doc, agrees({0: "B-NP", 1: "E-NP", 2: "O"}))


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_span_across_sentences_leaves_no_room(decoder: str) -> None:
    nlp = random_nlp("ents", decoder)
    doc = make_docs(nlp, [[*FOUR, "eat", "ham"]])[0]
    for token in doc:
        token.is_sent_start = token.i in (0, 3)
    doc.set_ents([Span(doc, 2, 4, "LOC"), Span(doc, 4, 6, "PER")])
    assert_distribution(nlp, doc, agrees({2: "O", 3: "O", 4: "B-PER", 5: "E-PER"}))


@pytest.mark.parametrize("decoder", DECODERS)
def test_tags_condition_their_neighbours(decoder: str) -> None:
    nlp = random_nlp("tag", decoder)
    (doc,) = make_docs(nlp, [FOUR])
    # The component does not know UH, and sums over all tags there
    doc[1].tag_, doc[3].tag_ = "VBD", "UH"
    assert_distribution(nlp, doc, agrees({1: "VBD"}))


def test_tags_matter_to_others_through_transitions_alone() -> None:
    for decoder in DECODERS:
        nlp = random_nlp("tag", decoder)
        fresh, done = make_docs(nlp, [FOUR] * 2)
        done[1].tag_ = "JJ"
        before, after = (tagger_of(nlp).marginals([doc])[0] for doc in (fresh, done))
        others = [0, 2, 3]
        assert np.allclose(before[others], after[others], atol=1e-6) == ("Softmax" in decoder)


def test_overwriting_asks_for_no_annotation(target: str) -> None:
    nlp = trained_nlp(target, overwrite=True)
    done, fresh = make_docs(nlp, [WORDS[1]] * 2)
    annotate_all(done)
    tagger = tagger_of(nlp)
    expected = tagger.model.predict([fresh]).emissions
    assert torch.equal(tagger.distribution([done]).potentials.emissions, expected)


def annotate_all(doc: Doc) -> None:
    """Annotate all layers in a way that no model would predict."""
    doc[0].tag_, doc[0].pos_ = "JJ", "VERB"
    doc[0].set_morph("Tense=Past")
    doc.set_ents([Span(doc, 0, 2, "LOC")])
    doc.spans["sc"] = [Span(doc, 0, 2, "VP")]


def test_where_nothing_is_annotated_nothing_is_computed(target: str) -> None:
    nlp = trained_nlp(target)
    tagger, docs = tagger_of(nlp), make_docs(nlp, [*WORDS, []])
    potentials = tagger.model.predict(docs)
    tagger.model = SimpleNamespace(
        predict=lambda docs: potentials, has_dim=lambda name: True, walk=list
    )
    emissions = tagger.distribution(docs).potentials.emissions
    assert emissions.data_ptr() == potentials.emissions.data_ptr()


def test_annotation_of_one_document_does_not_matter_to_others(target: str) -> None:
    nlp = trained_nlp(target)
    words = [WORDS[0], [], WORDS[1], WORDS[2]]
    docs, alone = make_docs(nlp, words), make_docs(nlp, words)
    for doc in (docs[2], alone[2]):
        annotate_all(doc)
    together = [annotation(doc) for doc in nlp.pipe(docs)]
    assert together == [annotation(nlp(doc)) for doc in alone]
    assert together[0] == annotation(nlp(make_docs(nlp, [WORDS[0]])[0]))


def test_training_does_not_see_annotation_of_earlier_components_or_rules(target: str) -> None:
    nlp = initialized_nlp(target)
    tagger = tagger_of(nlp)
    examples = make_examples(nlp)
    expected = tagger.update(examples)["psa_tagger"]
    tagger.rules = lambda doc: [Rule(0, 1, tagger.labels[0])]
    for eg in examples:
        annotate_all(eg.predicted)
    assert tagger.update(examples)["psa_tagger"] == pytest.approx(expected, rel=1e-6)


# What is written


def test_attributes_of_entities_survive() -> None:
    nlp = trained_nlp("ents")
    doc = make_docs(nlp)[1]
    doc.set_ents([Span(doc, 1, 3, "GPE", kb_id="Q60", span_id="ny")], blocked=[doc[6:7]])
    tagger_of(nlp)(doc)
    found = {ent.start: (ent.end, ent.label_, ent.kb_id_, ent.id_) for ent in doc.ents}
    assert found[1] == (3, "GPE", "Q60", "ny")
    assert found[0] == (1, "PER", "", "")
    again = doc.copy()
    tagger_of(nlp)(again)
    assert annotation(again) == annotation(doc)


def test_blocked_tokens_stay_blocked() -> None:
    nlp = trained_nlp("ents")
    fresh, doc = make_docs(nlp, [WORDS[1]] * 2)
    doc.set_ents([], blocked=[doc[0:1], doc[6:7]])
    for each in (fresh, doc):
        tagger_of(nlp)(each)
    assert {0, 6} <= {ent.start for ent in fresh.ents}
    assert not {0, 6} & {ent.start for ent in doc.ents}
    assert [(doc[i].ent_iob_, doc[i].ent_type_) for i in (0, 6)] == [("B", "")] * 2


def test_predictions_that_touch_blocked_tokens_are_left_out() -> None:
    nlp = trained_nlp("ents")
    doc = make_docs(nlp)[1]
    predictions = tagger_of(nlp).predict([doc])
    doc.set_ents([], blocked=[doc[3:4]])
    tagger_of(nlp).set_annotations([doc], predictions)
    assert [(ent.start, ent.end) for ent in doc.ents] == [(0, 1), (6, 7)]


def test_attributes_of_spans_and_their_group_survive() -> None:
    nlp = trained_nlp("spans", probabilities=True)
    doc = make_docs(nlp)[0]
    doc.spans["sc"] = [Span(doc, 2, 4, "XP", kb_id="Q1", span_id="x"), Span(doc, 3, 4, "NP")]
    doc.spans["sc"].attrs.update({"scores": np.ones(2), "source": "ruler"})
    tagger_of(nlp)(doc)
    group = doc.spans["sc"]
    found = [(s.start, s.end, s.label_, s.kb_id_, s.id_) for s in group]
    assert {(2, 4, "XP", "Q1", "x"), (3, 4, "NP", "", "")} < set(found)
    assert all(s.end <= 2 or s.start >= 4 for s in group if s.label_ == "NP" and len(s) > 1)
    assert group.attrs["source"] == "ruler"
    assert len(group.attrs["scores"]) == len(group) > 2


def test_a_group_to_which_nothing_is_added_stays_as_it_is() -> None:
    nlp = trained_nlp("spans")
    doc = make_docs(nlp)[0]
    doc.spans["sc"] = [Span(doc, 3, 6, "A"), Span(doc, 0, 4, "B")]
    doc.spans["sc"].attrs["scores"] = np.array([0.5, 0.25])
    tagger_of(nlp)(doc)
    assert [span.label_ for span in doc.spans["sc"]] == ["A", "B"]
    assert doc.spans["sc"].attrs["scores"].tolist() == [0.5, 0.25]


# In pipelines


def test_an_entity_ruler_before_the_component() -> None:
    nlp = trained_nlp("ents")
    ruler = nlp.add_pipe("entity_ruler", before="psa_tagger")
    words = [{"LOWER": word} for word in ("saw", "new", "york")]
    ruler.add_patterns(
        [
            {"label": "PER", "pattern": words[1:], "id": "short"},
            {"label": "GPE", "pattern": words, "id": "long"},
            {"label": "LOC", "pattern": [{"LOWER": "ann"}], "id": "ann"},
        ]
    )
    found = {ent.text: (ent.label_, ent.id_) for ent in nlp(" ".join(WORDS[1])).ents}
    assert found["saw New York"] == ("GPE", "long")
    assert found["Ann"] == ("LOC", "ann")
    assert found["Bob"] == ("PER", "")


@pytest.mark.parametrize("decoder", DECODERS)
def test_entities_of_rulers_are_kept_and_nothing_overlaps(decoder: str) -> None:
    nlp = random_nlp.__wrapped__("ents", decoder)
    ruler = nlp.add_pipe("entity_ruler", before="psa_tagger")
    ruler.add_patterns([{"label": "GPE", "pattern": [{"LOWER": "ann"}, {}]}])
    ruler.add_patterns([{"label": "PER", "pattern": [{"LOWER": "ann"}]}])
    docs = list(nlp.pipe([" ".join(words) for words in WORDS] * 2))
    labels = [ent.label_ for doc in docs for ent in doc.ents if ent.text.startswith("Ann")]
    assert labels == ["GPE"] * 4
    assert sum(len(doc.ents) for doc in docs) > 8
    assert all(a.end <= b.start for doc in docs for a, b in pairwise(doc.ents))


def test_a_span_ruler_before_the_component() -> None:
    nlp = trained_nlp("spans")
    ruler = nlp.add_pipe("span_ruler", before="psa_tagger", config={"spans_key": "sc"})
    ruler.add_patterns([{"label": "XP", "pattern": "New York"}, {"label": "YP", "pattern": "York"}])
    doc = nlp(" ".join(WORDS[1]))
    found = {(span.start, span.end, span.label_) for span in doc.spans["sc"]}
    assert {(2, 4, "XP"), (3, 4, "YP"), (0, 1, "NP")} <= found
    assert all(end <= 2 or start >= 4 for start, end, label in found if label in ("NP", "VP"))
