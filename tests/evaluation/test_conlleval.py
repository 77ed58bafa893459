from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_psa.annotation.role_scores import RoleCounts
from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.evaluation.conlleval import (
    ConllevalResult,
    Counts,
    _scores,
    format_table,
    score_tags,
)
from spacy_psa.figures.tables import percent

# The pairs of previous and current tags that the script lists one by one, and those with S.
ENDS = {("B", "BOS"), ("I", "BOS"), ("E", "IEOS"), ("S", "BIEOS")}
STARTS = {("B", "BS"), ("I", "BS"), ("O", "BIES"), ("E", "IES"), ("S", "BIES")}


def slow_conlleval(sentences):
    """A transcription of the script's loop: one pass that compares open chunks on the way."""
    correct, found_correct, found_guessed = {}, {}, {}
    tokens = correct_tags = 0
    last_gold, last_guess = ("O", ""), ("O", "")
    in_correct = False

    def parse(tag):
        return ("O", "") if tag == "O" else (tag[0], tag[2:])

    def ends(last, here):
        listed = any(last[0] == a and here[0] in b for a, b in ENDS)
        return listed or (last[0] != "O" and last[1] != here[1])

    def starts(last, here):
        listed = any(last[0] == a and here[0] in b for a, b in STARTS)
        return listed or (here[0] != "O" and last[1] != here[1])

    for rows in sentences:
        for gold_tag, guess_tag in [*rows, (None, None)]:
            boundary = gold_tag is None
            gold, guess = parse(gold_tag or "O"), parse(guess_tag or "O")
            if in_correct:
                both_end = ends(last_gold, gold) and ends(last_guess, guess)
                if both_end and last_gold[1] == last_guess[1]:
                    in_correct = False
                    correct[last_gold[1]] = correct.get(last_gold[1], 0) + 1
                elif ends(last_gold, gold) != ends(last_guess, guess) or gold[1] != guess[1]:
                    in_correct = False
            if starts(last_gold, gold) and starts(last_guess, guess) and gold[1] == guess[1]:
                in_correct = True
            if starts(last_gold, gold):
                found_correct[gold[1]] = found_correct.get(gold[1], 0) + 1
            if starts(last_guess, guess):
                found_guessed[guess[1]] = found_guessed.get(guess[1], 0) + 1
            if not boundary:
                tokens += 1
                correct_tags += gold == guess
            last_gold, last_guess = gold, guess
    return tokens, correct_tags, correct, found_correct, found_guessed


some_tag = st.sampled_from(["O", *(f"{p}-{t}" for p in "BIES" for t in ("X", "Y", "some-type"))])
some_corpus = st.lists(st.lists(st.tuples(some_tag, some_tag), max_size=8), max_size=4)


def has_touching_spans_in_bioes(tags):
    touches = any(a == "E" + b[1:] for a, b in pairwise(tags) if b[0] == "B")
    return touches and not SCHEMES["BIOES"].problems(tags)


@given(corpus=some_corpus)
def test_counts_are_those_of_the_script_for_any_tags(corpus):
    sides = [[pair[side] for pair in sentence] for sentence in corpus for side in (0, 1)]
    assume(not any(map(has_touching_spans_in_bioes, sides)))
    tokens, correct_tags, correct, found_correct, found_guessed = slow_conlleval(corpus)
    result = score_tags([[g for g, _ in s] for s in corpus], [[p for _, p in s] for s in corpus])
    assert (result.tokens, result.correct_tags) == (tokens, correct_tags)
    assert {t for t, c in result.per_type.items() if c.gold} == set(found_correct)
    assert {t for t, c in result.per_type.items() if c.predicted} == set(found_guessed)
    for label, counts in result.per_type.items():
        assert counts.gold == found_correct.get(label, 0)
        assert counts.predicted == found_guessed.get(label, 0)
        assert counts.correct == correct.get(label, 0)
    assert result.chunks.correct == sum(correct.values())


@pytest.mark.parametrize(
    "gold,predicted,counts",
    [
        # I after O or after another type begins a chunk.
        ("B-X I-X O", "O I-X O", (1, 1, 0)),
        ("B-X I-X O", "I-X I-X O", (1, 1, 1)),
        ("B-X B-Y O", "B-X I-Y O", (2, 2, 2)),
        # Boundaries and type must match.
        ("B-X I-X O", "B-X O O", (1, 1, 0)),
        ("B-X I-X O", "B-X B-X O", (1, 2, 0)),
        ("B-X I-X O", "B-Y I-Y O", (1, 1, 0)),
        ("B-X O B-X", "B-X O O", (2, 1, 1)),
        # IOB1: B separates adjacent chunks.
        ("I-X B-X I-X", "I-X B-X I-X", (2, 2, 2)),
        ("I-X B-X I-X", "I-X I-X I-X", (2, 1, 0)),
        # BIOES, well-formed or not.
        ("S-X B-X E-X", "B-X B-X I-X", (2, 2, 2)),
        ("B-X E-X O", "B-X I-X O", (1, 1, 1)),
        ("B-X E-X S-X", "B-X E-X I-X", (2, 2, 2)),
        ("O B-X E-X", "O E-X E-X", (1, 2, 0)),
        ("B-X E-X B-X E-X", "B-X I-X B-X I-X", (2, 2, 2)),
        # The script does not end a chunk between E and B of the same type.
        ("B-X E-X B-X I-X", "E-X B-X O B-Y", (1, 2, 0)),
        ("O E-X B-X O I-Y", "O B-X I-X O B-Y", (2, 2, 2)),
        ("O O O", "O O O", (0, 0, 0)),
    ],
)
def test_hand_computed_rules(gold, predicted, counts):
    chunks = score_tags([gold.split()], [predicted.split()]).chunks
    assert (chunks.gold, chunks.predicted, chunks.correct) == counts


