"""Targets: reading and writing annotation on a `Doc`, and unknown annotation."""

import random
import warnings
from typing import Any

import pytest
from spacy.lang.en import English
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_psa.annotation.base import UNKNOWN, Target
from spacy_psa.annotation.span_targets import SpanTarget, _align_ents, _read_ents
from spacy_psa.annotation.targets import TARGETS, list_targets, make_target

WORDS = ["Ann", "Lee", "saw", "New", "York", "City"]
VOCAB = English().vocab


def target(name: str) -> Target:
    return make_target(name, spans_key="sc")


def example(gold: dict[str, Any], words: list[str] | None = None) -> Example:
    """An example whose predicted document may have other tokens."""
    return Example.from_dict(Doc(VOCAB, words=WORDS if words is None else words), gold)


def spans_example(
    spans: list[tuple[int, int, str]], words: list[str] | None = None, key: str = "sc"
) -> Example:
    reference = Doc(VOCAB, words=WORDS)
    reference.spans[key] = [Span(reference, *span) for span in spans]
    return Example(Doc(VOCAB, words=WORDS if words is None else words), reference)


def gold(eg: Example, name: str, boundaries: tuple[int, ...] = (0,)) -> list[str | None]:
    return target(name).gold_tags(eg, boundaries)


def ents(tags: list[str], words: list[str] | None = None) -> Example:
    return example({"words": WORDS, "entities": tags}, words)


def test_an_unknown_target_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"P100.*lemma.*tag, pos, morph, ents, spans"):
        make_target("lemma", spans_key="sc")


@pytest.mark.parametrize(
    ("base", "missing"),
    [
        *((Target, name) for name in ("score_weights", "labels_of", "tags", "gold_tags")),
        *((Target, name) for name in ("existing_tags", "apply_rule", "label_of", "spans_of")),
        *((Target, name) for name in ("annotate", "score", "resolve")),
        *((SpanTarget, name) for name in ("existing", "relabel")),
    ],
)
def test_a_target_that_lacks_a_method_cannot_be_made(base: type[Target], missing: str) -> None:
    others = {name: None for name in base.__abstractmethods__ if name != missing}
    with pytest.raises(TypeError, match=missing):
        type("Other", (base,), others)("sc")


@pytest.mark.parametrize("name", TARGETS)
def test_targets_have_the_name_that_they_are_listed_under(name: str) -> None:
    assert target(name).name == name


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        ("tag", ["tag_acc"]),
        ("pos", ["pos_acc"]),
        ("morph", ["morph_acc", "morph_per_feat"]),
        ("ents", ["ents_f", "ents_p", "ents_r", "ents_per_type"]),
        ("spans", ["spans_sc_f", "spans_sc_p", "spans_sc_r", "spans_sc_per_type"]),
    ],
)
def test_scores_have_spacys_names(name: str, scores: list[str]) -> None:
    assert list(target(name).score_weights) == scores


@pytest.mark.parametrize("name", TARGETS)
def test_the_first_score_is_the_one_that_counts(name: str) -> None:
    first, *others = target(name).score_weights.values()
    assert first == 1.0 and not any(others)


def test_scores_by_label_are_shown_but_weigh_nothing() -> None:
    weights = {key: w for name in TARGETS for key, w in target(name).score_weights.items()}
    by_label = ["morph_per_feat", "ents_per_type", "spans_sc_per_type"]
    assert [key for key, weight in weights.items() if weight is None] == by_label


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ("Number=Sing|Case=Nom", "Case=Nom|Number=Sing"),
        ("Case=Nom,Acc", "Case=Acc,Nom"),
        ("A=B|A=C", "A=C"),
        ("Pos=noun", "POS=NOUN"),
    ],
)
def test_the_normal_form_of_morphology_is_what_spacy_writes(label: str, written: str) -> None:
    doc = Doc(VOCAB, words=["a"])
    target("morph").write(doc[0], label)
    assert target("morph").read(doc[0]) == written
    assert target("morph").normal_form(label) == target("morph").normal_form(written) == written


# Token attributes


def token_example(name: str, values: list[str], words: list[str] | None = None) -> Example:
    """An example with an attribute set on the tokens that have a value."""
    reference = Doc(VOCAB, words=WORDS)
    for token, value in zip(reference, values, strict=True):
        if value:
            target(name).write(token, value)
    return Example(Doc(VOCAB, words=WORDS if words is None else words), reference)


