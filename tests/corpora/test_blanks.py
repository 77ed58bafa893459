import pytest

from spacy_psa.annotation.propositions import Frame
from spacy_psa.corpora.problems import Problems
from spacy_psa.corpora.sentence import Sentence, leave_out_blanks


def left(*sentences):
    problems = Problems()
    return list(leave_out_blanks(sentences, problems)), problems.notes


def test_spans_keep_their_other_tokens():
    words = ["\n", "Ann", " ", "Lee", "\n\n", "saw", "\t", "Bob"]
    ents = [(0, 5, "PER"), (6, 8, "PER")]
    (sentence,), notes = left(Sentence(words, ents=ents, chunks=[(4, 5, "X"), (5, 6, "VP")]))
    assert sentence.words == ["Ann", "Lee", "saw", "Bob"]
    assert sentence.ents == [(0, 2, "PER"), (3, 4, "PER")]
    assert sentence.chunks == [(2, 3, "VP")]
    assert notes == {
        r"tokens of white space, left out (the first in sentence 0: '\n')": 4,
        "spans of white space, left out": 1,
    }


def test_frames_keep_their_predicates_and_arguments():
    frames = [
        Frame(3, "see", "01", [(0, 3, "A0"), (3, 4, "V"), (4, 6, "A1")]),
        Frame(2, None, None, [(2, 3, "V")]),
    ]
    (sentence,), notes = left(Sentence(["Ann", "Lee", "\n", "saw", "\n", "Bob"], frames=frames))
    assert sentence.frames == [Frame(2, "see", "01", [(0, 2, "A0"), (2, 3, "V"), (3, 4, "A1")])]
    assert list(notes.values()) == [2, 1]


def test_layers_of_tokens_stay_with_their_tokens():
    sentence = Sentence(["a", " ", "b"], tags=["X", "_SP", "Y"], lemmas=["", " ", ""], pos=None)
    (found,), _ = left(sentence)
    assert (found.tags, found.lemmas, found.pos) == (["X", "Y"], None, None)


def test_what_stood_before_white_space_is_followed_by_it():
    sentences = [
        Sentence(["Hi", ".", "\n", "Bye", "."], spaces=[False, False, False, False, False]),
        Sentence(["\n", "Yes"], spaces=[False, False]),
    ]
    (first, second), _ = left(*sentences)
    assert first.spaces == [False, True, False, True]
    assert second.spaces == [False]


def test_sentences_of_white_space_are_left_out_but_not_the_start_of_their_document():
    sentences = [
        Sentence(["\n", " "], starts_document=True, document="d"),
        Sentence(["Hi"], document="d"),
        Sentence(["Bye"], document="d"),
    ]
    found, _ = left(*sentences)
    assert [(s.words, s.starts_document) for s in found] == [(["Hi"], True), (["Bye"], False)]


@pytest.mark.parametrize("word", ["\xa0", "New York", "", "\u3000"])
def test_other_words_are_kept(word):
    sentence = Sentence([word, "x"])
    assert left(sentence) == ([sentence], {})
