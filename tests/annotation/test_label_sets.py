"""Labels known only as a set: reading, errors and scoring."""

from __future__ import annotations

from typing import Any

import pytest
from spacy.lang.en import English
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_psa.annotation.base import UNKNOWN, Target
from spacy_psa.annotation.targets import make_target

from .test_frame_tags import CountingExample

WORDS = ["Ann", "Lee", "saw", "New", "York", "City"]
VOCAB = English().vocab
TAGS = {"NN": 0, "JJ": 1, "VBD": 2}
SPAN_TAGS = {
    tag: i
    for i, tag in enumerate(
        ["O", *(f"{prefix}-{label}" for label in ("PER", "ORG", "LOC") for prefix in "BIES")]
    )
}


def target(name: str, separator: str | None = "|") -> Target:
    return make_target(name, spans_key="sc", set_separator=separator)


def tagged(tags: list[str], words: list[str] = WORDS) -> Doc:
    return Doc(VOCAB, words=words, tags=tags)


def with_ents(spans: list[tuple[int, int, str]], missing: tuple[int, ...] = ()) -> Doc:
    doc = Doc(VOCAB, words=WORDS)
    ents = [Span(doc, *span) for span in spans]
    doc.set_ents(ents, missing=[doc[i : i + 1] for i in missing])
    return doc


def with_spans(spans: list[tuple[int, int, str]], words: list[str] = WORDS) -> Doc:
    doc = Doc(VOCAB, words=words)
    doc.spans["sc"] = [Span(doc, *span) for span in spans]
    return doc


MAKE = {"ents": with_ents, "spans": with_spans}
PREFIX = {"ents": "ents", "spans": "spans_sc"}
both_kinds_of_spans = pytest.mark.parametrize("name", MAKE)


def example(reference: Doc, words: list[str] = WORDS) -> Example:
    return Example(Doc(VOCAB, words=words), reference)


def named(ids: dict[str, int], sets: dict[int, list[int]]) -> dict[int, list[str]]:
    names = list(ids)
    return {token: [names[i] for i in options] for token, options in sets.items()}


# Reading


def test_the_labels_of_a_set_are_its_parts() -> None:
    doc = tagged(["NN|JJ", "NN", "", "VBD|JJ|NN", "", ""])
    assert list(target("tag").labels_of(doc)) == ["NN", "JJ", "NN", "VBD", "JJ", "NN"]


@both_kinds_of_spans
def test_the_labels_of_a_span_with_a_set_are_its_parts(name: str) -> None:
    doc = MAKE[name]([(0, 2, "PER|ORG"), (3, 6, "LOC")])
    assert list(target(name).labels_of(doc)) == ["PER", "ORG", "LOC"]


def test_without_a_separator_a_label_is_a_label() -> None:
    doc = tagged(["NN|JJ"] * 6)
    plain = target("tag", None)
    assert set(plain.labels_of(doc)) == {"NN|JJ"}
    known, sets = plain.gold_sets(example(doc), (0,), {"NN|JJ": 0})
    assert known.tolist() == [0] * 6 and sets == {}


def test_tokens_with_sets_have_several_tags() -> None:
    eg = example(tagged(["NN|JJ", "NN", "", "VBD", "JJ|VBD", "NN"]))
    known, sets = target("tag").gold_sets(eg, (0,), TAGS)
    assert known.tolist() == [UNKNOWN, 0, UNKNOWN, 2, UNKNOWN, 0]
    assert named(TAGS, sets) == {0: ["NN", "JJ"], 4: ["JJ", "VBD"]}


@both_kinds_of_spans
def test_tokens_of_a_span_with_a_set_have_the_tags_of_each_label(name: str) -> None:
    eg = example(MAKE[name]([(0, 2, "PER|ORG"), (3, 4, "LOC|ORG"), (4, 6, "PER")]))
    known, sets = target(name).gold_sets(eg, (0,), SPAN_TAGS)
    assert [i for i in known if i != UNKNOWN] == [SPAN_TAGS[t] for t in ("O", "B-PER", "E-PER")]
    assert named(SPAN_TAGS, sets) == {
        0: ["B-PER", "B-ORG"],
        1: ["E-PER", "E-ORG"],
        3: ["S-LOC", "S-ORG"],
    }


