"""Semantic roles as a layer: the same counts as the CoNLL-2005 evaluator's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import Frame, set_frames
from spacy_psa.annotation.role_scores import EXCLUDED, NO_ARGUMENT, SRLResult, srl_eval
from spacy_psa.evaluation.comparison import compare, sentence_table, summary
from spacy_psa.evaluation.confusion import NOTHING, mistakes_in
from spacy_psa.evaluation.layers import RolesLayer, Unit
from spacy_psa.evaluation.rendering import mistake_line, report_tables
from spacy_psa.evaluation.rendering import summary as summary_of_report
from spacy_psa.evaluation.report import Report, Settings, evaluate
from spacy_psa.evaluation.report_page import to_html
from spacy_psa.evaluation.sentences import ScoredSentence, pair_sentences

ROLES = RolesLayer()
FEW = Settings(n_resamples=20)
WORDS = ("Prices", ",", "he", "says", ",", "will", "rise", ".")
SAY = [(0, 1, "A1"), (2, 3, "A0"), (3, 4, "V"), (5, 7, "C-A1")]
RISE = [(0, 1, "A1"), (5, 6, "AM-MOD"), (6, 7, "V")]
GOLD = [Frame(3, "say", "01", SAY), Frame(6, "rise", "01", RISE)]
LABELS = ("A0", "A1", "C-A1", "R-A0", "AM-TMP", "V", "C-V")


def framed(frames: list[Frame], words: tuple[str, ...] = WORDS, **settings: list[bool]) -> Doc:
    doc = Doc(Vocab(), words=list(words), **settings)
    set_frames(doc, frames)
    return doc


def paired(gold: list[Frame], predicted: list[Frame]) -> list[ScoredSentence]:
    return pair_sentences([framed(gold)], [framed(predicted)], ROLES)


def with_roles(*replaced: tuple[str, str]) -> list[Frame]:
    """The gold standard, with other roles for the second predicate."""
    roles = dict(replaced)
    return [
        GOLD[0],
        Frame(6, "rise", "01", [(a, b, roles.get(role, role)) for a, b, role in RISE]),
    ]


@st.composite
def frames(draw: st.DrawFn) -> list[Frame]:
    """Frames of different predicates with non-overlapping arguments."""
    found = []
    for token in draw(st.lists(st.integers(0, 4), max_size=3, unique=True)):
        lemma = draw(st.sampled_from([None, "go", "say"]))
        arguments, at = [], 0
        for role in draw(st.lists(st.sampled_from(LABELS), max_size=4)):
            start = at + draw(st.integers(0, 1))
            at = start + 1
            arguments.append((start, at, role))
        found.append(Frame(token, lemma, None, arguments))
    return found


def assert_same(report: Report, result: SRLResult) -> None:
    """Check that a report has the evaluator's scores and counts."""
    total = result.arguments
    assert report.scores == pytest.approx(
        {
            "precision": total.precision,
            "recall": total.recall,
            "f1": total.f1,
            "complete": result.complete,
        }
    )
    found = {row.name: row.to_dict() for row in report.breakdowns["label"].rows}
    assert {
        role: (n["correct"], n["false_positives"], n["false_negatives"])
        for role, n in found.items()
    } == {role: (n.correct, n.excess, n.missed) for role, n in result.per_role.items()}
    assert report.wholes is not None
    assert list(report.wholes.to_dict().values()) == [
        result.propositions,
        result.perfect,
        result.skipped,
    ]