VALUES = {
    "tag": ["NNP", "", "VBD", "JJ", "NNP", ""],
    "pos": ["PROPN", "", "VERB", "ADJ", "PROPN", ""],
    "morph": ["Case=Nom", "", "_", "Case=Acc", "Case=Gen", ""],
}


@pytest.mark.parametrize("name", VALUES)
def test_missing_attributes_are_unknown(name: str) -> None:
    assert gold(token_example(name, VALUES[name]), name) == [v or None for v in VALUES[name]]


@pytest.mark.parametrize("name", VALUES)
def test_missing_attributes_are_no_labels(name: str) -> None:
    doc = token_example(name, VALUES[name]).reference
    assert list(target(name).labels_of(doc)) == [value for value in VALUES[name] if value]


@pytest.mark.parametrize("name", VALUES)
def test_the_attribute_of_joined_tokens_is_unknown_if_theirs_differ(name: str) -> None:
    eg = token_example(name, VALUES[name], ["Ann", "Lee", "saw", "NewYork", "City"])
    assert gold(eg, name) == [*[v or None for v in VALUES[name][:3]], None, None]


def test_unknown_tags_are_minus_one() -> None:
    eg = example({"words": WORDS, "tags": ["A", "", "B", "A", "", "B"]})
    ids, _ = target("tag").gold_sets(eg, (0,), {"A": 0, "B": 1})
    assert ids.tolist() == [0, UNKNOWN, 1, 0, UNKNOWN, 1]


def test_a_tag_that_the_model_has_not_is_an_error_that_names_it() -> None:
    eg = example({"words": WORDS, "tags": ["A"] * 5 + ["Z"]})
    with pytest.raises(ValueError, match=r"P301.*'Z'.*'tag'.*Ann Lee"):
        target("tag").gold_sets(eg, (0,), {"A": 0})


def test_writing_an_empty_morphology_leaves_the_token_annotated() -> None:
    doc = Doc(VOCAB, words=["a"])
    target("morph").annotate(doc, ["_"], overwrite=False)
    assert doc[0].has_morph()
    assert str(doc[0].morph) == ""


def test_pos_has_universal_parts_of_speech_only() -> None:
    with pytest.raises(ValueError, match=r"P302.*'NN'"):
        target("pos").tags(["NOUN", "NN"])


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize(("name", "old", "new"), [("tag", "A", "B"), ("pos", "NOUN", "VERB")])
def test_attributes_are_replaced_if_overwritten_only(
    name: str, old: str, new: str, overwrite: bool
) -> None:
    doc = Doc(VOCAB, words=["a", "b"])
    setattr(doc[0], f"{name}_", old)
    target(name).annotate(doc, [new, new], overwrite=overwrite)
    assert [getattr(t, f"{name}_") for t in doc] == [new if overwrite else old, new]


# Entities


def test_blocked_tokens_are_unknown_and_white_space_is_outside() -> None:
    words = ["Ann", "Lee", "\n", "saw", "\n", "Rome"]
    doc = Doc(VOCAB, words=words)
    doc.set_ents([Span(doc, 5, 6, "LOC")], blocked=[doc[0:2], doc[4:5]], missing=[doc[2:4]])
    tags = [None, None, "O", None, "O", "S-LOC"]
    assert gold(Example(Doc(VOCAB, words=words), doc), "ents") == tags
    other = Doc(VOCAB, words=[*words[:-1], "Ro", "me"], spaces=[True] * 5 + [False] * 2)
    assert gold(Example(other, doc), "ents") == [*tags[:-1], "B-LOC", "E-LOC"]


def entities_at_random(generator: random.Random) -> Example:
    """An example with entities, and tokens that are missing, blocked or whitespace."""
    words = [generator.choice("ab\n") for _ in range(generator.randint(0, 7))]
    doc = Doc(VOCAB, words=words)
    kinds: dict[str, list[Span]] = {"ents": [], "missing": [], "blocked": [], "outside": []}
    start = 0
    while start < len(doc):
        end = generator.randint(start + 1, len(doc))
        span = Span(doc, start, end, generator.choice(["A", "B-C"]))
        generator.choice(list(kinds.values())).append(span)
        start = end
    doc.set_ents(
        kinds["ents"],
        missing=kinds["missing"],
        blocked=kinds["blocked"],
        outside=kinds["outside"],
        default=generator.choice(["outside", "missing", "unmodified"]),
    )
    return Example(Doc(VOCAB, words=words), doc)