@both_kinds_of_spans
def test_sets_are_brought_over_to_other_tokens(name: str) -> None:
    words = ["Ann", "Lee", "saw", "New", "Yo", "rk", "City"]
    eg = example(MAKE[name]([(3, 6, "LOC|ORG")]), words)
    _, sets = target(name).gold_sets(eg, (0,), SPAN_TAGS)
    assert named(SPAN_TAGS, sets) == {
        3: ["B-LOC", "B-ORG"],
        4: ["I-LOC", "I-ORG"],
        5: ["I-LOC", "I-ORG"],
        6: ["E-LOC", "E-ORG"],
    }


def test_any_separator_may_be_chosen() -> None:
    eg = example(tagged(["NN//JJ"] + ["NN"] * 5))
    _, sets = target("tag", "//").gold_sets(eg, (0,), TAGS)
    assert named(TAGS, sets) == {0: ["NN", "JJ"]}


def test_labels_of_spans_in_sets_may_contain_hyphens() -> None:
    eg = example(with_ents([(0, 2, "PER-X|ORG")]))
    ids = {f"{p}-{x}": i for i, (p, x) in enumerate((p, x) for p in "BE" for x in ("PER-X", "ORG"))}
    _, sets = target("ents").gold_sets(eg, (0,), {**ids, "O": 9})
    assert sets[0] == [ids["B-PER-X"], ids["B-ORG"]]


# Errors


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        ("NN|", "one of them is empty"),
        ("|NN", "one of them is empty"),
        ("NN||JJ", "one of them is empty"),
        ("|", "one of them is empty"),
        ("NN|JJ|NN", "'NN' occurs twice"),
        ("NN | JJ", "whitespace around 'NN'"),
        ("NN|\tJJ", "whitespace around 'JJ'"),
    ],
)
def test_sets_that_are_not_well_formed_are_errors(label: str, problem: str) -> None:
    doc = tagged([label] + ["NN"] * 5)
    with pytest.raises(ValueError, match=rf"P370.*Ann Lee.*'\|'.*{problem}") as error:
        list(target("tag").labels_of(doc))
    assert f"'{label}'" in str(error.value)
    with pytest.raises(ValueError, match="P370"):
        target("tag").gold_sets(example(doc), (0,), TAGS)


@both_kinds_of_spans
def test_spans_whose_set_is_not_well_formed_are_errors(name: str) -> None:
    doc = MAKE[name]([(0, 2, "PER|PER")])
    with pytest.raises(ValueError, match=r"P370.*PER"):
        list(target(name).labels_of(doc))
    with pytest.raises(ValueError, match=r"P370.*PER"):
        target(name).gold_sets(example(doc), (0,), SPAN_TAGS)


def test_a_label_in_a_set_that_the_model_has_not_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"P301.*'XX'"):
        target("tag").gold_sets(example(tagged(["NN|XX"] + ["NN"] * 5)), (0,), TAGS)


@pytest.mark.parametrize("separator", ["", " ", "| ", "\t", "or", "1"])
def test_separators_that_labels_may_contain_are_errors(separator: str) -> None:
    with pytest.raises(ValueError, match="P368"):
        target("tag", separator)


@pytest.mark.parametrize("name", ["pos", "morph"])
def test_targets_that_spacy_gives_single_values_have_no_sets(name: str) -> None:
    with pytest.raises(ValueError, match=rf"P369.*'{name}'.*tag, ents, spans"):
        target(name)


# Scoring


def predicted_tags(tags: list[str], reference: Doc, words: list[str] = WORDS) -> Example:
    return Example(tagged(tags, words), reference)


def score(name: str, eg: Example, separator: str | None = "|", **cfg: Any) -> dict[str, Any]:
    return target(name, separator).score([eg], **cfg)


def test_tags_within_the_set_are_right() -> None:
    reference = tagged(["NN|JJ", "NN|JJ", "NN", "NN|JJ", "", ""])
    eg = predicted_tags(["JJ", "NN", "NN", "VBD", "NN", "JJ"], reference)
    # Three of four are correct; two are not annotated
    assert score("tag", eg) == {"tag_acc": 0.75}
    assert score("tag", eg, None) == {"tag_acc": 0.25}


def test_tags_are_scored_on_tokens_that_align() -> None:
    words = ["Ann", "Lee", "saw", "New", "Yo", "rk", "City"]
    reference = tagged(["NN|JJ"] * 6)
    eg = predicted_tags(["NN", "JJ", "VBD", "NN", "NN", "VBD", "JJ"], reference, words)
    plain = Example(eg.predicted, tagged(["NN", "JJ", "NN", "NN", "NN", "JJ"]))
    assert score("tag", eg) == score("tag", plain, None)