@given(st.lists(st.tuples(frames(), frames()), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_scores_are_those_of_the_evaluator(pairs: list[tuple[list[Frame], list[Frame]]]):
    words = tuple("abcdefghi")
    sides = [[framed(side, words) for side in docs] for docs in zip(*pairs, strict=True)]
    report = evaluate(pair_sentences(*sides, ROLES), ROLES, FEW)
    result = srl_eval(*zip(*pairs, strict=True))
    assert_same(report, result)
    # V is excluded: a gold argument predicted as V is missed, a V predicted as an argument is
    # spurious.
    for pair, n in report.confusion.counts.items():
        if NOTHING not in pair:
            assert n == result.confusion[pair]
    confused = {pair for pair in result.confusion if not {*pair} & {*EXCLUDED, NO_ARGUMENT}}
    assert confused == {pair for pair in report.confusion.counts if NOTHING not in pair}


def test_pieces_of_an_argument_are_one_unit_and_v_is_none():
    [sentence] = paired(GOLD, GOLD)
    assert sentence.gold == [
        Unit(0, 1, "A1", 3, ((5, 7),)),
        Unit(0, 1, "A1", 6),
        Unit(2, 3, "A0", 3),
        Unit(5, 6, "AM-MOD", 6),
    ]
    assert sentence.words_of(Unit(0, 1, "A1", 3, ((5, 7),))) == ("Prices", "will", "rise")


def test_arguments_belong_to_the_sentence_of_their_predicate():
    starts = [True, False, False, False, True, False, False, False]
    frame = Frame(6, "rise", None, [(0, 1, "A1"), (5, 6, "AM-MOD")])
    doc = framed([frame], sent_starts=starts)
    first, second = pair_sentences([doc], [framed([])], ROLES)
    assert (first.gold, first.anchors) == ([], ())
    assert second.anchors == (2,)
    assert second.gold == [Unit(-4, -3, "A1", 2), Unit(1, 2, "AM-MOD", 2)]
    # An argument outside the sentence has no words in it, but is still a mistake.
    assert [m.text for m in mistakes_in(second)] == ["", "will"]


def test_propositions_that_are_not_in_the_gold_standard_do_not_count_but_are_told():
    extra = Frame(1, None, None, [(0, 1, "A0")])
    report = evaluate(paired(GOLD, [*GOLD, extra]), ROLES, FEW)
    assert report.scores["f1"] == 1.0
    assert "not in the gold standard (ignored): 1." in summary_of_report(report)


def test_what_makes_no_sense_for_roles_is_left_out():
    report = evaluate(paired(GOLD, GOLD), ROLES, FEW)
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert "accuracy" not in data and "by_vocabulary" not in data and "by_complexity" not in data
    assert (data["complete"], data["propositions"], data["skipped_propositions"]) == (1.0, 2, 0)
    scores, by_role, *_ = report_tables(report)
    assert [row[0] for row in scores.rows] == [
        "precision",
        "recall",
        "F1",
        "complete propositions",
    ]
    assert by_role.title == "By role"


def test_mistakes_name_their_predicate_and_stand_together():
    gold = [Frame(3, "say", None, SAY), Frame(6, "rise", None, RISE)]
    predicted = [
        Frame(3, "say", None, [(0, 1, "A1"), (2, 3, "A0")]),
        Frame(6, "rise", None, [(0, 1, "A0"), (5, 6, "AM-MOD")]),
    ]
    [sentence] = paired(gold, predicted)
    assert [mistake_line(mistake) for mistake in mistakes_in(sentence)] == [
        "[Prices] , he says ,   says: A1 invented",
        "[Prices … will rise] .   says: A1 missed",
        "[Prices] , he says ,   rise: A1 predicted as A0",
    ]


def test_page_speaks_of_roles():
    report = evaluate(paired(GOLD, with_roles(("A1", "A0"))), ROLES, FEW, component="psa_srl")
    page = to_html([report], "Title")
    for part in ("By role", "predicted role", "complete propositions", "rise: A1 predicted as A0"):
        assert part in page


def test_propositions_that_differ_are_shown_one_by_one():
    first, second = paired(GOLD, with_roles(("A1", "A0"))), paired(GOLD, GOLD)
    result = compare(first, second, ROLES, ("old", "new"), n_trials=10)
    assert result.values == (pytest.approx(0.75), 1.0)
    text = "1 sentence with 2 propositions; different predictions in 1, for 1 proposition;"
    assert text in summary(result)
    [shown] = result.sentences
    table = sentence_table(shown, result.names)
    assert "'rise' (token 6): +2 for new" in table.title
    assert table.rows[0] == ["Prices", "A1", "A0", "A1"]
    assert ["[rise]", "", "", ""] in table.rows
    assert result.to_dict()["differing_propositions"] == 1


def test_pieces_are_shown_where_they_are():
    first, second = paired(GOLD, []), paired(GOLD, GOLD)
    result = compare(first, second, ROLES, n_trials=10, score="complete")
    assert result.values == (0.0, 1.0)
    by_predicate = {sentence.anchor: sentence for sentence in result.sentences}
    assert by_predicate[3].gold == ["A1", "", "A0", "", "", "C-A1", "└", ""]


def test_accuracy_of_roles_is_an_error():
    sentences = paired(GOLD, GOLD)
    with pytest.raises(ValueError, match=r"\[P270\].*precision, recall, f1, complete"):
        compare(sentences, sentences, ROLES, n_trials=5, score="accuracy")


def test_improper_frames_are_errors_that_say_where():
    with pytest.raises(ValueError, match=r"\[P326\] Document 1 "):
        paired([*GOLD, GOLD[0]], GOLD)
    with pytest.raises(ValueError, match=r"\[P327\] Document 1: .*A0 and A1"):
        paired(GOLD, [Frame(3, "say", None, [(0, 3, "A0"), (2, 4, "A1")])])


def test_a_component_gets_predicates_and_sentences_alone():
    starts = [True, False, False, False, True, False, False, False]
    blank = Doc(Vocab(), words=list(WORDS))
    ROLES.give(blank, framed(GOLD, sent_starts=starts))
    assert ROLES.is_annotated(blank)
    assert ROLES.units(blank) == []
    assert [token.is_sent_start for token in blank] == starts
