"""Scores, and which of them select the best model."""

import logging

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example

from spacy_psa.pipeline.tagger.scorer import tagger_score

from ..conftest import (
    NAME,
    SCORES,
    TARGETS,
    gold_doc,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    trained_nlp,
)

NAMES = {
    "tag": {"tag_acc"},
    "pos": {"pos_acc"},
    "morph": {"morph_acc", "morph_per_feat", "morph_micro_p", "morph_micro_r", "morph_micro_f"},
    "ents": {"ents_p", "ents_r", "ents_f", "ents_per_type"},
    "spans": {"spans_sc_p", "spans_sc_r", "spans_sc_f", "spans_sc_per_type"},
}


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """Each of the targets, which are read and written in ways of their own."""
    return request.param


def test_scores_have_spacys_names(target: str) -> None:
    nlp = trained_nlp(target)
    scores = nlp.evaluate(make_examples(nlp))
    assert {n for n in scores if not n.startswith(("token_", "speed"))} == NAMES[target]


def test_scores_are_those_of_the_component(target: str) -> None:
    nlp = trained_nlp(target)
    examples = make_examples(nlp)
    for eg in examples:
        tagger_of(nlp)(eg.predicted)
    assert tagger_of(nlp).score(examples)[SCORES[target]] == 1.0


def test_perfect_annotation_scores_one(target: str) -> None:
    nlp = make_nlp(target)
    examples = [Example(gold_doc(nlp, i), gold_doc(nlp, i)) for i in range(3)]
    assert tagger_of(nlp).score(examples)[SCORES[target]] == 1.0


def test_empty_annotation_scores_zero(target: str) -> None:
    nlp = make_nlp(target)
    score = tagger_of(nlp).score(make_examples(nlp))[SCORES[target]]
    assert score == 0.0


def test_half_right_scores_half() -> None:
    nlp = make_nlp("tag")
    doc = make_docs(nlp, [["a", "b"]])[0]
    example = Example.from_dict(doc, {"tags": ["A", "B"]})
    doc[0].tag_, doc[1].tag_ = "A", "X"
    assert tagger_of(nlp).score([example])["tag_acc"] == 0.5


def test_docs_that_are_not_annotated_have_no_score(target: str) -> None:
    nlp = trained_nlp(target)
    docs = make_docs(nlp)
    scores = nlp.evaluate([Example(doc, doc.copy()) for doc in docs])
    assert scores[SCORES[target]] is None


def test_morphology_has_scores_by_feature() -> None:
    nlp = trained_nlp("morph")
    assert set(nlp.evaluate(make_examples(nlp))["morph_per_feat"]) == {"Number", "Tense", "Degree"}


def test_entities_have_scores_by_type() -> None:
    nlp = trained_nlp("ents")
    assert set(nlp.evaluate(make_examples(nlp))["ents_per_type"]) == {"PER", "LOC"}


def test_the_spans_key_is_in_the_names() -> None:
    nlp = make_nlp("spans")
    examples = make_examples(nlp)
    for eg in examples:
        eg.reference.spans["chunks"] = eg.reference.spans["sc"].copy()
    assert "spans_chunks_f" in tagger_score(examples, target="spans", spans_key="chunks")


def test_without_a_scorer_there_are_no_scores() -> None:
    nlp = make_nlp(scorer=None)
    nlp.initialize(lambda: make_examples(nlp))
    assert "tag_acc" not in nlp.evaluate(make_examples(nlp))
    assert tagger_of(nlp).score(make_examples(nlp)) == {}


# Score weights


def weights_after_initialize(nlp: Language) -> dict[str, float | None]:
    nlp.initialize(lambda: make_examples(nlp))
    weights = nlp.config["training"]["score_weights"]
    return {name: weight for name, weight in weights.items() if weight}


def test_the_scores_of_the_target_decide(target: str) -> None:
    assert weights_after_initialize(make_nlp(target)) == {SCORES[target]: 1.0}


def test_scores_that_were_given_weights_are_left_alone() -> None:
    nlp = make_nlp("ents")
    given = {"tag_acc": None, "ents_p": 0.7, "ents_r": 0.3}
    nlp.config["training"]["score_weights"] = given
    assert weights_after_initialize(nlp) == {"ents_p": 0.7, "ents_r": 0.3}


