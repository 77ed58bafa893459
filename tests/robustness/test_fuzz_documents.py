"""Documents of any kind, in any batches, through all systems."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.models.labeler import sentence_lengths

from ..pipeline.conftest import annotation
from .pipelines import CASES, LABELS, SPAN_CASES, SYSTEMS, pipeline, scores, tagger_of
from .strategies import ODD_WORDS, PLAIN_WORDS, Words, batches, documents

BIOES = SCHEMES["BIOES"]
pipelines = st.sampled_from(CASES).map(lambda case: pipeline(*case))
span_pipelines = st.sampled_from(SPAN_CASES).map(lambda case: pipeline(*case))


def spans_of(doc: Doc) -> list[Span]:
    """The spans that the component wrote."""
    return [*doc.ents, *(span for group in doc.spans.values() for span in group)]


def assert_equally_good(nlp: Language, found: Doc, expected: Doc) -> None:
    """Compare annotation and probabilities. If two labelings tie to six digits, rounding may
    decide between them.
    """
    if annotation(found) != annotation(expected):
        tagger = tagger_of(nlp)
        plain = Doc(nlp.vocab, words=[token.text for token in expected])
        for i, token in enumerate(expected):
            plain[i].sent_start = token.sent_start
        best, second = (labeling.probability for labeling in tagger.nbest([plain], 2)[0])
        assert second == pytest.approx(best, rel=1e-4, abs=0.0)
        return
    np.testing.assert_allclose(scores(found), scores(expected), atol=1e-5)


@given(nlp=pipelines, batch=batches, data=st.data())
def test_predictions_do_not_depend_on_the_batch(
    nlp: Language, batch: list[Words], data: st.DataObject
) -> None:
    alone = [nlp(words.doc(nlp.vocab)) for words in batch]
    order = data.draw(st.permutations(range(len(batch))))
    size = data.draw(st.integers(1, len(batch)))
    docs = [batch[i].doc(nlp.vocab) for i in order]
    for i, doc in zip(order, nlp.pipe(docs, batch_size=size), strict=True):
        assert_equally_good(nlp, doc, alone[i])


def test_predictions_do_not_depend_on_the_number_of_processes() -> None:
    if multiprocessing.get_start_method() == "spawn":
        pytest.skip("processes that start from nothing take long; see tests/pipeline")
    nlp = pipeline("psa", "ents")
    words = [*PLAIN_WORDS, *ODD_WORDS]
    batch = [
        Words(tuple(words[i : i + n]), (True,) * len(words[i : i + n]), None)
        for i in range(len(words))
        for n in (0, 1, 5)
    ]
    alone = [nlp(one.doc(nlp.vocab)) for one in batch]
    docs = [one.doc(nlp.vocab) for one in batch]
    for doc, expected in zip(nlp.pipe(docs, n_process=2, batch_size=7), alone, strict=True):
        assert_equally_good(nlp, doc, expected)


@given(nlp=pipelines, words=documents())
def test_tokens_get_one_of_the_labels_and_stay_as_they_are(nlp: Language, words: Words) -> None:
    before, doc = words.doc(nlp.vocab), nlp(words.doc(nlp.vocab))
    assert doc.text == before.text
    attributes = ["ORTH", "NORM", "SPACY", "SENT_START", "LEMMA", "HEAD", "DEP"]
    assert doc.to_array(attributes).tolist() == before.to_array(attributes).tolist()
    target = tagger_of(nlp).target
    if target.has_spans:
        assert {span.label_ for span in spans_of(doc)} <= set(LABELS[target.name])
    else:
        assert {target.read(token) for token in doc} <= set(LABELS[target.name])


@given(nlp=span_pipelines, words=documents())
def test_spans_are_those_of_well_formed_tags(nlp: Language, words: Words) -> None:
    tagger, doc = tagger_of(nlp), words.doc(nlp.vocab)
    (prediction,) = tagger.predict([doc])
    tags, first = [tagger.tags[i] for i in prediction.ids], 0
    tagger.set_annotations([doc], [prediction])
    spans = spans_of(doc)
    assert all(0 <= span.start < span.end <= len(doc) for span in spans)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    for length in sentence_lengths(doc):
        own = tags[first : first + length]
        assert BIOES.problems(own) == []
        # No span crosses a sentence boundary
        assert [
            (span.start - first, span.end - first, span.label_)
            for span in spans
            if first <= span.start < first + length
        ] == BIOES.decode(own)
        first += length


def _places(spans: Sequence[Span]) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.label_) for span in spans]


@given(
    nlp=st.sampled_from(sorted(SYSTEMS)).map(lambda name: pipeline(name, "ents")),
    words=documents(),
)
def test_entities_are_some_that_spacy_takes(nlp: Language, words: Words) -> None:
    doc = nlp(words.doc(nlp.vocab))
    expected = _places(doc.ents)
    empty = words.doc(nlp.vocab)
    assert _places(Doc(nlp.vocab).from_bytes(doc.to_bytes()).ents) == expected
    assert _places(Doc.from_docs([empty, doc]).ents[: len(expected)] if len(doc) else ()) == [
        (start + len(empty), end + len(empty), label) for start, end, label in expected
    ]
    empty.ents = [Span(empty, *place) for place in expected]
    assert _places(empty.ents) == expected
    # By characters: spaCy must be able to find each span again by its offsets in the text
    again = [doc.char_span(ent.start_char, ent.end_char, label=ent.label_) for ent in doc.ents]
    assert _places(again) == expected


@given(nlp=span_pipelines, words=documents(), data=st.data())
def test_what_is_annotated_stays_and_nothing_overlaps_with_it(
    nlp: Language, words: Words, data: st.DataObject
) -> None:
    doc, target = words.doc(nlp.vocab), tagger_of(nlp).target
    cuts = data.draw(st.lists(st.integers(0, len(doc)), max_size=4, unique=True).map(sorted))
    names = [*LABELS[target.name], "OTHER"]
    given_spans = [
        Span(doc, start, end, names[start % len(names)]) for start, end in list(pairwise(cuts))[::2]
    ]
    if target.name == "ents":
        doc.ents = given_spans
    else:
        doc.spans["sc"] = given_spans
    nlp(doc)
    spans = sorted(spans_of(doc))
    assert set(_places(given_spans)) <= set(_places(spans))
    assert all(one.end <= other.start for one, other in pairwise(spans))
