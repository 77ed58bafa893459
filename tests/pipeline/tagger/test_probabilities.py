"""Probabilities of a `psa_tagger`, compared with an enumeration of all label sequences."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import spacy
import torch
from spacy.tokens import Doc, Span

from ..conftest import (
    annotation,
    initialized_nlp,
    make_docs,
    make_nlp,
    tagger_of,
    trained_nlp,
)
from .enumeration import CASES, all_labelings, marginals_of, random_nlp, short_docs, spans_of

SPAN_CASES = [case for case in CASES if case[0] != "tag"]
PLACES = [
    (start, end, label)
    for start, end in combinations(range(5), 2)
    for label in ("LOC", "PER", "NP", "VP")
]


def places(doc: Doc, labels: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """All spans that a document can contain."""
    return [place for place in PLACES if place[1] <= len(doc) and place[2] in labels]


@pytest.mark.parametrize(("target", "decoder"), CASES)
def test_marginals(target: str, decoder: str) -> None:
    nlp = random_nlp(target, decoder)
    tagger, docs = tagger_of(nlp), short_docs(nlp)
    found = tagger.marginals(docs)
    assert [rows.shape for rows in found] == [(len(d), len(tagger.marginal_labels)) for d in docs]
    for doc, rows in zip(docs, found, strict=True):
        expected = marginals_of(tagger, all_labelings(tagger, doc), len(doc))
        np.testing.assert_allclose(rows, expected, atol=1e-5)


@pytest.mark.parametrize(("target", "decoder"), SPAN_CASES)
def test_spans(target: str, decoder: str) -> None:
    nlp = random_nlp(target, decoder)
    tagger, docs = tagger_of(nlp), short_docs(nlp)
    asked = [places(doc, tagger.labels) for doc in docs]
    assert len(asked[0]) == 20
    for doc, spans, found in zip(docs, asked, tagger.span_probs(docs, asked), strict=True):
        expected = spans_of(all_labelings(tagger, doc))
        assert found == pytest.approx([expected.get(span, 0.0) for span in spans], abs=1e-6)


@pytest.mark.parametrize(("target", "decoder"), CASES)
def test_entropy(target: str, decoder: str) -> None:
    nlp = random_nlp(target, decoder)
    tagger, docs = tagger_of(nlp), short_docs(nlp)
    expected = [-sum(p * math.log(p) for p in all_labelings(tagger, doc).values()) for doc in docs]
    assert tagger.entropy(docs) == pytest.approx(expected, abs=1e-5)
    assert expected[0] > 1.0


@pytest.mark.parametrize(("target", "decoder"), CASES)
def test_samples_are_as_frequent_as_they_are_probable(target: str, decoder: str) -> None:
    nlp = random_nlp(target, decoder)
    tagger, docs = tagger_of(nlp), short_docs(nlp)
    n = 2000
    drawn = tagger.sample(docs, n, generator=torch.Generator().manual_seed(0))
    for doc, samples in zip(docs, drawn, strict=True):
        expected = all_labelings(tagger, doc)
        counts = Counter(map(tuple, samples))
        assert set(counts) <= set(expected)
        best = sorted(expected, key=expected.get)[-5:]
        for labels in best:
            p = expected[labels]
            assert counts[labels] / n == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / n))


def test_samples_are_those_of_their_generator() -> None:
    nlp = random_nlp("ents")
    one, same, other = (
        tagger_of(nlp).sample(short_docs(nlp), 5, generator=torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    )
    assert one == same != other


def test_spans_across_sentences_are_impossible() -> None:
    nlp = random_nlp("ents")
    tagger, doc = tagger_of(nlp), short_docs(nlp)[2]
    found = tagger.span_probs([doc], [[(0, 2, "PER"), (1, 3, "PER"), (0, 4, "LOC")]])[0]
    assert found[0] > 0.0
    assert found[1:] == [0.0, 0.0]


@pytest.mark.parametrize(
    "span",
    [(0, 1, "ORG"), (0, 0, "PER"), (-1, 1, "PER"), (3, 5, "PER"), (0, 1), ("0", 1, "PER"), None],
)
def test_spans_that_cannot_be_are_an_error(span: object) -> None:
    nlp = random_nlp("ents")
    with pytest.raises(ValueError, match=r"\[P351\].*Ann saw Berlin"):
        tagger_of(nlp).span_probs(short_docs(nlp)[:1], [[span]])


def test_each_document_needs_its_spans() -> None:
    nlp = random_nlp("ents")
    with pytest.raises(ValueError, match=r"\[P355\] 5 documents, but lists of spans for 1\."):
        tagger_of(nlp).span_probs(short_docs(nlp), [[(0, 1, "PER")]])


QUERIES = ["predict", "distribution", "marginals", "span_probs", "nbest", "sample", "entropy"]
ARGUMENTS = {"span_probs": [[[(0, 1, "PER")]]], "nbest": [1], "sample": [1]}


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_no_document_is_an_error(query: str) -> None:
    nlp = random_nlp("ents")
    ask, doc = getattr(tagger_of(nlp), query), short_docs(nlp)[0]
    wrong = {"str": ["Ann saw Berlin"], "Span": (doc[:2] for _ in range(2)), "NoneType": None}
    for kind, docs in wrong.items():
        with pytest.raises(ValueError, match=rf"\[P356\] 'psa_tagger'.*, not {kind}\."):
            ask(docs, *ARGUMENTS.get(query, []))
    with pytest.raises(ValueError, match=r"\[P356\].*, not Span\."):
        ask(doc[:2], *ARGUMENTS.get(query, []))


def test_scores_are_conditioned_on_documents() -> None:
    tagger = tagger_of(random_nlp("ents"))
    with pytest.raises(ValueError, match=r"\[P356\] 'psa_tagger'.*, not str\."):
        tagger.condition(tagger.model.predict([]), ["Ann"])


@pytest.mark.parametrize("query", ["marginals", "span_probs", "nbest", "entropy"])
def test_a_single_doc_and_docs_of_another_vocabulary_are_answered(query: str) -> None:
    nlp = random_nlp("ents")
    ask, doc = getattr(tagger_of(nlp), query), short_docs(nlp)[0]
    other = Doc(spacy.blank("xx").vocab, words=[token.text for token in doc])
    expected, *answers = (
        ask(docs, *ARGUMENTS.get(query, [])) for docs in ([doc], doc, iter([doc]), [other])
    )
    for answer in answers:
        np.testing.assert_equal(answer, expected)


@pytest.mark.parametrize("query", ["marginals", "span_probs", "nbest", "sample", "entropy"])
def test_the_distribution_of_other_documents_is_an_error(query: str) -> None:
    nlp = random_nlp("ents")
    tagger, docs = tagger_of(nlp), make_docs(nlp, [["Ann"], ["saw", "Berlin"]])
    distribution, ask = tagger.distribution(docs), getattr(tagger, query)
    with pytest.raises(ValueError, match=r"\[P357\].*'psa_tagger'"):
        ask(docs[1:], *ARGUMENTS.get(query, []), distribution=distribution)


def test_components_for_tokens_have_no_spans() -> None:
    nlp = random_nlp("tag")
    with pytest.raises(ValueError, match=r"\[P350\]"):
        tagger_of(nlp).span_probs(short_docs(nlp)[:1], [[(0, 1, "NN")]])


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_there_is_a_whole_number_of_samples(n: float) -> None:
    nlp = random_nlp("tag")
    with pytest.raises(ValueError, match=r"\[P014\]"):
        tagger_of(nlp).sample([Doc(nlp.vocab)], n)


@pytest.mark.parametrize(("target", "decoder"), CASES)
def test_batch_mates_do_not_matter(target: str, decoder: str) -> None:
    nlp = random_nlp(target, decoder)
    tagger = tagger_of(nlp)
    docs = [*short_docs(nlp), *make_docs(nlp)]
    together = tagger.marginals(docs)
    reversed_ = tagger.marginals(docs[::-1])[::-1]
    entropies = tagger.entropy(docs)
    assert tagger.entropy(docs[::-1])[::-1] == pytest.approx(entropies, abs=1e-5)
    for doc, one, other, entropy in zip(docs, together, reversed_, entropies, strict=True):
        np.testing.assert_allclose(tagger.marginals([doc])[0], one, atol=1e-5)
        np.testing.assert_allclose(other, one, atol=1e-5)
        assert tagger.entropy([doc])[0] == pytest.approx(entropy, abs=1e-5)


def test_questions_do_not_modify_documents(target: str) -> None:
    nlp = trained_nlp(target, probabilities=True)
    tagger, docs = tagger_of(nlp), make_docs(nlp)
    before = [annotation(doc) for doc in docs]
    tagger.predict(docs)
    tagger.marginals(docs), tagger.nbest(docs, 2), tagger.sample(docs, 2), tagger.entropy(docs)
    assert [annotation(doc) for doc in docs] == before
    assert [doc.user_data for doc in docs] == [{}, {}, {}]


def test_several_questions_can_be_asked_of_one_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nlp = random_nlp("ents")
    tagger, docs = tagger_of(nlp), short_docs(nlp)
    spans = [places(doc, tagger.labels) for doc in docs]
    expected = tagger.span_probs(docs, spans), tagger.nbest(docs, 2), tagger.entropy(docs)
    marginals = tagger.marginals(docs)
    given = {"distribution": tagger.distribution(docs)}
    monkeypatch.setattr(tagger, "model", None)
    assert expected == (
        tagger.span_probs(docs, spans, **given),
        tagger.nbest(docs, 2, **given),
        tagger.entropy(docs, **given),
    )
    for one, other in zip(tagger.marginals(docs, **given), marginals, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(tagger.sample(docs, 3, **given)[0]) == 3


def test_documents_without_tokens(target: str) -> None:
    nlp = trained_nlp(target, probabilities=True)
    tagger, docs = tagger_of(nlp), [Doc(nlp.vocab), Doc(nlp.vocab)]
    width = len(tagger.marginal_labels)
    assert [rows.shape for rows in tagger.marginals(docs)] == [(0, width)] * 2
    assert tagger.entropy(docs) == [0.0, 0.0]
    assert tagger.sample(docs, 2) == [[[], []]] * 2
    assert [len(nlp(doc)) for doc in docs] == [0, 0]


def test_no_documents_at_all() -> None:
    tagger = tagger_of(trained_nlp("ents", probabilities=True))
    assert tagger.predict([]) == tagger.marginals([]) == tagger.nbest([], 2) == []
    assert tagger.sample([], 2) == tagger.entropy([]) == tagger.span_probs([], []) == []


@pytest.mark.parametrize("keep", [True, False])
def test_annotation_that_is_kept_is_given(keep: bool) -> None:
    nlp = random_nlp("ents", overwrite=not keep)
    tagger, doc = tagger_of(nlp), short_docs(nlp)[0]
    expected = all_labelings(tagger, doc)
    doc.set_ents([Span(doc, 2, 3, "LOC")])
    if keep:
        expected = {names: p for names, p in expected.items() if names[2] == "S-LOC"}
        total = sum(expected.values())
        expected = {names: p / total for names, p in expected.items()}
    np.testing.assert_allclose(
        tagger.marginals([doc])[0], marginals_of(tagger, expected, 4), atol=1e-5
    )


@pytest.mark.parametrize(("target", "decoder"), CASES)
def test_temperature_makes_probabilities_flatter(target: str, decoder: str) -> None:
    nlp = random_nlp(target, decoder, temperature=2.5)
    tagger, docs = tagger_of(nlp), short_docs(nlp)
    for doc, rows in zip(docs, tagger.marginals(docs), strict=True):
        # The enumeration applies the temperature independently
        expected = marginals_of(tagger, all_labelings(tagger, doc), len(doc))
        np.testing.assert_allclose(rows, expected, atol=1e-5)
    hot, warm = tagger.entropy(docs), tagger_of(random_nlp(target, decoder)).entropy(docs)
    assert hot[0] > warm[0] + 0.1


@pytest.mark.parametrize("temperature", [0.3, 4.0])
def test_temperature_does_not_change_what_is_predicted(target: str, temperature: float) -> None:
    nlp, tempered = initialized_nlp(target), initialized_nlp(target)
    tagger_of(tempered).cfg["temperature"] = temperature
    docs = make_docs(nlp)
    found = zip(tagger_of(nlp).predict(docs), tagger_of(tempered).predict(docs), strict=True)
    assert all((one.ids == other.ids).all() for one, other in found)


def test_temperature_is_saved(tmp_path: Path) -> None:
    nlp = trained_nlp("ents")
    tagger_of(nlp).cfg["temperature"] = 1.7
    nlp.to_disk(tmp_path / "model")
    loaded = make_nlp("ents").from_disk(tmp_path / "model")
    assert tagger_of(loaded).cfg["temperature"] == pytest.approx(1.7)
    docs = make_docs(nlp)
    assert tagger_of(loaded).entropy(docs) == pytest.approx(tagger_of(nlp).entropy(docs))


def test_pipelines_without_these_settings_are_loaded_with_their_defaults(tmp_path: Path) -> None:
    old = trained_nlp("ents")
    for name in ("probabilities", "threshold", "temperature"):
        del tagger_of(old).cfg[name]
    old.to_disk(tmp_path / "model")
    loaded = make_nlp("ents", probabilities=True).from_disk(tmp_path / "model")
    cfg = tagger_of(loaded).cfg
    assert (cfg["probabilities"], cfg["threshold"], cfg["temperature"]) == (True, None, 1.0)
    assert loaded("Ann likes Berlin .")[0]._.psa_score is not None