@pytest.mark.parametrize("weight", [0.0, None])
def test_scores_that_were_given_no_weight_are_left_alone(weight: float | None) -> None:
    nlp = make_nlp("ents")
    nlp.add_pipe(NAME, "second", config={"model": tiny_model()})
    given = {"tag_acc": 1.0, "ents_f": weight, "ents_p": None, "ents_r": None}
    nlp.config["training"]["score_weights"] = given
    assert weights_after_initialize(nlp) == {"tag_acc": 1.0}


def test_a_score_that_is_only_hidden_is_no_weight() -> None:
    nlp = make_nlp("ents")
    nlp.config["training"]["score_weights"] = {"ents_per_type": None}
    assert weights_after_initialize(nlp) == {"ents_f": 1.0}


def test_scores_of_other_targets_have_no_place() -> None:
    nlp = make_nlp("ents")
    nlp.initialize(lambda: make_examples(nlp))
    assert list(nlp.config["training"]["score_weights"]) == list(
        tagger_of(nlp).target.score_weights
    )


def test_the_scores_of_another_scorer_are_left_to_the_config() -> None:
    nlp = make_nlp("ents")
    tagger_of(nlp).scorer = lambda examples, **_: {"mine": 1.0}
    nlp.config["training"]["score_weights"] = {"tag_acc": None, "mine": 1.0}
    assert weights_after_initialize(nlp) == {"mine": 1.0}


def test_without_a_scorer_no_weights_are_added() -> None:
    assert weights_after_initialize(make_nlp("ents", scorer=None)) == {}


def test_the_weight_of_tags_stays_if_another_component_is_scored_by_it() -> None:
    nlp = make_nlp("ents")
    nlp.add_pipe(NAME, "second", config={"model": tiny_model()})
    assert weights_after_initialize(nlp) == {"tag_acc": 0.5, "ents_f": 0.5}


@pytest.mark.parametrize("targets", [list(SCORES), list(SCORES)[::-1]], ids=["in order", "reverse"])
def test_components_have_equal_shares(targets: list[str]) -> None:
    nlp = make_nlp(targets[0])
    for target in targets[1:]:
        nlp.add_pipe(NAME, target, config={"model": tiny_model(), "target": target})
    weights = weights_after_initialize(nlp)
    assert weights == {score: pytest.approx(1 / len(SCORES), abs=0.02) for score in SCORES.values()}


def test_components_have_equal_shares_if_others_come_from_another_pipeline() -> None:
    source = make_nlp("tag")
    source.add_pipe(NAME, "pos", config={"model": tiny_model(), "target": "pos"})
    weights_after_initialize(source)
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, "ents", config={"model": tiny_model(), "target": "ents"})
    for name in source.pipe_names:
        nlp.add_pipe(name, source=source)
    # As spaCy does in training
    with nlp.select_pipes(enable=source.pipe_names):
        nlp.resume_training()
    with nlp.select_pipes(enable="ents"):
        weights = weights_after_initialize(nlp)
    assert weights == {name: pytest.approx(1 / 3, abs=0.02) for name in weights}
    assert len(weights) == 3


def test_two_components_that_predict_the_same_are_told_once() -> None:
    nlp = make_nlp("spans")
    nlp.add_pipe(NAME, "other", config={"model": tiny_model(), "target": "spans"})
    nlp.add_pipe(NAME, "third", config={"model": tiny_model(), "target": "ents"})
    with pytest.warns(UserWarning, match=r"W450.*'psa_tagger' and 'other'.*--component") as told:
        nlp.initialize(lambda: make_examples(nlp))
    assert sum("W450" in str(warning.message) for warning in told) == 1


def test_spacys_components_have_equal_shares() -> None:
    nlp = make_nlp("ents")
    nlp.add_pipe("tagger")
    nlp.add_pipe("morphologizer")
    shares = {"ents_f": 1 / 3, "tag_acc": 1 / 3, "pos_acc": 1 / 6, "morph_acc": 1 / 6}
    assert weights_after_initialize(nlp) == pytest.approx(shares, abs=0.02)


def test_weights_that_are_added_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("spacy")
    logger.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.INFO, logger="spacy"):
            weights_after_initialize(make_nlp("pos"))
    finally:
        logger.removeHandler(caplog.handler)
    assert "pos_acc" in caplog.text