def test_entities_of_the_same_tokens_are_read_as_spacy_reads_them() -> None:
    biluo = {"L": "E", "U": "S"}
    generator = random.Random(0)
    for _ in range(500):
        eg = entities_at_random(generator)
        tags = [tag and biluo.get(tag[0], tag[0]) + tag[1:] for tag in eg.get_aligned_ner()]
        assert _read_ents(eg) == _align_ents(eg) == tags


def test_entities_are_brought_over_to_other_tokens() -> None:
    eg = ents(
        ["B-PER", "L-PER", "O", "O", "O", "O"], ["Ann", "L", "ee", "saw", "New", "York", "City"]
    )
    assert gold(eg, "ents") == ["B-PER", "I-PER", "E-PER", "O", "O", "O", "O"]


def test_an_entity_that_the_tokens_cannot_express_is_unknown() -> None:
    eg = ents(["B-PER", "L-PER", "O", "O", "O", "O"], ["Ann", "Leesaw", "New", "York", "City"])
    assert gold(eg, "ents")[:2] == [None, None]


@pytest.mark.parametrize("boundaries", [(0, 4), (0, 4, 5)])
def test_an_entity_across_sentence_boundaries_is_named_and_unknown(
    boundaries: tuple[int, ...],
) -> None:
    eg = ents(["O", "O", "O", "B-LOC", "I-LOC", "L-LOC"])
    with pytest.warns(UserWarning, match=r"W302.*New York City.*LOC, tokens 3 to 6"):
        tags = gold(eg, "ents", boundaries=boundaries)
    assert tags == ["O", "O", "O", None, None, None]


