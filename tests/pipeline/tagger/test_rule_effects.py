"""What rules do to the distribution: what they guarantee, and what a score means."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_psa.annotation.rules import Rule
from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.inference import LinearChain
from spacy_psa.pipeline.tagger import PSATagger
from spacy_psa.pipeline.tagger.conditioning import condition

from ...inference.brute_force import BruteForce
from ..conftest import WORDS, initialized_nlp, make_docs, tagger_of, trained_nlp

BIOES = SCHEMES["BIOES"]


@cache
def random_nlp() -> Language:
    """An untrained pipeline."""
    return initialized_nlp("ents")


def probability(tagger: PSATagger, doc: Doc, start: int, end: int) -> float:
    """The probability that a span is a LOC."""
    distribution = tagger.distribution([doc])
    names = BIOES.encode([(0, end - start, "LOC")], end - start)
    sets = torch.tensor([[tag == name for tag in tagger.tags] for name in names])
    return float(distribution.span_probs([(start, end)], sets)[0])


PLACES = st.tuples(st.integers(0, 7), st.integers(1, 4), st.sampled_from(["LOC", "PER"]))


@given(st.integers(0, 20), st.lists(PLACES, max_size=3), st.lists(PLACES, max_size=3))
@settings(max_examples=15, deadline=None)
def test_required_spans_are_always_there_and_forbidden_ones_never(
    seed: int, required: list[Any], forbidden: list[Any]
) -> None:
    nlp = random_nlp()
    tagger, docs = tagger_of(nlp), make_docs(nlp, [WORDS[1]])
    generator = torch.Generator().manual_seed(seed)
    potentials = tagger.model.predict(docs)
    scores = {
        name: torch.randn(tensor.shape, generator=generator) * 20
        for name, tensor in potentials.tensors().items()
    }
    taken: set[int] = set()
    rules = []
    for start, length, label in required:
        end = min(start + length, 8)
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            rules.append(Rule(start, end, label))
    no = {(i, label) for start, n, label in forbidden for i in range(start, min(start + n, 8))}
    no = {(i, label) for i, label in no if i not in taken}
    rules += [Rule(i, i + 1, label, -inf) for i, label in no]
    given_rules = condition(
        replace(potentials, **scores),
        docs,
        tagger.target,
        tagger.tags,
        rules=lambda doc: rules,
        keep_existing=True,
        allow_space=False,
    )
    chain = LinearChain(given_rules, constraints=tagger.constraints)
    for ids in [chain.argmax, *chain.sample(5, generator=generator).T]:
        spans = BIOES.decode([tagger.tags[i] for i in ids])
        assert {(r.start, r.end, r.label) for r in rules if r.score == inf} <= set(spans)
        assert no.isdisjoint((i, label) for start, end, label in spans for i in range(start, end))


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize(("start", "end"), [(1, 2), (1, 3), (0, 3)])
def test_a_score_is_added_to_labelings_in_nats(start: int, end: int, temperature: float) -> None:
    nlp = random_nlp()
    tagger = tagger_of(nlp)
    doc = make_docs(nlp, [["Ann", "saw", "New", "York"]])[0]
    tagger.cfg["temperature"] = temperature
    own = BIOES.encode([(0, end - start, "LOC")], end - start)
    ((paths, scores),) = BruteForce(tagger.model.predict([doc])).chains
    scores = scores / temperature
    tags = [[tagger.tags[i] for i in path] for path in paths]
    for i, path_tags in enumerate(tags):
        same = sum(a == b for a, b in zip(path_tags[start:end], own, strict=True))
        scores[i] += 1.7 * same / (end - start)
        if BIOES.problems(path_tags):
            scores[i] = -inf
    probabilities = np.exp(scores - scores.max())
    probabilities /= probabilities.sum()
    has_span = [(start, end, "LOC") in BIOES.decode(path_tags) for path_tags in tags]
    before = probability(tagger, doc, start, end)
    tagger.rules = lambda doc: [Rule(start, end, "LOC", 1.7)]
    after = probability(tagger, doc, start, end)
    tagger.rules, tagger.cfg["temperature"] = None, 1.0
    assert after == pytest.approx(probabilities[has_span].sum(), rel=1e-4)
    change = np.log(after / (1 - after)) - np.log(before / (1 - before))
    assert 1.7 / (end - start) - 1e-4 < change < 1.7 + 1e-4


def test_annotation_goes_before_rules() -> None:
    rules = [Rule(2, 4, "LOC"), Rule(4, 6, "PER"), Rule(6, 7, "LOC"), Rule(7, 8, "PER", inf, False)]
    rules += [Rule(3, 4, label, -inf) for label in ("O", "PER", "LOC")]
    nlp = trained_nlp("ents")
    tagger_of(nlp).rules = lambda doc: rules
    doc = make_docs(nlp, [WORDS[1]])[0]
    doc.set_ents([Span(doc, 3, 5, "GPE")])
    found = {(ent.start, ent.end, ent.label_) for ent in nlp(doc).ents}
    assert {(3, 5, "GPE"), (6, 7, "LOC"), (7, 8, "PER")} <= found
    assert not {(2, 4, "LOC"), (4, 6, "PER")} & found


def test_a_favoured_span_across_sentences_changes_nothing() -> None:
    nlp = trained_nlp("ents")
    doc = make_docs(nlp, [WORDS[1]])[0]
    doc[3].is_sent_start = True
    before = tagger_of(nlp).marginals([doc])[0]
    tagger_of(nlp).rules = lambda doc: [Rule(2, 5, "PER", 9.0)]
    assert np.array_equal(tagger_of(nlp).marginals([doc])[0], before)


def test_a_threshold_does_not_touch_what_is_required() -> None:
    nlp = trained_nlp("ents", threshold=1.0)
    tagger_of(nlp).rules = lambda doc: [Rule(1, 4, "PER")]
    doc = nlp(make_docs(nlp, [WORDS[1]])[0])
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == [(1, 4, "PER")]