@both_kinds_of_spans
def test_spans_with_a_label_of_the_set_are_right(name: str) -> None:
    reference = MAKE[name]([(0, 2, "PER|ORG"), (3, 6, "LOC|ORG")])
    eg = Example(MAKE[name]([(0, 2, "ORG"), (3, 6, "LOC")]), reference)
    scores = score(name, eg)
    prefix = PREFIX[name]
    assert [scores[f"{prefix}_{x}"] for x in "prf"] == [1.0, 1.0, 1.0]
    assert set(scores[f"{prefix}_per_type"]) == {"ORG", "LOC"}
    assert score(name, eg, None)[f"{prefix}_f"] == 0.0


@both_kinds_of_spans
def test_spans_of_other_labels_or_tokens_are_wrong(name: str) -> None:
    reference = MAKE[name]([(0, 2, "PER|ORG"), (2, 3, "LOC"), (3, 6, "LOC|ORG")])
    eg = Example(MAKE[name]([(0, 2, "LOC"), (2, 3, "LOC"), (3, 5, "LOC")]), reference)
    scores = score(name, eg)
    prefix = PREFIX[name]
    assert scores[f"{prefix}_p"] == scores[f"{prefix}_r"] == pytest.approx(1 / 3)
    assert scores[f"{prefix}_per_type"]["PER|ORG"]["r"] == 0.0


@both_kinds_of_spans
def test_sets_are_scored_across_tokenizations(name: str) -> None:
    words = ["Ann", "Lee", "saw", "New", "Yo", "rk", "City"]
    reference = MAKE[name]([(0, 2, "PER|ORG"), (3, 6, "LOC|ORG")])
    predicted = Doc(VOCAB, words=words)
    spans = [Span(predicted, 0, 2, "PER"), Span(predicted, 3, 7, "LOC")]
    predicted.set_ents(spans)
    predicted.spans["sc"] = spans
    found = score(name, Example(predicted, reference))
    plain = MAKE[name]([(0, 2, "PER"), (3, 6, "LOC")])
    assert found == score(name, Example(predicted, plain), None)


def test_entities_where_annotation_is_missing_are_not_scored() -> None:
    reference = with_ents([(0, 2, "PER|ORG")], missing=(3, 4, 5))
    eg = Example(with_ents([(0, 2, "ORG"), (3, 6, "LOC")]), reference)
    assert score("ents", eg)["ents_f"] == 1.0


def test_scoring_changes_neither_document() -> None:
    reference = tagged(["NN|JJ"] * 6)
    eg = predicted_tags(["JJ"] * 6, reference)
    score("tag", eg)
    assert [t.tag_ for t in reference] == ["NN|JJ"] * 6
    assert eg.reference is reference
    for name, make in MAKE.items():
        gold, found = make([(0, 2, "PER|ORG")]), make([(0, 2, "PER")])
        score(name, Example(found, gold))
        annotated = gold.ents if name == "ents" else gold.spans["sc"]
        assert [span.label_ for span in annotated] == ["PER|ORG"]


@pytest.mark.parametrize("separator", ["|", None])
def test_references_without_sets_are_not_copied(separator: str | None) -> None:
    examples = [predicted_tags(["NN"] * 6, tagged(["NN"] * 6))]
    assert next(iter(target("tag", separator).resolved(examples))) is examples[0]
    spans = [Example(with_spans([(0, 2, "A")]), with_spans([(0, 2, "B")]))]
    assert next(iter(target("spans", separator).resolved(spans))) is spans[0]


@pytest.mark.parametrize("name", ["tag", *MAKE])
def test_the_alignment_is_taken_once_for_all_tokens_and_spans(name: str) -> None:
    def make(n: int, label: str) -> Doc:
        doc = Doc(VOCAB, words=["a"] * n, tags=[label] * n)
        spans = [Span(doc, i, i + 1, label) for i in range(n)]
        doc.set_ents(spans)
        doc.spans["sc"] = spans
        return doc

    asked = []
    for n in (1, 2, 9):
        eg = CountingExample(make(n, "B"), make(n, "A|B"))
        resolved = target(name).resolve(eg)
        asked.append(eg.asked)
        assert set(target(name).labels_of(resolved.reference)) == {"B"}
    assert len(set(asked)) == 1