def test_entities_on_either_side_of_a_boundary_are_kept() -> None:
    eg = ents(["B-PER", "L-PER", "B-X", "L-X", "O", "O"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tags = gold(eg, "ents", boundaries=(0, 2, 4, 6))
    assert tags == ["B-PER", "E-PER", "B-X", "E-X", "O", "O"]


def test_writing_entities_marks_all_tokens_as_annotated() -> None:
    doc = Doc(VOCAB, words=WORDS)
    target("ents").annotate(doc, ["B-PER", "E-PER", "O", "O", "O", "O"], overwrite=False)
    assert [t.ent_iob_ for t in doc] == ["B", "I", "O", "O", "O", "O"]


def test_entities_there_already_win_where_they_overlap() -> None:
    doc = Doc(VOCAB, words=WORDS)
    doc.set_ents([Span(doc, 1, 3, "OLD", kb_id="Q1")])
    target("ents").annotate(doc, ["B-PER", "E-PER", "O", "B-LOC", "E-LOC", "O"], overwrite=False)
    assert [(e.start, e.end, e.label_, e.kb_id_) for e in doc.ents] == [
        (1, 3, "OLD", "Q1"),
        (3, 5, "LOC", ""),
    ]


def test_entities_there_already_go_if_overwritten() -> None:
    doc = Doc(VOCAB, words=WORDS)
    doc.set_ents([Span(doc, 1, 3, "OLD")])
    target("ents").annotate(doc, ["B-PER", "E-PER", "O", "O", "O", "O"], overwrite=True)
    assert [(e.start, e.end, e.label_) for e in doc.ents] == [(0, 2, "PER")]


# Span groups


def test_spans_become_bioes_tags() -> None:
    eg = spans_example([(0, 2, "NP"), (2, 3, "VP"), (3, 6, "NP")])
    assert gold(eg, "spans") == ["B-NP", "E-NP", "S-VP", "B-NP", "I-NP", "E-NP"]


def test_a_doc_without_the_key_is_unknown() -> None:
    assert gold(spans_example([(0, 2, "NP")], key="other"), "spans") == [None] * 6


def test_a_doc_with_an_empty_group_is_all_outside() -> None:
    assert gold(spans_example([]), "spans") == ["O"] * 6


def test_an_overlapping_span_is_named_and_its_tokens_unknown() -> None:
    eg = spans_example([(0, 3, "A"), (2, 4, "B")])
    with pytest.warns(UserWarning, match=r"W301.*'saw New' \(B, tokens 2 to 4\).*'sc'"):
        tags = gold(eg, "spans")
    assert tags == ["B-A", "I-A", "E-A", None, "O", "O"]


def test_of_two_labels_for_the_same_tokens_one_is_kept() -> None:
    with pytest.warns(UserWarning, match="W301"):
        tags = gold(spans_example([(0, 2, "A"), (0, 2, "B")]), "spans")
    assert tags in (
        ["B-A", "E-A", "O", "O", "O", "O"],
        ["B-B", "E-B", "O", "O", "O", "O"],
    )


def test_the_same_span_twice_is_no_overlap() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tags = gold(spans_example([(0, 2, "A"), (0, 2, "A")]), "spans")
    assert tags[:2] == ["B-A", "E-A"]


def test_the_order_of_spans_in_the_group_does_not_matter() -> None:
    eg = spans_example([(3, 6, "NP"), (0, 2, "NP")])
    assert gold(eg, "spans") == ["B-NP", "E-NP", "O", "B-NP", "I-NP", "E-NP"]


def test_spans_are_brought_over_to_other_tokens() -> None:
    eg = spans_example([(3, 6, "NP")], ["Ann", "Lee", "saw", "New", "Yo", "rk", "City"])
    assert gold(eg, "spans") == ["O", "O", "O", "B-NP", "I-NP", "I-NP", "E-NP"]


def test_a_span_that_the_tokens_cannot_express_is_unknown() -> None:
    eg = spans_example([(3, 5, "NP")], ["Ann", "Lee", "saw", "New", "YorkCity"])
    assert gold(eg, "spans") == ["O", "O", "O", None, None]


def test_a_span_across_a_sentence_boundary_is_named_and_unknown() -> None:
    with pytest.warns(UserWarning, match=r"W302.*New York City"):
        tags = gold(spans_example([(0, 2, "NP"), (3, 6, "NP")]), "spans", boundaries=(0, 5))
    assert tags == ["B-NP", "E-NP", "O", None, None, None]


def test_spans_are_written_under_the_key() -> None:
    doc = Doc(VOCAB, words=WORDS)
    target("spans").annotate(doc, ["B-NP", "E-NP", "S-VP", "O", "O", "O"], overwrite=False)
    assert [(s.start, s.end, s.label_) for s in doc.spans["sc"]] == [(0, 2, "NP"), (2, 3, "VP")]
    assert doc.spans["sc"].name == "sc"


def test_no_spans_are_an_empty_group() -> None:
    doc = Doc(VOCAB, words=WORDS)
    target("spans").annotate(doc, ["O"] * 6, overwrite=False)
    assert list(doc.spans["sc"]) == []


@pytest.mark.parametrize(
    ("overwrite", "expected"),
    [
        (True, [(0, 2, "NP"), (3, 5, "NP")]),
        (False, [(1, 3, "OLD"), (3, 5, "NP")]),
    ],
)
def test_spans_there_already_go_if_overwritten_only(overwrite: bool, expected: list) -> None:
    doc = Doc(VOCAB, words=WORDS)
    doc.spans["sc"] = [Span(doc, 1, 3, "OLD")]
    target("spans").annotate(doc, ["B-NP", "E-NP", "O", "B-NP", "E-NP", "O"], overwrite=overwrite)
    assert [(s.start, s.end, s.label_) for s in doc.spans["sc"]] == expected


@pytest.mark.parametrize("name", ["ents", "spans"])
def test_writing_and_reading_agree(name: str) -> None:
    tags = ["B-A", "E-A", "S-B", "B-A", "I-A", "E-A"]
    doc = Doc(VOCAB, words=WORDS)
    target(name).annotate(doc, tags, overwrite=True)
    assert gold(Example(Doc(VOCAB, words=WORDS), doc), name) == tags


@pytest.mark.parametrize("name", TARGETS)
def test_an_empty_doc_is_read_and_written(name: str) -> None:
    doc = Doc(VOCAB)
    target(name).annotate(doc, [], overwrite=True)
    assert gold(Example(Doc(VOCAB), doc), name) == []
    assert list(target(name).labels_of(doc)) == []


def test_an_empty_doc_is_annotated_for_nothing() -> None:
    ents = Doc(VOCAB, words=WORDS, ents=["B-PER", *["O"] * 5])
    assert list_targets([Doc(VOCAB), ents]) == "ents"
    assert list_targets([Doc(VOCAB)]) == "nothing"
