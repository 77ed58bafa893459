from __future__ import annotations

from spacy_psa.evaluation.confusion import Mistake, mistakes_in, worst_sentences
from spacy_psa.evaluation.rendering import mistake_line

from .helpers import spanned, tagged


def test_mistakes_have_their_context():
    sentence = tagged("D A N N N V D", "D A N N N N D", "w1 w2 w3 w4 w5 saw w7")
    assert mistakes_in(sentence) == [Mistake("w2 w3 w4 w5", "saw", "w7", "V", "N")]


def test_context_ends_with_the_sentence():
    [mistake] = mistakes_in(tagged("D N", "N N", "the dog"))
    assert (mistake.before, mistake.after) == ("", "dog")


def test_kinds_of_mistakes():
    sentence = spanned(
        "New York and a dog", [(0, 2, "LOC"), (3, 5, "X")], [(0, 1, "LOC"), (3, 5, "Y")]
    )
    assert {mistake_line(mistake) for mistake in mistakes_in(sentence)} == {
        "[New York] and a dog   LOC missed",
        "[New] York and a dog   LOC invented",
        "New York and [a dog]   X predicted as Y",
    }


def test_worst_sentences_come_first():
    sentences = [tagged("X Y", "X Y"), tagged("X Y", "Y Y"), tagged("X Y", "Y X"), tagged("X", "Y")]
    assert [len(s.mistakes) for s in worst_sentences(sentences, 10)] == [2, 1, 1]
    assert [s.text for s in worst_sentences(sentences, 2)] == ["w0 w1", "w0 w1"]
    assert worst_sentences(sentences, 0) == []
