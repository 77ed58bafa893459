"""The n best labelings of documents, compared with all labelings."""

from __future__ import annotations

import pytest
import torch
from spacy.tokens import Doc

from ..conftest import make_docs, tagger_of, trained_nlp
from .enumeration import BIOES, CASES, all_labelings, random_nlp, short_docs


@pytest.mark.parametrize("k", [1, 2, 30])
@pytest.mark.parametrize(("target", "decoder"), CASES)
def test_the_best_of_all(target: str, decoder: str, k: int) -> None:
    nlp = random_nlp(target, decoder)
    tagger, docs = tagger_of(nlp), short_docs(nlp)
    for doc, found in zip(docs, tagger.nbest(docs, k), strict=True):
        everything = all_labelings(tagger, doc)
        best = sorted(everything.values(), reverse=True)[:k]
        assert [labeling.probability for labeling in found] == pytest.approx(best, rel=1e-4)
        for labeling in found:
            assert labeling.probability == pytest.approx(everything[tuple(labeling.tags)], rel=1e-4)


@pytest.mark.parametrize(("target", "decoder"), CASES)
def test_no_labeling_comes_twice(target: str, decoder: str) -> None:
    nlp = random_nlp(target, decoder)
    for found in tagger_of(nlp).nbest(short_docs(nlp), 50):
        assert len({tuple(labeling.tags) for labeling in found}) == len(found)


def test_fewer_if_there_are_no_more() -> None:
    nlp = random_nlp("ents")
    words = [["Ann"], ["Ann", "saw"], []]
    tagger, docs = tagger_of(nlp), [Doc(nlp.vocab, words=ws) for ws in words]
    found = tagger.nbest(docs, 1000)
    # One token: O or one of two S tags. Two tokens: 3 × 3 of these, or one of two spans over both.
    assert [len(labelings) for labelings in found] == [3, 11, 1]
    for labelings in found:
        assert sum(labeling.probability for labeling in labelings) == pytest.approx(1.0, abs=1e-5)


def test_sentences_are_combined() -> None:
    nlp = random_nlp("ents")
    tagger = tagger_of(nlp)
    doc = Doc(nlp.vocab, words=["Ann", "saw", "ham"], sent_starts=[True] * 3)
    found = tagger.nbest([doc], 1000)[0]
    assert len(found) == 27
    assert sum(labeling.probability for labeling in found) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("target", "decoder"), CASES)
def test_the_first_one_is_what_is_predicted(target: str, decoder: str) -> None:
    nlp = random_nlp(target, decoder)
    tagger, docs = tagger_of(nlp), short_docs(nlp)
    predicted = [[tagger.tags[i] for i in prediction.ids] for prediction in tagger.predict(docs)]
    assert [found[0].tags for found in tagger.nbest(docs, 3)] == predicted


def test_spans_are_those_of_the_tags() -> None:
    nlp = random_nlp("ents")
    found = tagger_of(nlp).nbest(short_docs(nlp)[:1], 20)[0]
    assert any(labeling.spans for labeling in found)
    assert all(labeling.spans == BIOES.decode(labeling.tags) for labeling in found)


def test_labels_of_tokens_have_no_spans() -> None:
    nlp = random_nlp("tag")
    assert all(not found.spans for found in tagger_of(nlp).nbest(short_docs(nlp)[:1], 5)[0])


def test_documents_without_tokens_have_one_labeling(target: str) -> None:
    nlp = trained_nlp(target)
    for docs in ([Doc(nlp.vocab)], [Doc(nlp.vocab), *make_docs(nlp)]):
        (labeling,) = tagger_of(nlp).nbest(docs, 3)[0]
        assert (labeling.tags, labeling.spans, labeling.probability) == ([], [], 1.0)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
@pytest.mark.parametrize("words", [[], ["Ann"]])
def test_k_is_a_whole_number_above_0(k: float, words: list[str]) -> None:
    nlp = random_nlp("ents")
    with pytest.raises(ValueError, match=r"\[P014\]"):
        tagger_of(nlp).nbest([Doc(nlp.vocab, words=words)], k)


def test_a_long_document_of_many_sentences() -> None:
    nlp = random_nlp("ents")
    generator = torch.Generator().manual_seed(0)
    starts = (torch.rand(400, generator=generator) < 0.2).tolist()
    doc = Doc(nlp.vocab, words=["Ann", "saw"] * 200, sent_starts=[True, *starts[1:]])
    found = tagger_of(nlp).nbest([doc], 10)[0]
    probabilities = [labeling.probability for labeling in found]
    assert len(found) == 10
    assert probabilities == sorted(probabilities, reverse=True)
    assert len({tuple(labeling.tags) for labeling in found}) == 10