def test_chunks_do_not_reach_over_sentence_ends():
    assert score_tags([["B-X"], ["I-X"]], [["B-X"], ["I-X"]]).chunks == Counts(2, 2, 2)


def test_scores_of_counts():
    counts = Counts(gold=4, predicted=5, correct=3)
    assert counts.precision == pytest.approx(0.6)
    assert counts.recall == pytest.approx(0.75)
    assert counts.f1 == pytest.approx(2 * 0.6 * 0.75 / (0.6 + 0.75))


def test_scores_of_nothing_are_zero():
    result = score_tags([], [])
    assert (result.chunks.precision, result.chunks.recall, result.chunks.f1) == (0, 0, 0)
    assert result.accuracy == 0
    assert (
        format_table(result) == "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
    )


def test_the_scheme_changes_only_the_accuracy():
    gold = ["B-X", "I-X", "O", "B-Y"]
    other = SCHEMES["BIOES"].encode(SCHEMES["BIO"].decode(gold), len(gold))
    result = score_tags([gold], [other])
    assert result.chunks == Counts(2, 2, 2)
    assert result.accuracy == pytest.approx(2 / 4)


def test_different_numbers_of_sentences_are_errors():
    with pytest.raises(ValueError, match=r"P107.*2 sentences.*1"):
        score_tags([["O"], ["O"]], [["O"]])


def test_different_numbers_of_tokens_name_the_sentence():
    with pytest.raises(ValueError, match=r"P106.*Sentence 2 has 1 gold tags but 2"):
        score_tags([["O"], ["O"]], [["O"], ["O", "O"]])


def test_table_has_the_layout_of_the_script():
    gold = ["B-NP", "I-NP", "O", "B-VP", "B-PP", "B-NP"]
    predicted = ["B-NP", "I-NP", "O", "B-VP", "B-ADJP", "O"]
    assert format_table(score_tags([gold], [predicted])) == (
        "processed 6 tokens with 4 phrases; found: 3 phrases; correct: 2.\n"
        "accuracy:  66.67%; precision:  66.67%; recall:  50.00%; FB1:  57.14\n"
        "             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
        "               NP: precision: 100.00%; recall:  50.00%; FB1:  66.67  1\n"
        "               PP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n"
        "               VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
    )


def perl_percentages(correct, predicted, gold):
    """A transcription of the scripts, `precrecf1` in srl-eval.pl and the same in conlleval."""
    p = 100 * correct / predicted if predicted > 0 else 0
    r = 100 * correct / gold if gold > 0 else 0
    f1 = (2 * p * r) / (p + r) if p + r > 0 else 0
    return p, r, f1


def test_percentages_round_as_in_the_scripts():
    assert f"{Counts(gold=160, predicted=160, correct=23).percentages[0]:.2f}" == "14.38"
    # F1 is 3.125, but the script's intermediate results are not exact.
    assert _scores(Counts(gold=1, predicted=63, correct=1)).endswith("FB1:   3.13")
    for n in range(301):
        for correct in range(n + 1):
            expected = [f"{x:.2f}" for x in perl_percentages(correct, n, 2 * n - correct)]
            counts = Counts(gold=2 * n - correct, predicted=n, correct=correct)
            assert [f"{x:.2f}" for x in counts.percentages] == expected
            roles = RoleCounts(correct, n - correct, 2 * (n - correct))
            assert roles.percentages == counts.percentages
            assert n == 0 or percent(correct / n) == expected[0]


def test_dict_has_counts_and_scores_per_type():
    result = ConllevalResult()
    result.add(["B-X", "B-Y"], ["B-X", "O"])
    scores = result.to_dict()
    assert (scores["sentences"], scores["tokens"], scores["accuracy"]) == (1, 2, 0.5)
    assert (scores["precision"], scores["recall"]) == (1.0, 0.5)
    assert list(scores["per_type"]) == ["X", "Y"]
    assert scores["per_type"]["Y"] == {
        **{"gold": 1, "predicted": 0, "correct": 0},
        **{"precision": 0.0, "recall": 0.0, "f1": 0.0},
    }
