"""Probabilities of any document: of labels, of spans, and of whole labelings."""

from __future__ import annotations

from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc

from spacy_psa.annotation.rules import FORBIDDEN, MAX_SCORE, Rule
from spacy_psa.pipeline.tagger import PSATagger

from .pipelines import CASES, SPAN_CASES, pipeline, scores, tagger_of
from .strategies import Words, documents

pipelines = st.sampled_from(CASES).map(lambda case: pipeline(*case))
span_pipelines = st.sampled_from(SPAN_CASES).map(lambda case: pipeline(*case))


@given(nlp=pipelines, words=documents())
def test_scores_are_probabilities_and_entropies_finite(nlp: Language, words: Words) -> None:
    tagger, doc = tagger_of(nlp), words.doc(nlp.vocab)
    distribution = tagger.distribution([doc])
    (table,) = tagger.marginals([doc], distribution=distribution)
    assert table.shape == (len(doc), len(tagger.marginal_labels))
    assert ((table >= 0.0) & (table <= 1.0)).all()
    np.testing.assert_allclose(table.astype(np.float64).sum(axis=1), 1.0, atol=1e-5)
    (entropy,) = tagger.entropy([doc], distribution=distribution)
    assert 0.0 <= entropy <= len(doc) * log(len(tagger.tags)) + 1e-6
    nlp(doc)
    assert all(0.0 <= score <= 1.0 for score in scores(doc))
    # Every token has a label, even if it is in no span
    assert all(token._.psa_score is not None for token in doc)
    attached = doc.spans["sc"].attrs["scores"] if "sc" in doc.spans else ()
    assert all(0.0 <= score <= 1.0 for score in attached)


@given(nlp=span_pipelines, words=documents(), data=st.data())
def test_span_probabilities_are_not_above_those_of_their_tokens(
    nlp: Language, words: Words, data: st.DataObject
) -> None:
    tagger, doc = tagger_of(nlp), words.doc(nlp.vocab)
    places = st.tuples(st.integers(0, len(doc)), st.integers(0, len(doc)))
    drawn = data.draw(st.lists(places.map(sorted), max_size=5))
    spans = [(i, j, tagger.labels[i % len(tagger.labels)]) for i, j in drawn if i < j]
    (found,) = tagger.span_probs([doc], [spans])
    (table,) = tagger.marginals([doc])
    for (start, end, label), p in zip(spans, found, strict=True):
        column = tagger.marginal_labels.index(label)
        assert 0.0 <= p <= table[start:end, column].min() + 1e-5


def _n_labelings(tagger: PSATagger, doc: Doc) -> int:
    """The number of labelings of a sentence; with spans, of at most two tokens."""
    n = len(tagger.labels)
    if not tagger.target.has_spans:
        return n ** len(doc)
    # All segmentations of the tokens into adjacent spans and tokens outside, such as white space
    n_words = sum(not token.is_space for token in doc)
    return (1 + n) ** n_words + n * (n_words == 2)


@given(nlp=pipelines, words=documents(), k=st.integers(1, 8))
def test_the_best_labelings_are_sorted_and_different(nlp: Language, words: Words, k: int) -> None:
    tagger, doc = tagger_of(nlp), words.doc(nlp.vocab)
    (found,) = tagger.nbest([doc], k)
    (best,) = tagger.predict([doc])
    assert 1 <= len(found) <= k
    assert all(one.probability >= other.probability for one, other in pairwise(found))
    assert sum(labeling.probability for labeling in found) <= 1.0 + 1e-6
    assert len({tuple(labeling.tags) for labeling in found}) == len(found)
    assert found[0].tags == [tagger.tags[i] for i in best.ids]


@given(nlp=pipelines, words=documents(max_size=2))
def test_all_labelings_together_are_certain(nlp: Language, words: Words) -> None:
    words = Words(words.words[:2], words.spaces[:2], None)
    tagger, doc = tagger_of(nlp), words.doc(nlp.vocab)
    (found,) = tagger.nbest([doc], 1000)
    assert len(found) == _n_labelings(tagger, doc)
    assert sum(labeling.probability for labeling in found) == pytest.approx(1.0, abs=1e-6)


finite_scores = st.one_of(st.floats(-MAX_SCORE, MAX_SCORE), st.sampled_from((FORBIDDEN, 0.0)))


@given(
    nlp=pipelines,
    words=documents(),
    temperature=st.floats(0.05, 20.0),
    score=finite_scores,
    data=st.data(),
)
def test_rules_and_temperatures_leave_a_distribution(
    nlp: Language, words: Words, temperature: float, score: float, data: st.DataObject
) -> None:
    tagger, doc = tagger_of(nlp), words.doc(nlp.vocab)
    start = data.draw(st.integers(0, max(0, len(doc) - 1)))
    end = data.draw(st.integers(start + 1, max(start + 1, len(doc))))
    rule = Rule(start, end, tagger.labels[0], score, whole=data.draw(st.booleans()))
    before = tagger.cfg["temperature"]
    try:
        tagger.cfg["temperature"] = temperature
        tagger.rules = lambda doc: [rule] if len(doc) else []
        (table,) = tagger.marginals([doc])
        (entropy,) = tagger.entropy([doc])
        nlp(doc)
    finally:
        tagger.cfg["temperature"], tagger.rules = before, None
    np.testing.assert_allclose(table.astype(np.float64).sum(axis=1), 1.0, atol=1e-5)
    assert 0.0 <= entropy < np.inf
    assert all(0.0 <= p <= 1.0 for p in scores(doc))
