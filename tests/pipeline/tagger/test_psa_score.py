"""Probabilities on documents: `token._.psa_score`, `span._.psa_score`, `attrs["scores"]`."""

from __future__ import annotations

import pickle
from itertools import chain, permutations

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_psa.annotation.targets import make_target
from spacy_psa.pipeline.tagger.confidence import set_scores

from ..conftest import (
    NAME,
    TARGETS,
    WORDS,
    initialized_nlp,
    make_docs,
    make_nlp,
    tagger_of,
    trained_nlp,
)

TOKEN_TARGETS = ("tag", "pos", "morph")
SPAN_TARGETS = ("ents", "spans")


def spans_in(doc: Doc) -> list[Span]:
    """The spans that a component found."""
    return [*doc.ents, *doc.spans.get("sc", ())]


def scores(doc: Doc) -> tuple[list[float | None], list[float | None]]:
    """All probabilities on a document."""
    return [token._.psa_score for token in doc], [span._.psa_score for span in spans_in(doc)]


def scored(target: str) -> tuple[Language, list[Doc]]:
    """Documents with predictions and their probabilities."""
    nlp = trained_nlp(target, probabilities=True)
    return nlp, list(nlp.pipe(make_docs(nlp)))


def both(*targets: str) -> Language:
    """A pipeline of several untrained components, whose probabilities differ."""
    nlp = spacy.blank("xx")
    for seed, target in enumerate(targets):
        source = initialized_nlp(target, seed=seed, probabilities=True)
        nlp.add_pipe(NAME, name=target, source=source)
    return nlp


def test_without_probabilities_nothing_is_kept(target: str) -> None:
    nlp = trained_nlp(target)
    doc = nlp(" ".join(WORDS[0]))
    assert scores(doc) == ([None] * len(doc), [None] * len(spans_in(doc)))
    assert doc.user_data == {}
    assert all("scores" not in group.attrs for group in doc.spans.values())


def test_scores_of_tokens_are_their_marginals(target: str) -> None:
    nlp, docs = scored(target)
    tagger = tagger_of(nlp)
    for doc, rows in zip(docs, tagger.marginals(make_docs(nlp)), strict=True):
        # Models that have memorized their data choose the most probable label
        np.testing.assert_allclose(scores(doc)[0], rows.max(axis=1), atol=1e-5)


@pytest.mark.parametrize("target", SPAN_TARGETS)
def test_scores_of_spans_are_their_probabilities(target: str) -> None:
    nlp, docs = scored(target)
    assert sum(len(spans_in(doc)) for doc in docs) > 3
    asked = [[(span.start, span.end, span.label_) for span in spans_in(doc)] for doc in docs]
    found = tagger_of(nlp).span_probs(make_docs(nlp), asked)
    for doc, expected in zip(docs, found, strict=True):
        assert scores(doc)[1] == pytest.approx(expected, abs=1e-5)
        assert all(0.0 < score <= 1.0 for score in expected)


def test_other_spans_have_no_score() -> None:
    _, docs = scored("ents")
    ent = docs[0].ents[0]
    assert docs[0][ent.start : ent.end]._.psa_score is None, "it has no label"
    assert Span(docs[0], ent.start, ent.end, "ORG")._.psa_score is None
    assert Span(docs[0], 0, len(docs[0]), ent.label)._.psa_score is None


def test_groups_have_scores_like_those_of_spancat() -> None:
    _, docs = scored("spans")
    for doc in docs:
        found = doc.spans["sc"].attrs["scores"]
        assert found.dtype == np.float32
        assert found.tolist() == pytest.approx(scores(doc)[1])


@pytest.mark.parametrize("overwrite", [True, False])
def test_labels_that_are_overwritten_lose_their_scores(target: str, overwrite: bool) -> None:
    nlp, docs = scored(target)
    before = [scores(doc) for doc in docs]
    tagger_of(nlp).cfg.update(probabilities=False, overwrite=overwrite)
    after = [scores(doc) for doc in nlp.pipe(docs)]
    if not overwrite:
        assert after == before
    else:
        assert not any(score for doc in after for score in chain(*doc))
        assert not any(doc.user_data for doc in docs)


def test_documents_without_tokens_have_no_scores(target: str) -> None:
    nlp = trained_nlp(target, probabilities=True, threshold=0.5)
    for doc in [nlp(Doc(nlp.vocab)), *nlp.pipe([Doc(nlp.vocab), nlp.make_doc("Ann")])]:
        assert len(scores(doc)[0]) == len(doc)


def test_scores_survive_pickling(target: str) -> None:
    _, docs = scored(target)
    for doc in docs:
        assert None not in scores(doc)[0]
        assert scores(pickle.loads(pickle.dumps(doc))) == scores(doc)


def test_scores_move_with_their_tokens(target: str) -> None:
    _, docs = scored(target)
    merged = Doc.from_docs(docs)
    tokens, spans = zip(*(scores(doc) for doc in docs), strict=True)
    assert scores(merged) == (list(chain(*tokens)), list(chain(*spans)))
    part = merged[len(docs[0]) : len(docs[0]) + len(docs[1])].as_doc(copy_user_data=True)
    assert scores(part)[0] == tokens[1]


def test_merged_documents_do_not_share_their_scores() -> None:
    nlp, docs = scored("tag")
    merged, before = Doc.from_docs(docs), scores(docs[1])
    tagger_of(nlp).cfg["temperature"] = 5.0
    tagger_of(nlp).cfg["overwrite"] = True
    assert scores(nlp(merged))[0][len(docs[0]) :] != before[0]
    assert scores(docs[1]) == before


