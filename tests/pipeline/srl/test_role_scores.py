"""Semantic roles are scored as by srl-eval.pl: each rule by hand, all rules at random."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.annotation.propositions import Frame
from spacy_psa.annotation.role_scores import NO_ARGUMENT, RoleCounts, SRLResult, srl_eval
from spacy_psa.evaluation.srl_tables import format_confusion, format_result

VERB = (2, 3, "V")


def frame(*arguments, predicate=2, lemma="say", verb=VERB):
    return Frame(predicate, lemma, None, sorted([verb, *arguments]))


def counts(result: SRLResult) -> tuple[int, int, int]:
    return result.arguments.correct, result.arguments.excess, result.arguments.missed


def score(gold: Frame, predicted: Frame) -> SRLResult:
    return srl_eval([[gold]], [[predicted]])


def test_an_argument_is_right_if_its_words_and_its_role_are():
    gold = frame((0, 2, "A0"), (3, 5, "A1"), (5, 6, "AM-TMP"))
    predicted = frame((0, 2, "A0"), (3, 5, "A2"), (5, 7, "AM-TMP"))
    result = score(gold, predicted)
    assert counts(result) == (1, 2, 2)
    assert result.per_role == {
        "A0": RoleCounts(1, 0, 0),
        "A1": RoleCounts(0, 0, 1),
        "A2": RoleCounts(0, 1, 0),
        "AM-TMP": RoleCounts(0, 1, 1),
    }
    assert result.arguments.precision == result.arguments.recall == pytest.approx(1 / 3)
    assert result.arguments.f1 == pytest.approx(1 / 3)


def test_the_verb_is_left_out_of_the_totals():
    result = score(frame((0, 1, "A0")), frame((0, 1, "A0"), verb=(2, 4, "V")))
    assert counts(result) == (1, 0, 0)
    assert result.excluded == {"V": RoleCounts(0, 1, 1)}
    assert result.perfect == 1


def test_pieces_of_the_verb_are_the_verb():
    gold = frame((4, 5, "C-V"))
    assert score(gold, gold).excluded == {"V": RoleCounts(1, 0, 0)}
    assert counts(score(gold, frame())) == (0, 0, 0)


A1 = (0, 1, "A1")
CONTINUED = [A1, (3, 5, "C-A1")]
TWO = [A1, (1, 2, "A1"), (3, 4, "C-A1")]
REFERRED = [(0, 1, "A0"), (1, 2, "R-A0")]
REFERENCE = [(0, 1, "R-A1"), (3, 4, "C-R-A1")]
CASES = {
    "a continued argument is one": (CONTINUED, CONTINUED, (1, 0, 0)),
    "it is wrong if a piece is missing": (CONTINUED, [A1], (0, 1, 1)),
    "it is wrong if a piece is": (CONTINUED, [A1, (3, 4, "C-A1")], (0, 1, 1)),
    "pieces are not joined": (CONTINUED, [A1, (3, 4, "C-A1"), (4, 5, "C-A1")], (0, 1, 1)),
    # Both extend from the same first to the same last word, but only one has a gap
    "a gap is no part": ([(3, 4, "A1"), (5, 6, "C-A1")], [(3, 6, "A1")], (0, 1, 1)),
    "the last argument is continued": (TWO, TWO, (2, 0, 0)),
    "not the first": (TWO, [A1, (1, 2, "C-A1"), (3, 4, "A1")], (0, 2, 2)),
    "nothing is continued": ([(3, 5, "A1")], [(3, 5, "C-A1")], (1, 0, 0)),
    "nothing before": ([A1, (3, 4, "A1")], [(0, 1, "C-A1"), (3, 4, "A1")], (2, 0, 0)),
    "a reference is a role": (REFERRED, REFERRED, (2, 0, 0)),
    "of its own": (REFERRED, [(0, 1, "A0"), (1, 2, "A0")], (1, 1, 1)),
    "a reference is continued": (REFERENCE, REFERENCE, (1, 0, 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_pieces_are_counted_as_by_the_script(case):
    gold, predicted, expected = CASES[case]
    assert counts(score(frame(*gold), frame(*predicted))) == expected


def test_arguments_of_a_missing_proposition_are_missed():
    result = srl_eval([[frame((0, 1, "A0"), (3, 4, "A1"))]], [[]])
    assert counts(result) == (0, 0, 2)
    assert (result.propositions, result.perfect) == (1, 0)


def test_a_missing_proposition_without_arguments_is_perfect():
    result = srl_eval([[frame()]], [[]])
    assert (result.propositions, result.perfect) == (1, 1)
    assert result.excluded == {"V": RoleCounts(0, 0, 1)}


def test_an_empty_proposition_is_perfect_if_nothing_is_predicted():
    assert score(frame(), frame()).complete == 1.0
    assert score(frame(), frame((0, 1, "A0"))).complete == 0.0


def test_propositions_that_the_gold_standard_does_not_have_are_skipped():
    extra = frame((0, 2, "A0"), predicate=5, verb=(5, 6, "V"))
    result = srl_eval([[frame((0, 2, "A0"))]], [[frame((0, 2, "A0")), extra]])
    assert counts(result) == (1, 0, 0)
    assert (result.propositions, result.skipped) == (1, 1)


def test_a_proposition_of_another_verb_does_not_count():
    gold, predicted = frame((0, 1, "A0")), frame((0, 1, "A0"), lemma="tell")
    assert counts(score(gold, predicted)) == (0, 0, 1)


def test_a_verb_that_is_not_known_is_no_other_verb():
    assert counts(score(frame((0, 1, "A0")), frame((0, 1, "A0"), lemma=None))) == (1, 0, 0)


def test_propositions_are_compared_by_place_not_by_order():
    first, second = frame((0, 1, "A0")), frame((3, 4, "A1"), predicate=5, verb=(5, 6, "V"))
    assert counts(srl_eval([[first, second]], [[second, first]])) == (2, 0, 0)


def test_complete_propositions_are_a_share_of_all():
    gold = [[frame((0, 1, "A0"))], [frame((0, 1, "A0"))], [], [frame((0, 1, "A0"))]]
    predicted = [[frame((0, 1, "A0"))], [frame((0, 1, "A1"))], [], [frame()]]
    result = srl_eval(gold, predicted)
    assert (result.sentences, result.propositions, result.perfect) == (4, 3, 1)
    assert result.complete == pytest.approx(1 / 3)


def test_confusion_is_of_arguments_with_the_same_words():
    gold = frame((0, 1, "A0"), (3, 4, "A1"), (5, 6, "A2"))
    predicted = frame((0, 1, "A1"), (3, 4, "A1"), (6, 7, "A2"))
    result = score(gold, predicted)
    assert result.confusion == {
        ("A0", "A1"): 1,
        ("A1", "A1"): 1,
        ("A2", NO_ARGUMENT): 1,
        (NO_ARGUMENT, "A2"): 1,
        ("V", "V"): 1,
    }
    assert result.unlabeled == RoleCounts(2, 1, 1)
    assert result.label_accuracy == 0.5


def test_nothing_is_zero_not_an_error():
    result = srl_eval([], [])
    assert (result.arguments.f1, result.complete, result.label_accuracy) == (0.0, 0.0, 0.0)
    assert "0.00" in format_result(result)
    assert "Unlabeled" in format_confusion(result)


def test_ties_round_as_in_the_script():
    result = SRLResult(RoleCounts(23, 137, 137), propositions=160, perfect=23)
    assert "props :  14.38\n" in format_result(result)
    assert "   14.38   14.38   14.38\n" in format_result(result).splitlines(keepends=True)[6]


def test_two_frames_of_a_predicate_are_refused():
    with pytest.raises(ValueError, match=r"P326.*Sentence 1"):
        srl_eval([[frame(), frame()]], [[]])


def test_overlapping_arguments_are_refused():
    with pytest.raises(ValueError, match=r"P327.*A0 and A1"):
        score(frame((0, 2, "A0"), (1, 2, "A1")), frame())


def test_other_numbers_of_sentences_are_refused():
    with pytest.raises(ValueError, match="P107"):
        srl_eval([[]], [])


def test_the_table_is_that_of_the_script():
    gold = [[frame((0, 1, "A0"), (3, 4, "A1"))], [frame((0, 1, "A0"), (3, 4, "AM-TMP"))]]
    predicted = [[frame((0, 1, "A0"), (3, 4, "A1"))], [frame((0, 1, "A0"), (3, 5, "AM-LOC"))]]
    assert format_result(srl_eval(gold, predicted)) == (
        "Number of Sentences    :           2\n"
        "Number of Propositions :           2\n"
        "Percentage of perfect props :  50.00\n"
        "\n"
        "              corr.  excess  missed    prec.    rec.      F1\n"
        "------------------------------------------------------------\n"
        "   Overall        3       1       1    75.00   75.00   75.00\n"
        "----------\n"
        "        A0        2       0       0   100.00  100.00  100.00\n"
        "        A1        1       0       0   100.00  100.00  100.00\n"
        "    AM-LOC        0       1       0     0.00    0.00    0.00\n"
        "    AM-TMP        0       0       1     0.00    0.00    0.00\n"
        "------------------------------------------------------------\n"
        "         V        2       0       0   100.00  100.00  100.00\n"
        "------------------------------------------------------------\n"
    )


def test_confusion_is_in_percent_of_the_errors_of_a_gold_role():
    long = "R-AM-LOC"
    pairs = [("A0", "A0")] * 5 + [("A0", "A1")] * 3 + [("A0", long), (long, "A1")]
    gold = [[frame((0, 1, g))] for g, _ in pairs]
    predicted = [[frame((0, 1, p))] for _, p in pairs]
    lines = [line.split() for line in format_confusion(srl_eval(gold, predicted)).splitlines()]
    assert lines[1] == ["Unlabeled", "10", "0", "0", "100.00", "100.00", "100.00", "50.00"]
    assert lines[4:] == [["A0", long], ["A0", "-", "0"], [long, "25", "-"]]


def slow_script(gold, predicted):
    """A transcription of the script's steps, with arguments by their first and last words."""

    def load(spans):
        arguments, open_ones = [], {}
        for start, end, role in sorted(spans):
            if role.startswith("C-") and role[2:] in open_ones:
                argument = open_ones[role[2:]]
                if not argument["phrases"]:
                    argument["phrases"].append((argument["start"], argument["end"]))
                argument["phrases"].append((start, end))
                argument["end"] = end
                continue
            role = role.removeprefix("C-")
            argument = {"start": start, "end": end, "type": role, "phrases": []}
            arguments.append(argument)
            open_ones[role] = argument
        return arguments

    table = {(a["start"], a["end"]): a for a in load(gold)}
    ok, excess = [], []
    for argument in load(predicted):
        place = argument["start"], argument["end"]
        other = table.get(place)
        if other is None or bool(other["phrases"]) != bool(argument["phrases"]):
            excess.append(argument["type"])
        elif other["type"] == argument["type"] and other["phrases"] == argument["phrases"]:
            ok.append(argument["type"])
            del table[place]
        else:
            excess.append(argument["type"])
    return ok, excess, [a["type"] for a in table.values()]


ROLES = ["V", "A0", "A1", "C-A0", "C-A1", "C-V", "R-A0", "C-R-A0"]


@st.composite
def arguments(draw):
    spans, at = [], 0
    for role in draw(st.lists(st.sampled_from(ROLES), max_size=5)):
        start = at + draw(st.integers(0, 1))
        at = start + draw(st.integers(1, 2))
        spans.append((start, at, role))
    return spans


@settings(max_examples=300, deadline=None)
@given(gold=arguments(), predicted=arguments())
def test_counts_are_those_of_the_script(gold, predicted):
    result = score(Frame(0, "v", None, gold), Frame(0, "v", None, predicted))
    for role in ("V", "A0", "A1", "R-A0"):
        table = result.excluded if role == "V" else result.per_role
        found = table.get(role, RoleCounts())
        wanted = [part.count(role) for part in slow_script(gold, predicted)]
        assert [found.correct, found.excess, found.missed] == wanted
    _, excess, missed = slow_script(gold, predicted)
    assert result.perfect == (not [role for role in excess + missed if role != "V"])
