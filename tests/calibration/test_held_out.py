"""Calibration on held-out data uses the distribution that users get."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_psa.annotation.rules import Rule
from spacy_psa.annotation.targets import make_target
from spacy_psa.calibration.held_out import confidences, hold_out
from spacy_psa.calibration.temperature import fit_temperature
from spacy_psa.inference import LinearChain, Potentials

from ..pipeline.conftest import TARGETS, gold_doc, make_docs, tagger_of, trained_nlp


def golden(nlp: Language) -> list[Doc]:
    return [gold_doc(nlp, i) for i in range(3)]


def favour(doc: Doc) -> list[Rule]:
    """Rules of all kinds, for spans."""
    return [Rule(0, 1, "VP", 1.5), Rule(1, 2, "NP", -2.0, whole=False), Rule(3, 4, "NP")]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("rules", [None, favour], ids=["plain", "rules"])
def test_tempered_scores_are_the_distribution_of_the_component(temperature, rules):
    nlp = trained_nlp("spans")
    component, docs = tagger_of(nlp), make_docs(nlp)
    component.rules = rules
    labeled = hold_out(component, docs, golden(nlp)).labeled
    component.cfg["temperature"] = temperature
    expected = component.distribution(docs)
    found = LinearChain(labeled.at(temperature), constraints=component.constraints)
    for name, tensor in expected.potentials.tensors().items():
        torch.testing.assert_close(found.potentials.tensors()[name], tensor, msg=name)
    assert (labeled.bias is None) == (rules is None)


def test_existing_annotation_is_no_part_of_what_is_tempered():
    nlp = trained_nlp("spans")
    component, docs = tagger_of(nlp), make_docs(nlp)
    docs[0].spans["sc"] = [Span(docs[0], 0, 1, "VP")]
    batch = hold_out(component, docs, golden(nlp))
    found = confidences(component, [batch], 5.0)["spans"]
    assert found.confidence.max() == pytest.approx(1.0)
    assert not found.correct[0]


def test_an_annotated_label_that_is_not_trained_yet_is_certain():
    nlp = trained_nlp("spans")
    component, docs = tagger_of(nlp), make_docs(nlp)
    component.add_label("ADJP")
    docs[0].spans["sc"] = [Span(docs[0], 0, 1, "ADJP")]
    batch = hold_out(component, docs, golden(nlp))
    assert batch.labeled.potentials.emissions.isfinite().any(1).all()
    for name, kind in confidences(component, [batch], 2.0).items():
        assert kind.confidence[0] == pytest.approx(1.0), name


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_confidences_are_the_scores_that_users_get(target, temperature):
    nlp = trained_nlp(target, probabilities=True)
    component = tagger_of(nlp)
    batch = hold_out(component, make_docs(nlp), golden(nlp))
    component.cfg["temperature"] = 9.0
    found = confidences(component, [batch], temperature)
    component.cfg["temperature"] = temperature
    docs = list(nlp.pipe(make_docs(nlp)))
    tokens = [token._.psa_score for doc in docs for token in doc]
    np.testing.assert_allclose(found["tokens"].confidence, tokens, atol=1e-6)
    assert found["tokens"].n_gold == len(tokens)
    assert set(found) == ({"tokens", "spans"} if target in ("ents", "spans") else {"tokens"})
    if "spans" in found:
        spans = [s for doc in docs for s in (doc.ents if target == "ents" else doc.spans["sc"])]
        scores = [span._.psa_score for span in spans]
        np.testing.assert_allclose(found["spans"].confidence, scores, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_learnt_by_heart_is_right(target):
    nlp = trained_nlp(target)
    batch = hold_out(tagger_of(nlp), make_docs(nlp), golden(nlp))
    found = confidences(tagger_of(nlp), [batch], 1.0)
    for of_unit in found.values():
        assert of_unit.correct.all()
        assert of_unit.n_gold == len(of_unit.correct)


def test_spans_are_right_if_boundaries_and_label_are():
    nlp = trained_nlp("spans")
    gold = golden(nlp)
    places = [(0, 2, "VP"), (2, 3, "VP"), (3, 6, "NP")]  # predicted: NP, VP, and NP from 3 to 5
    gold[0].spans["sc"] = [Span(gold[0], *place) for place in places]
    found = confidences(
        tagger_of(nlp), [hold_out(tagger_of(nlp), make_docs(nlp)[:1], gold[:1])], 1.0
    )
    assert found["spans"].correct.tolist() == [False, True, False]
    assert found["spans"].n_gold == 3
    # For tokens, only the label counts
    assert found["tokens"].correct.tolist() == [False, False, True, True, True, False]


def test_without_constraints_spans_end_where_their_sentence_does():
    nlp = trained_nlp("spans", constrain_decoding=False)
    doc = Doc(nlp.vocab, words=["Ann", "left"], sent_starts=[True, True])
    gold = doc.copy()
    gold.spans["sc"] = [Span(gold, 0, 1, "NP"), Span(gold, 1, 2, "VP")]
    batch = hold_out(tagger_of(nlp), [doc], [gold])
    emissions = torch.zeros(2, len(tagger_of(nlp).tags))
    for token, tag in enumerate(["B-NP", "E-NP"]):
        emissions[token, tagger_of(nlp).tags.index(tag)] = 1.0
    labeled = batch.labeled._replace(potentials=Potentials(emissions, (1, 1)))
    found = confidences(tagger_of(nlp), [replace(batch, labeled=labeled)], 1.0)["spans"]
    assert found.correct.tolist() == [True, False]
    assert found.confidence.min() > 0.0


def test_tokens_without_annotation_count_nowhere():
    nlp = trained_nlp("tag")
    gold = golden(nlp)
    gold[0][1].tag_ = ""
    batch = hold_out(tagger_of(nlp), make_docs(nlp), gold)
    assert batch.labeled.labels[:3].tolist()[1] == -1
    found = confidences(tagger_of(nlp), [batch], 1.0)["tokens"]
    assert len(found.correct) == found.n_gold == sum(map(len, gold)) - 1


def test_sentences_with_new_labels_are_left_out_of_the_fit_and_counted():
    nlp = trained_nlp("tag")
    gold = golden(nlp)
    gold[1][2].tag_ = "NEW"
    batch = hold_out(tagger_of(nlp), make_docs(nlp), gold)
    fit = fit_temperature([batch.labeled])
    assert (batch.n_new, fit.n_unknown, fit.n_chains) == (1, 1, 2)
    # For users, the predictions there are wrong
    found = confidences(tagger_of(nlp), [batch], 1.0)["tokens"]
    assert found.correct.tolist() == [i != len(gold[0]) + 2 for i in range(found.n_gold)]


@pytest.mark.parametrize("name", ["tag", "spans"])
def test_any_label_of_a_set_is_right(name):
    nlp = trained_nlp(name)
    tagger_of(nlp).target = make_target(name, spans_key="sc", set_separator="|")
    gold = golden(nlp)
    gold[0][1].tag_ = "NN|NNP"
    gold[0].spans["sc"] = [Span(gold[0], 0, 2, "VP|NP"), Span(gold[0], 2, 3, "VP")]
    batch = hold_out(tagger_of(nlp), make_docs(nlp)[:1], gold[:1])
    tags = tagger_of(nlp).tags
    expected = {
        "tag": {1: ["NN", "NNP"]},
        "spans": {0: ["B-VP", "B-NP"], 1: ["E-VP", "E-NP"]},
    }[name]
    assert {i: [tags[j] for j in ids] for i, ids in batch.labeled.sets.items()} == expected
    found = confidences(tagger_of(nlp), [batch], 1.0)
    assert found["tokens"].correct[:3].all()
    if name == "spans":
        assert found["spans"].correct.tolist()[:2] == [True, True]
        assert found["spans"].n_gold == 2


@pytest.mark.parametrize("constrained", [True, False])
def test_all_tokens_of_a_span_with_a_set_have_the_same_label(constrained):
    nlp = trained_nlp("spans", constrain_decoding=constrained)
    component = tagger_of(nlp)
    component.target = make_target("spans", spans_key="sc", set_separator="|")
    gold = golden(nlp)[:1]
    gold[0].spans["sc"] = [Span(gold[0], 0, 3, "VP|NP")]
    labeled = hold_out(component, make_docs(nlp)[:1], gold).labeled
    # Which is what the sum is over: each with the first label, then each with the second
    uniform = replace(labeled.potentials, emissions=labeled.potentials.emissions * 0.0)
    chain = LinearChain(uniform, constraints=component.constraints)
    options = [[ids[i] for _, ids in sorted(labeled.sets.items())] for i in range(2)]
    sequences = [torch.cat([torch.tensor(ids), labeled.labels[3:]]) for ids in options]
    expected = torch.stack([chain.log_prob(ids) for ids in sequences]).logsumexp(0)
    batch = labeled._replace(potentials=uniform)
    found = fit_temperature([batch], constraints=component.constraints).nll_before
    assert found == pytest.approx(-expected.item(), abs=1e-5)


def test_documents_without_tokens_are_left_out():
    nlp = trained_nlp("spans")
    empty = Doc(nlp.vocab)
    whole = hold_out(tagger_of(nlp), [empty, *make_docs(nlp)], [empty.copy(), *golden(nlp)])
    expected = hold_out(tagger_of(nlp), make_docs(nlp), golden(nlp))
    assert torch.equal(whole.labeled.labels, expected.labeled.labels)
    nothing = hold_out(tagger_of(nlp), [empty], [empty.copy()])
    assert nothing.docs == []
    found = confidences(tagger_of(nlp), [nothing, whole], 1.0)
    assert len(found["tokens"].correct) == sum(map(len, expected.docs))


def test_rules_that_leave_nothing_are_an_error():
    nlp = trained_nlp("tag")
    component = tagger_of(nlp)
    component.rules = lambda doc: [Rule(0, 1, "NN"), Rule(0, 1, "JJ")]
    with pytest.raises(ValueError, match=r"\[P3\d\d\]"):
        hold_out(component, make_docs(nlp), golden(nlp))
