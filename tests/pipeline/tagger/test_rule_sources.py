"""Label rules from gazetteers and functions, in configs and pipelines."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import ignore_error, registry

from spacy_psa.annotation.rules import Rule
from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.pipeline.tagger.rule_sources import create_all_rules, create_span_rules

from ...cli.commands import succeed
from ...documentation import BLOCKS
from ..conftest import (
    WORDS,
    annotation,
    make_docs,
    make_nlp,
    tagger_of,
    trained_nlp,
)

TEXTS = [" ".join(words) for words in WORDS]
NEW_YORK = {"label": "GPE", "pattern": "New York"}
SPAN_RULES = {"@misc": "spacy_psa.SpanRules.v1", "spans_key": "ruler"}
BIOES = SCHEMES["BIOES"]


@registry.misc("test_rule_sources.capitals.v1")
def create_capitals(label: str) -> Any:
    """Exclude tokens without capital letters from spans of a label."""
    return lambda doc: [
        Rule(token.i, token.i + 1, label, -inf) for token in doc if token.text == token.lower_
    ]


@registry.misc("test_rule_sources.digits.v1")
def create_digits(label: str) -> Any:
    """Give numbers a certain tag."""
    return lambda doc: [Rule(token.i, token.i + 1, label) for token in doc if token.text.isdigit()]


def nlp_with(target: str, rules: Any) -> Language:
    """A trained pipeline with rules in its config."""
    nlp = make_nlp(target, rules=rules)
    tagger_of(nlp).from_bytes(tagger_of(trained_nlp(target)).to_bytes())
    return nlp


def with_ruler(target: str, patterns: list[dict[str, str]], **block: Any) -> Language:
    """A trained pipeline with a gazetteer."""
    nlp = nlp_with(target, {**SPAN_RULES, **block})
    nlp.add_pipe("span_ruler", first=True).add_patterns(patterns)
    return nlp


def asked(target: str, rules: Callable[[Doc], Any], words: list[str]) -> Doc:
    """A document labeled by a trained pipeline with rules."""
    nlp = trained_nlp(target)
    tagger_of(nlp).rules = rules
    return nlp(make_docs(nlp, [words])[0])


def entities(doc: Doc) -> set[tuple[str, str]]:
    return {(ent.text, ent.label_) for ent in doc.ents}


# Rules from spans


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.0, {("New York City", "LOC")}),
        (100.0, {("New York", "PER")}),
        ("require", {("New York", "PER")}),
        (-100.0, {("New York City", "LOC")}),
    ],
)
def test_a_gazetteer(score: float | str, expected: set[tuple[str, str]]) -> None:
    nlp = with_ruler("ents", [NEW_YORK], score=score, labels={"GPE": "PER"})
    assert expected <= entities(nlp(TEXTS[1]))


def test_a_gazetteer_of_what_is_no_entity() -> None:
    nlp = with_ruler("ents", [{"label": "LOC", "pattern": "York"}], score="forbid")
    found = nlp(TEXTS[1])
    assert all(token.ent_type_ != "LOC" for token in found if token.text == "York")
    assert {("Bob", "PER"), ("Ann", "PER")} <= entities(found)


def test_a_gazetteer_of_parts_of_entities() -> None:
    nlp = with_ruler("ents", [{"label": "PER", "pattern": "York"}], score="require", whole=False)
    (ent,) = [ent for ent in nlp(TEXTS[1]).ents if "York" in ent.text]
    assert ent.label_ == "PER"


def test_a_gazetteer_for_tags() -> None:
    nlp = with_ruler("tag", [{"label": "JJ", "pattern": "New York"}], score="require")
    found = nlp(TEXTS[1])
    assert [token.tag_ for token in found] == ["NNP", "VBD", "JJ", "JJ", "NNP", "CC", "NNP", "."]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (None, [(0, 1, "PER"), (2, 4, "GPE")]),
        ([], []),
        (["GPE", "LOC"], [(2, 4, "GPE")]),
        ({"GPE": "LOC"}, [(2, 4, "LOC")]),
        ({"GPE": "LOC", "PER": "LOC"}, [(0, 1, "LOC"), (2, 4, "LOC")]),
    ],
)
def test_labels_limit_and_rename(labels: Any, expected: list[tuple[int, int, str]]) -> None:
    doc = make_docs(make_nlp(), [WORDS[1]])[0]
    # Two patterns that match the same span make one rule
    spans = [Span(doc, 0, 1, "PER"), Span(doc, 2, 4, "GPE"), Span(doc, 2, 4, "GPE", span_id="x")]
    doc.spans["mine"] = spans
    found = create_span_rules("mine", 1.5, labels, whole=False)(doc)
    assert found == [Rule(*place, score=1.5, whole=False) for place in expected]


def test_a_document_without_the_spans_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"P364.*doc.spans\['other'\].*'Bob saw"):
        create_span_rules("other", 1.0)(make_docs(make_nlp(), [WORDS[1]])[0])


# "2.0" is not here: spaCy up to 3.8.11 converts it to a number before we see it.
@pytest.mark.parametrize("score", ["requre", "", "2,0", 1e9])
def test_a_wrong_score_is_an_error(score: Any) -> None:
    with pytest.raises(ValueError, match=r'P210.*score.*a number from.*"require" or "forbid"'):
        make_nlp(rules={**SPAN_RULES, "score": score})


def test_rules_of_several_sources_add_up() -> None:
    doc = make_docs(make_nlp(), [WORDS[1]])[0]
    doc.spans["ruler"] = [Span(doc, 2, 4, "LOC")]
    sources = [create_span_rules("ruler", "forbid"), create_digits("CC"), lambda doc: iter(())]
    assert create_all_rules(*sources)(doc) == [Rule(2, 4, "LOC", -inf)]
    with pytest.raises(ValueError, match=r"P360.*returned None.*'Bob saw"):
        create_all_rules(*sources, lambda doc: None)(doc)


# Custom functions


def test_a_function_that_forbids_a_label() -> None:
    nlp = nlp_with("ents", {"@misc": "test_rule_sources.capitals.v1", "label": "PER"})
    text = "bob saw New York City and Ann ."
    assert {("bob", "PER"), ("Ann", "PER")} <= entities(trained_nlp("ents")(text))
    doc = nlp(text)
    assert ("Ann", "PER") in entities(doc)
    assert all(token.text != token.lower_ for token in doc if token.ent_type_ == "PER")


def test_a_function_that_requires_a_tag() -> None:
    nlp = nlp_with("tag", {"@misc": "test_rule_sources.digits.v1", "label": "CC"})
    assert [token.tag_ for token in nlp("They eat 12 3 ham .")][2:4] == ["CC", "CC"]


# Errors


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        ([Rule(5, 9, "PER")], "P341.*'Bob saw.*5 to 9"),
        ([Rule(-1, 2, "PER")], "P341.*-1 to 2"),
        ([Rule(2, 2, "PER")], "P341.*2 to 2"),
        ([Rule(0, 1, "GPE")], "P340.*'Bob saw.*'GPE'.*O, LOC, PER"),
        ([Rule(0, 1, "PER", float("nan"))], "P361.*'Bob saw.*nan"),
        ([Rule(2, 4, "PER"), Rule(3, 5, "LOC")], r"P362.*'York' \(3\).*'Bob saw.*PER.*LOC"),
        ([Rule(2, 5, "LOC"), Rule(2, 4, "LOC")], r"P362.*'York' \(3\)"),
        ([Rule(2, 4, "PER"), Rule(3, 4, "PER", -inf)], r"P362.*'York' \(3\)"),
        ([Rule(1, 2, label, -inf) for label in ("PER", "LOC", "O")], r"P362.*'saw' \(1\)"),
        (None, "P360.*None.*'Bob saw"),
        (3, "P360.*'Bob saw"),
        ("PER", "P360.*'Bob saw"),
        ([Rule(0, 1, "PER"), (0, 2, "PER")], "P360.*'Bob saw"),
    ],
)
def test_wrong_rules_are_one_clear_error(rules: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        asked("ents", lambda doc: rules, WORDS[1])


def test_a_required_span_across_sentences_is_an_error() -> None:
    nlp = trained_nlp("ents")
    doc = make_docs(nlp, [WORDS[1]])[0]
    doc[3].is_sent_start = True
    tagger_of(nlp).rules = lambda doc: [Rule(2, 5, "LOC")]
    with pytest.raises(ValueError, match=r"P363.*'New York City' \(LOC.*'Bob saw"):
        nlp(doc)


def test_other_batches_go_on_after_an_error() -> None:
    nlp = trained_nlp("ents")
    tagger_of(nlp).rules = lambda doc: [Rule(2, 4, "PER"), Rule(3, len(doc), "LOC")]
    with pytest.raises(ValueError, match="P362"):
        list(nlp.pipe([TEXTS[1]]))
    tagger_of(nlp).rules = lambda doc: [Rule(0, 3, "PER")] if len(doc) != 8 else [Rule(8, 9, "PER")]
    nlp.set_error_handler(ignore_error)
    docs = list(nlp.pipe([TEXTS[0], TEXTS[1], "", TEXTS[2]], batch_size=1))
    assert [doc.text for doc in docs] == [TEXTS[0], "", TEXTS[2]]
    assert all(doc.ents[0].end == 3 for doc in docs if len(doc))


# Configs and processes


def test_rules_are_saved_with_the_config(tmp_path: Path) -> None:
    gazetteer = {**SPAN_RULES, "score": "require", "labels": {"GPE": "PER"}}
    numbers = {"@misc": "test_rule_sources.digits.v1", "label": "LOC"}
    block = {"@misc": "spacy_psa.AllRules.v1", "*": {"gazetteer": gazetteer, "numbers": numbers}}
    nlp = nlp_with("ents", block)
    nlp.add_pipe("span_ruler", first=True).add_patterns([NEW_YORK])
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    doc = loaded("Bob saw New York 12 .")
    assert {("New York", "PER"), ("12", "LOC")} <= entities(doc)
    assert tagger_of(loaded).rules.sources[0] == create_span_rules(
        "ruler", "require", {"GPE": "PER"}
    )
    assert entities(nlp(doc.text)) == entities(doc)


def test_fill_config_completes_rules(tmp_path: Path) -> None:
    partial = """
    [nlp]
    lang = "en"
    pipeline = ["span_ruler","psa_tagger"]
    [components]
    [components.span_ruler]
    factory = "span_ruler"
    [components.psa_tagger]
    factory = "psa_tagger"
    target = "ents"
    [components.psa_tagger.rules]
    @misc = "spacy_psa.SpanRules.v1"
    spans_key = "ruler"
    score = 2.5
    """
    (tmp_path / "partial.cfg").write_text(partial.replace("    ", ""))
    succeed("init", "fill-config", tmp_path / "partial.cfg", tmp_path / "full.cfg")
    config = spacy.util.load_config(tmp_path / "full.cfg")
    filled = config["components"]["psa_tagger"]["rules"]
    assert filled == {**SPAN_RULES, "score": 2.5, "labels": None, "whole": True}
    nlp = spacy.util.load_model_from_config(config)
    assert tagger_of(nlp).rules == create_span_rules("ruler", 2.5)


def test_processes_have_the_rules() -> None:
    nlp = with_ruler("ents", [NEW_YORK], score="require", labels={"GPE": "PER"})
    expected = [annotation(doc) for doc in nlp.pipe(TEXTS)]
    assert ("New York", "PER") in entities(nlp(TEXTS[1]))
    found = list(nlp.pipe(TEXTS, n_process=2, batch_size=1))
    assert [annotation(doc) for doc in found] == expected


def test_shipped_rules_can_be_pickled() -> None:
    rules = create_all_rules(create_span_rules("ruler", "forbid", {"GPE": "LOC"}, whole=False))
    assert pickle.loads(pickle.dumps(rules)) == rules


def test_arguments_are_in_the_reference() -> None:
    text = (BLOCKS / "span-rules.md").read_text(encoding="utf8")
    names = ["spacy_psa.SpanRules.v1", "spacy_psa.AllRules.v1"]
    names += [f"`{name}`" for name in inspect.signature(create_span_rules).parameters]
    assert [name for name in names if name not in text] == []
