"""Which tokens of which sequences are recorded, and from which windows they are read."""

from __future__ import annotations

import numpy as np
import pytest
from spacy.language import Language

from spacy_psa.analysis.attention import look_inside

from ..pipeline import srl_data
from ..pipeline.conftest import initialized_nlp, tagger_of, tiny_model
from .inside import CLOSE, layers_with, look, make_doc, paper_nlp
from .inside import SENTENCE as WORDS


@pytest.fixture(scope="module")
def psa() -> Language:
    return initialized_nlp()


def test_what_goes_to_tokens_that_are_not_drawn_has_a_column(psa: Language) -> None:
    whole = layers_with(look(psa), "attention")[1].view.values["attention"]
    cut = layers_with(look(psa, n_tokens=2), "attention")[1].view.values["attention"]
    assert cut.shape == (1, 2, 3)
    np.testing.assert_allclose(cut[:, :, :2], whole[:, :2, :2], atol=CLOSE)
    np.testing.assert_allclose(cut[:, :, 2], whole[:, :2, 2:].sum(axis=2), atol=CLOSE)


def test_the_only_token_of_a_sentence_attends_to_nothing() -> None:
    [layer, _] = layers_with(look(paper_nlp(), ["Ann"]), "attention")
    assert layer.view.values["attention"].tolist() == [[[0.0]]]


def test_each_sentence_is_looked_at_by_itself(psa: Language) -> None:
    doc = make_doc(psa, [*WORDS, "Bob", "eats"], starts=(0, 5))
    together = look_inside(tagger_of(psa), doc)
    assert [passage.title for passage in together.passages] == ["Sentence 1", "Sentence 2"]
    for i, words in enumerate((WORDS, ["Bob", "eats"])):
        [alone] = look(psa, words).passages
        assert together.passages[i].words == words
        for layer, other in zip(together.passages[i].layers, alone.layers, strict=True):
            for name, values in layer.view.values.items():
                np.testing.assert_allclose(values, other.view.values[name], atol=CLOSE)
        np.testing.assert_allclose(together.passages[i].marginals, alone.marginals, atol=CLOSE)


def test_sentences_after_the_last_token_to_draw_are_left_out(psa: Language) -> None:
    doc = make_doc(psa, [*WORDS, "Bob", "eats", "ham"], starts=(0, 5, 7))
    insight = look_inside(tagger_of(psa), doc, n_tokens=6)
    assert [(len(p.words), p.n_more) for p in insight.passages] == [(5, 0), (1, 1)]
    assert (insight.n_shown, insight.n_tokens) == (6, 8)


def test_tokens_of_long_sequences_are_read_from_their_windows() -> None:
    nlp = initialized_nlp(model=tiny_model(max_length=4, overlap=2))
    words = ["Ann", "Lee", "likes", "green", "Berlin", "blue", "ham"]
    layer = layers_with(look(nlp, words), "attention")[0]
    [weights] = layer.view.values["attention"]
    # Windows begin at 0, 2 and 3; adjacent ones divide their overlap in the middle.
    for start, first, last in ((0, 0, 3), (2, 3, 4), (3, 5, 7)):
        inside = slice(start, start + 4)
        [own] = layers_with(look(nlp, words[inside]), "attention")[0].view.values["attention"]
        shown = weights[first:last]
        np.testing.assert_allclose(shown[:, inside], own[first - start : last - start], atol=CLOSE)
        assert np.isnan(np.delete(shown, np.arange(start, start + 4), axis=1)).all()


def test_semantic_roles_are_shown_for_each_predicate() -> None:
    nlp = srl_data.initialized_nlp()
    insight = look_inside(srl_data.srl_of(nlp), srl_data.given_doc(nlp, 1))
    assert [p.title for p in insight.passages] == [
        "Predicate said",
        "Predicate left",
        "Predicate sold",
    ]
    first, second, _ = ([x.view.values["attention"] for x in p.layers] for p in insight.passages)
    assert len(first) == 2
    np.testing.assert_allclose(np.concatenate(first).sum(axis=2), 1.0, atol=CLOSE)
    assert not np.allclose(first[0], second[0], atol=1e-3)


def test_models_of_an_ensemble_are_told_apart() -> None:
    models = {"a": srl_data.tiny_model(), "b": srl_data.tiny_model()}
    nlp = srl_data.make_nlp({"@architectures": "spacy_psa.RoleEnsemble.v1", "*": models})
    nlp.initialize(lambda: srl_data.make_examples(nlp))
    insight = look_inside(srl_data.srl_of(nlp), srl_data.given_doc(nlp, 0))
    titles = [layer.title for layer in insight.passages[0].layers]
    assert titles == [f"model {i}: multi head self attention {k}" for i in (1, 2) for k in (1, 2)]
