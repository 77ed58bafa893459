"""Rules and existing annotation, as scores of tags."""

import itertools
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.lang.en import English
from spacy.tokens import Doc, Span

from spacy_psa.annotation.base import Target, add_bias
from spacy_psa.annotation.rules import MAX_SCORE, Rule, check_rule, is_score, rules_for
from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.annotation.targets import make_target

WORDS = ["Ann", "Lee", "saw", "New", "York"]
VOCAB = English().vocab
BIOES = SCHEMES["BIOES"]
LABELS = ["LOC", "PER"]


def target(name: str, **settings: Any) -> Target:
    return make_target(name, spans_key="sc", **settings)


def make_doc() -> Doc:
    return Doc(VOCAB, words=WORDS)


def ids_of(name: str) -> dict[str, int]:
    return {tag: i for i, tag in enumerate(target(name).tags(LABELS))}


def bias_of(rule: Rule, name: str = "ents", n_tokens: int = 5) -> list[dict[str, float]]:
    """What a rule adds to the scores of each token's tags, without zeros."""
    ids = ids_of(name)
    bias = np.zeros((n_tokens, len(ids)), dtype=np.float32)
    target(name).apply_rule(rule, bias, ids)
    return [{tag: float(row[i]) for tag, i in ids.items() if row[i]} for row in bias]


def sequences(length: int) -> list[tuple[str, ...]]:
    """All well-formed sequences of tags: those that decoding and re-encoding leave unchanged."""
    found = itertools.product(BIOES.tags(LABELS), repeat=length)
    return [tags for tags in found if BIOES.encode(BIOES.decode(tags), length) == list(tags)]


def gain(rule: Rule, tags: tuple[str, ...]) -> float:
    """What a rule adds to the score of a sequence of tags."""
    rows = bias_of(rule, "ents", len(tags))
    return sum(row.get(tag, 0.0) for row, tag in zip(rows, tags, strict=True))


# Scores


def test_a_label_of_tokens_gains_the_score_at_each_of_them() -> None:
    found = bias_of(Rule(1, 3, "PER", 2.0), "tag")
    assert found == [{}, {"PER": 2.0}, {"PER": 2.0}, {}, {}]


def test_a_span_of_one_token_gains_the_score() -> None:
    assert bias_of(Rule(2, 3, "LOC", 1.5)) == [{}, {}, {"S-LOC": 1.5}, {}, {}]


def test_a_whole_span_shares_the_score_out_over_its_tags() -> None:
    found = bias_of(Rule(1, 4, "LOC", 3.0))
    assert found == [{}, {"B-LOC": 1.0}, {"I-LOC": 1.0}, {"E-LOC": 1.0}, {}]


def test_tokens_of_spans_gain_the_score_whatever_the_span() -> None:
    own = {"B-LOC": 3.0, "I-LOC": 3.0, "E-LOC": 3.0, "S-LOC": 3.0}
    assert bias_of(Rule(1, 3, "LOC", 3.0, whole=False)) == [{}, own, own, {}, {}]


@pytest.mark.parametrize("whole", [True, False])
def test_outside_is_a_label_of_tokens(whole: bool) -> None:
    assert bias_of(Rule(0, 2, "O", -1.0, whole))[:3] == [{"O": -1.0}, {"O": -1.0}, {}]


@pytest.mark.parametrize("whole", [True, False])
def test_a_forbidden_label_is_forbidden_in_all_spans(whole: bool) -> None:
    rule = Rule(1, 3, "PER", -inf, whole)
    for tags in sequences(4):
        has_label = any(tag.endswith("PER") for tag in tags[1:3])
        assert gain(rule, tags) == (-inf if has_label else 0.0)


def test_a_required_label_is_in_some_span_at_each_token() -> None:
    rule = Rule(1, 3, "LOC", inf, whole=False)
    for tags in sequences(4):
        complies = all(tag.endswith("LOC") for tag in tags[1:3])
        assert gain(rule, tags) == (0.0 if complies else -inf)


@given(st.lists(st.sampled_from([inf, -inf, 2.0, -1.0]), min_size=1, max_size=5), st.randoms())
@settings(max_examples=25, deadline=None)
def test_scores_add_up_and_never_become_undefined(scores: list[float], random: Any) -> None:
    row = np.zeros(4, dtype=np.float32)
    allowed, finite = {0, 1, 2, 3}, np.zeros(4)
    for score in scores:
        ids = random.sample(range(4), 2)
        add_bias(row, ids, score)
        allowed &= set(ids) if score == inf else allowed
        allowed -= set(ids) if score == -inf else set()
        finite[ids] += score if abs(score) < inf else 0.0
    assert row.tolist() == [finite[i] if i in allowed else -inf for i in range(4)]


# Checks


@pytest.mark.parametrize("score", [0.0, -3, 2.5, np.float32(1.0), MAX_SCORE, inf, -inf])
def test_scores(score: float) -> None:
    assert is_score(score)
    check_rule(Rule(0, 1, "PER", score), make_doc(), LABELS)


@pytest.mark.parametrize("score", [nan, 1e9, -1e9, 10**400, True, "2.0", None])
def test_what_is_no_score_is_an_error(score: Any) -> None:
    assert not is_score(score)
    with pytest.raises(ValueError, match=r"P361.*'Ann Lee saw New York '.*score"):
        check_rule(Rule(0, 1, "PER", score), make_doc(), LABELS)


def test_any_iterable_of_rules_will_do() -> None:
    rules = rules_for(make_doc(), lambda doc: (Rule(token.i, token.i + 1, "PER") for token in doc))
    assert [rule.start for rule in rules] == [0, 1, 2, 3, 4]


# Existing annotation


def existing(name: str, doc: Doc, boundaries: tuple[int, ...] = (0,)) -> list[str | None] | None:
    return target(name).existing_tags(doc, boundaries)


def spans_doc(*spans: tuple[int, int, str]) -> Doc:
    doc = make_doc()
    doc.spans["sc"] = [Span(doc, *span) for span in spans]
    return doc


@pytest.mark.parametrize("name", ["tag", "pos", "morph", "ents", "spans"])
def test_a_document_without_annotation_has_nothing(name: str) -> None:
    assert existing(name, make_doc()) is None


def test_an_entity_ruler_without_matches_leaves_nothing() -> None:
    doc = make_doc()
    doc.set_ents([])
    doc.spans["sc"] = []
    assert existing("ents", doc) is None
    assert existing("spans", doc) is None


def test_tags_that_are_set() -> None:
    doc = make_doc()
    doc[1].tag_ = "PER"
    doc[2].set_morph("")
    assert existing("tag", doc) == [None, "PER", None, None, None]
    assert existing("morph", doc) == [None, None, "_", None, None]


def test_spans_of_no_tokens_are_nothing() -> None:
    assert existing("spans", spans_doc((2, 2, "LOC"))) is None
    assert existing("spans", spans_doc((2, 2, "LOC"), (2, 3, "PER")))[2] == "S-PER"


def test_what_stands_for_a_set_of_labels() -> None:
    sets = target("tag", set_separator="|")
    assert sets.matching_tag_ids("LOC|PER", ids_of("tag"), make_doc()) == [0, 1]
    assert sets.matching_tag_ids("PER|GPE", ids_of("tag"), make_doc()) == [1]
