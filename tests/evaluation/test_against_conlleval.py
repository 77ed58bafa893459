"""Our scores equal those of the CoNLL script on real data with many mistakes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import islice

import pytest
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.corpora.docs import make_docs
from spacy_psa.corpora.iob import read_conll2000, read_iob
from spacy_psa.corpora.sentence import Sentence
from spacy_psa.evaluation.conlleval import ConllevalResult, score_tags
from spacy_psa.evaluation.layers import Layer, make_layer
from spacy_psa.evaluation.report import Report, Settings, evaluate
from spacy_psa.evaluation.sentences import pair_sentences

from ..corpora.shared import shared_corpus

N = 300
CORPORA = {"chunks": ("conll2000", "test.txt"), "entities": ("ncbi_disease", "test.tsv")}


def sentences_of(kind: str) -> list[Sentence]:
    folder, name = CORPORA[kind]
    path = shared_corpus(folder) / name
    found: Iterable[Sentence] = read_conll2000(path) if kind == "chunks" else read_iob(path)
    return list(islice(found, N))


def spoiled(docs: list[Doc], kind: str, rng: random.Random) -> list[Doc]:
    """The same words with some spans left out, shortened, lengthened or relabeled."""
    result = []
    for doc in docs:
        gold = list(doc.spans["chunks"] if kind == "chunks" else doc.ents)
        labels = [*sorted({span.label_ for span in gold}), "other"]
        found, end = [], 0
        other = Doc(doc.vocab, words=[token.text for token in doc])
        for span in gold:
            change = rng.random()
            start = span.start + (change < 0.1 and len(span) > 1)
            label = rng.choice(labels) if change > 0.85 else span.label_
            if not 0.1 <= change < 0.2 and start >= end:
                end = span.end + (0.2 <= change < 0.25 and span.end < len(doc))
                found.append(Span(other, start, end, label))
        if kind == "chunks":
            other.spans["chunks"] = found
        else:
            other.set_ents(found)
        result.append(other)
    return result


def conlleval_of(gold: list[Doc], found: list[Doc], kind: str) -> ConllevalResult:
    """The script's scores, computed from tags."""

    def tags(doc: Doc) -> list[str]:
        spans = doc.spans["chunks"] if kind == "chunks" else doc.ents
        return SCHEMES["BIO"].encode([(s.start, s.end, s.label_) for s in spans], len(doc))

    return score_tags(map(tags, gold), map(tags, found))


def both(kind: str) -> tuple[Report, ConllevalResult]:
    layer: Layer = make_layer("spans" if kind == "chunks" else "ents", "chunks")
    gold = list(make_docs(Vocab(), sentences_of(kind)))
    found = spoiled(gold, kind, random.Random(0))
    settings = Settings(n_resamples=10)
    return (
        evaluate(pair_sentences(gold, found, layer), layer, settings),
        conlleval_of(gold, found, kind),
    )


@pytest.mark.parametrize("kind", CORPORA)
def test_figures_are_those_of_conlleval(kind: str):
    report, expected = both(kind)
    assert 0.5 < expected.chunks.f1 < 0.95
    for name in ("precision", "recall", "f1"):
        ours, theirs = 100 * report.scores[name], 100 * getattr(expected.chunks, name)
        assert f"{ours:.2f}" == f"{theirs:.2f}", name
    assert f"{100 * report.scores['accuracy']:.2f}" == f"{100 * expected.accuracy:.2f}"
    assert report.n_tokens == expected.tokens


@pytest.mark.parametrize("kind", CORPORA)
def test_figures_per_label_are_those_of_conlleval(kind: str):
    report, expected = both(kind)
    found = {row.name: row.counts for row in report.breakdowns["label"].rows}
    assert found == expected.per_type
