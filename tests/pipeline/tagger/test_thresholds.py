"""Predictions below a probability threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spacy.cli.find_threshold import find_threshold
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_psa.annotation.targets import make_target
from spacy_psa.pipeline.tagger import PSATagger
from spacy_psa.pipeline.tagger.decoder import TagPrediction

from ..conftest import (
    NAME,
    WORDS,
    annotation,
    gold_doc,
    initialized_nlp,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    trained_nlp,
)

TOKEN_TARGETS = ("tag", "pos", "morph")


def pairs(nlp: Language, threshold: Any) -> list[tuple[Doc, Doc]]:
    """Documents without a threshold, with probabilities, and with a threshold, without them."""
    tagger = tagger_of(nlp)
    tagger.cfg.update(probabilities=True, threshold=None)
    before = list(nlp.pipe(make_docs(nlp)))
    tagger.cfg.update(probabilities=False, threshold=threshold)
    return list(zip(before, nlp.pipe(make_docs(nlp)), strict=True))


def ents(doc: Doc) -> list[tuple[int, int, str]]:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def middle(nlp: Language) -> float:
    """A threshold that some predictions reach, and some do not."""
    docs = [before for before, _ in pairs(nlp, None)]
    has_spans = tagger_of(nlp).target.has_spans
    found = sorted(x._.psa_score for doc in docs for x in (doc.ents if has_spans else doc))
    assert found[0] < found[-1]
    return (found[0] + found[-1]) / 2


def test_spans_below_the_threshold_are_dropped() -> None:
    nlp = initialized_nlp("ents")
    threshold = middle(nlp)
    n_dropped = 0
    for before, after in pairs(nlp, threshold):
        kept = [ent for ent in before.ents if ent._.psa_score >= threshold]
        assert ents(after) == [(ent.start, ent.end, ent.label_) for ent in kept]
        n_dropped += len(before.ents) - len(kept)
    assert n_dropped


def test_the_tokens_of_dropped_spans_are_outside() -> None:
    nlp = initialized_nlp("ents")
    for before, after in pairs(nlp, 1.0):
        assert before.ents and not after.ents
        assert {token.ent_iob_ for token in after} == {"O"}


def test_dropped_spans_are_not_in_their_group() -> None:
    nlp = initialized_nlp("spans")
    for before, after in pairs(nlp, 1.0):
        assert len(before.spans["sc"]) > 0
        assert len(after.spans["sc"]) == 0


@pytest.mark.parametrize("target", TOKEN_TARGETS)
def test_dropped_labels_leave_their_token_unannotated(target: str) -> None:
    nlp = initialized_nlp(target)
    read, threshold = tagger_of(nlp).target.read, middle(nlp)
    found = pairs(nlp, threshold)
    for before, after in found:
        for token, other in zip(before, after, strict=True):
            assert read(other) == (read(token) if token._.psa_score >= threshold else "")
    assert {bool(read(token)) for _, after in found for token in after} == {True, False}


def test_labels_have_thresholds_of_their_own() -> None:
    found = pairs(trained_nlp("ents"), {"PER": 1.0})
    for before, after in found:
        assert ents(after) == [place for place in ents(before) if place[2] != "PER"]
    assert {ent.label_ for before, _ in found for ent in before.ents} == {"LOC", "PER"}


def test_tags_have_thresholds_of_their_own() -> None:
    nlp = trained_nlp("tag")
    for before, after in pairs(nlp, {"NNP": 1.0}):
        expected = ["" if token.tag_ == "NNP" else token.tag_ for token in before]
        assert [token.tag_ for token in after] == expected


@pytest.mark.parametrize(("score", "is_kept"), [(1 - 1e-7, True), (1 - 1e-5, False)])
@pytest.mark.parametrize(("target", "tag"), [("tag", "NNP"), ("ents", "S-PER")])
def test_a_threshold_of_one_keeps_what_is_certain_but_for_rounding(
    target: str, tag: str, score: float, is_kept: bool
) -> None:
    scores = np.array([score], dtype="float32")
    prediction = TagPrediction(np.array([0]), scores, {(0, 1, "PER"): score})
    for threshold in (1.0, {"NNP": 1.0, "PER": 1.0}):
        found = prediction.tags_above(threshold, make_target(target, spans_key="sc"), [tag])
        assert found == [tag if is_kept else None]


@pytest.mark.parametrize("threshold", [None, 0.0, {}, {"PER": 0.0}])
def test_these_thresholds_drop_nothing(threshold: Any) -> None:
    for before, after in pairs(initialized_nlp("ents"), threshold):
        assert annotation(after) == annotation(before)


def test_a_threshold_alone_keeps_no_probabilities() -> None:
    for _, after in pairs(trained_nlp("spans"), 0.5):
        assert after.user_data == {}
        assert "scores" not in after.spans["sc"].attrs


def test_dropped_labels_have_no_score() -> None:
    nlp = initialized_nlp("ents", probabilities=True, threshold=1.0)
    for doc in nlp.pipe(make_docs(nlp)):
        plain = Doc(nlp.vocab, words=[token.text for token in doc])
        tags = tagger_of(nlp).nbest([plain], 1)[0][0].tags
        assert [token._.psa_score is None for token in doc] == [tag != "O" for tag in tags]


@pytest.mark.parametrize("threshold", [1.0, {"LOC": 1.0, "PER": 1.0}])
def test_entities_that_are_there_already_are_never_dropped(threshold: Any) -> None:
    nlp = initialized_nlp("ents", threshold=threshold)
    doc = make_docs(nlp)[0]
    doc.set_ents([Span(doc, 0, 2, "LOC"), Span(doc, 3, 4, "ORG")])
    assert ents(nlp(doc)) == [(0, 2, "LOC"), (3, 4, "ORG")]


def test_spans_that_are_there_already_are_never_dropped() -> None:
    nlp = initialized_nlp("spans", threshold=1.0)
    doc = make_docs(nlp)[0]
    doc.spans["sc"] = [Span(doc, 0, 2, "NP"), Span(doc, 3, 4, "ORG")]
    assert [(s.start, s.end, s.label_) for s in nlp(doc).spans["sc"]] == [
        (0, 2, "NP"),
        (3, 4, "ORG"),
    ]


@pytest.mark.parametrize("overwrite", [True, False])
def test_tags_that_are_there_already_are_never_dropped(overwrite: bool) -> None:
    nlp = initialized_nlp("tag", threshold=1.0, overwrite=overwrite)
    doc = make_docs(nlp)[0]
    doc[0].tag_, doc[1].tag_ = "NN", "XX"
    assert [token.tag_ for token in nlp(doc)] == ["NN", "XX", "", "", "", ""]


def test_unknown_labels_are_found_when_training_begins() -> None:
    nlp = make_nlp("ents", threshold={"PERSON": 0.5})
    with pytest.raises(ValueError, match=r"\[P343\].*'PERSON'.*LOC, PER"):
        nlp.initialize(lambda: make_examples(nlp))


def test_unknown_labels_are_found_in_prediction() -> None:
    nlp = trained_nlp("tag")
    tagger_of(nlp).cfg["threshold"] = {"NNP": 0.5, "PER": 0.5}
    with pytest.raises(ValueError, match=r"\[P343\].*'PER'"):
        nlp("Ann")


def test_unknown_labels_are_found_when_a_pipeline_is_saved_or_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nlp = trained_nlp("ents")
    tagger_of(nlp).cfg["threshold"] = {"PERSON": 0.5}
    with pytest.raises(ValueError, match=r"\[P343\].*'PERSON'"):
        nlp.to_bytes()
    monkeypatch.setattr(PSATagger, "check_cfg", lambda tagger: None)
    data = nlp.to_bytes()
    with pytest.raises(ValueError, match=r"\[P343\].*'PERSON'"):
        make_nlp("ents").from_bytes(data)


@pytest.mark.parametrize("threshold", [0.25, {"PER": 0.25, "LOC": 1}])
def test_thresholds_are_saved(tmp_path: Path, threshold: Any) -> None:
    nlp = initialized_nlp("ents", threshold=threshold)
    nlp.to_disk(tmp_path / "model")
    loaded = make_nlp("ents").from_disk(tmp_path / "model")
    assert tagger_of(loaded).cfg["threshold"] == threshold
    found = zip(loaded.pipe(make_docs(nlp)), nlp.pipe(make_docs(nlp)), strict=True)
    assert all(annotation(one) == annotation(other) for one, other in found)


def test_a_numpy_number_can_be_saved(tmp_path: Path) -> None:
    nlp = trained_nlp("ents")
    tagger_of(nlp).cfg["threshold"] = np.linspace(0, 1, 3)[1]
    nlp.to_disk(tmp_path / "model")
    assert tagger_of(make_nlp("ents").from_disk(tmp_path / "model")).cfg["threshold"] == 0.5


def test_spacy_finds_the_best_threshold(tmp_path: Path) -> None:
    nlp = trained_nlp("ents")
    nlp.to_disk(tmp_path / "model")
    DocBin(docs=[gold_doc(nlp, i) for i in range(len(WORDS))]).to_disk(tmp_path / "dev.spacy")
    arguments = (str(tmp_path / "model"), tmp_path / "dev.spacy", NAME, "threshold")
    best, score, of_threshold = find_threshold(*arguments, "ents_f", n_trials=3)
    assert (best, score) == (0.0, 1.0)
    assert list(of_threshold) == [0.0, 0.5, 1.0]
    recall = find_threshold(*arguments, "ents_r", n_trials=3)[2]
    assert recall[0.0] == 1.0
    assert recall[1.0] < recall[0.5] <= recall[0.0]