@pytest.mark.parametrize("targets", permutations(["tag", "ents"]))
def test_scores_of_tokens_are_those_of_their_own_labels(targets: tuple[str, str]) -> None:
    nlp = both(*targets)
    doc, plain = nlp(" ".join(WORDS[0])), nlp.make_doc(" ".join(WORDS[0]))
    tag, ents = nlp.get_pipe("tag"), nlp.get_pipe("ents")
    rows, columns = tag.marginals([plain])[0], tag.marginal_labels
    expected = [row[columns.index(token.tag_)] for token, row in zip(doc, rows, strict=True)]
    assert scores(doc)[0] == pytest.approx(expected, abs=1e-5)
    assert doc.ents
    asked = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    assert scores(doc)[1] == pytest.approx(ents.span_probs([plain], [asked])[0], abs=1e-5)


@pytest.mark.parametrize("targets", permutations(["ents", "spans"]))
def test_scores_of_spans_are_those_of_their_own_component(targets: tuple[str, str]) -> None:
    nlp = both(*targets)
    doc, plain = nlp(" ".join(WORDS[1])), nlp.make_doc(" ".join(WORDS[1]))
    groups = {"ents": list(doc.ents), "spans": list(doc.spans["sc"])}
    places = [{(span.start, span.end) for span in spans} for spans in groups.values()]
    assert places[0] & places[1], "both have found spans of the same tokens"
    for name, spans in groups.items():
        asked = [(span.start, span.end, span.label_) for span in spans]
        expected = nlp.get_pipe(name).span_probs([plain], [asked])[0]
        assert [span._.psa_score for span in spans] == pytest.approx(expected, abs=1e-5)


def test_groups_of_spans_do_not_mix_up_their_scores() -> None:
    doc = make_docs(spacy.blank("xx"))[0]
    one, other = (make_target("spans", spans_key=key) for key in ("one", "other"))
    for target, label, score in ((one, "NP", 0.75), (other, "PER", 0.5), (one, "VP", 0.25)):
        doc.spans[target.spans_key] = [Span(doc, 0, 2, label)]
        set_scores(doc, target, [score] * len(doc), {(0, 2, label): score})
    found = {label: Span(doc, 0, 2, label)._.psa_score for label in ("NP", "PER", "VP")}
    assert found == {"NP": None, "PER": 0.5, "VP": 0.25}
    assert [doc.spans[key].attrs["scores"].tolist() for key in ("one", "other")] == [[0.25], [0.5]]


@pytest.mark.parametrize("target", TOKEN_TARGETS)
def test_labels_of_others_have_no_score(target: str) -> None:
    nlp = trained_nlp(target, probabilities=True)
    doc = nlp.make_doc(" ".join(WORDS[0]))
    other = {"tag": "XX", "pos": "X", "morph": "Case=Nom"}[target]
    tagger_of(nlp).target.write(doc[1], other)
    found = scores(nlp(doc))[0]
    assert [i for i, score in enumerate(found) if score is None] == [1]
    assert tagger_of(nlp).target.read(doc[1]) == other


def test_annotation_that_is_there_is_certain() -> None:
    nlp = initialized_nlp("spans", probabilities=True)
    doc = nlp.make_doc(" ".join(WORDS[0]))
    doc.spans["sc"] = [Span(doc, 0, 2, "VP"), Span(doc, 3, 4, "ORG")]
    doc = nlp(doc)
    found = dict(zip(map(str, doc.spans["sc"]), doc.spans["sc"].attrs["scores"], strict=True))
    assert found["Ann Lee"] == pytest.approx(1.0, abs=1e-6)
    assert found["green"] == 1.0
    assert Span(doc, 0, 2, "VP")._.psa_score == pytest.approx(1.0, abs=1e-6)
    assert doc[3]._.psa_score is None, "ORG is none of the component's labels"


@pytest.mark.parametrize("target", TARGETS)
def test_scores_are_replaced_with_what_they_are_of(target: str) -> None:
    nlp, docs = scored(target)
    tagger = tagger_of(nlp)
    tagger.cfg["overwrite"], tagger.cfg["temperature"] = True, 8.0
    fresh = make_nlp(target, probabilities=True).from_bytes(nlp.to_bytes())
    for doc in docs:
        again = scores(fresh(Doc(nlp.vocab, words=[t.text for t in doc])))
        for found, expected in zip(scores(nlp(doc)), again, strict=True):
            assert found == pytest.approx(expected, abs=1e-5)
    tagger.cfg["threshold"] = 1.0
    places = [[(span.start, span.end, span.label) for span in spans_in(doc)] for doc in docs]
    for doc in docs:
        nlp(doc)
    assert any(score is None for doc in docs for score in scores(doc)[0])
    for doc, dropped in zip(docs, places, strict=True):
        assert all(Span(doc, *place)._.psa_score is None for place in dropped)


def test_what_others_keep_on_documents_is_left_alone() -> None:
    nlp, (doc, *_) = scored("ents")
    doc.user_data["mine"] = 1
    Doc.set_extension("mine", default=None, force=True)
    doc._.mine = 2
    tagger_of(nlp).cfg["overwrite"] = True
    nlp(doc)
    assert (doc.user_data["mine"], doc._.mine) == (1, 2)


def test_sentences_are_scored_on_their_own() -> None:
    nlp = initialized_nlp("ents", probabilities=True)
    words = [*WORDS[0], *WORDS[1]]
    starts = [i in (0, len(WORDS[0])) for i in range(len(words))]
    whole = nlp(Doc(nlp.vocab, words=words, sent_starts=starts))
    parts = [nlp(Doc(nlp.vocab, words=ws)) for ws in WORDS[:2]]
    expected = chain(*(scores(doc)[0] for doc in parts))
    assert scores(whole)[0] == pytest.approx(list(expected), abs=1e-5)
