"""From tokens to rows, vector keys and characters."""

from __future__ import annotations

import numpy as np
import pytest
from spacy.attrs import LOWER, NORM, ORTH
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vectors import Vectors
from spacy.vocab import Vocab

from spacy_psa.models import lookup as module
from spacy_psa.models.lookup import (
    FIRST_CHARACTER,
    FIXED_ROW,
    PADDING_CHARACTER,
    UNKNOWN_CHARACTER,
    UNKNOWN_ROW,
    WordFeatures,
    WordLookup,
    find_vector,
    one_number,
    read_vectors,
    zero_digits,
)


def make_lookup(attr: int = ORTH, max_characters: int = 50) -> WordLookup:
    return WordLookup(["ann", "Bob"], ["a", "b", "n"], attr=attr, max_characters=max_characters)


def look_up(words: list[str], vocab: Vocab | None = None, **settings: int) -> WordFeatures:
    vocab = Vocab() if vocab is None else vocab
    return make_lookup(**settings).features([Doc(vocab, words=words)], vocab)


def vocab_with(*words: str) -> Vocab:
    vocab = Vocab()
    for i, word in enumerate(words, 1):
        vocab.set_vector(word, np.full(3, i, dtype="f"))
    return vocab


def rows_of_tokens(features: WordFeatures) -> list[int]:
    return features.rows[features.tokens].tolist()


@pytest.mark.parametrize(
    ("word", "row"), [("ann", 1), ("Ann", 1), ("ANN", 1), ("Bob", 2), ("bob", 0), ("x", 0)]
)
def test_words_are_found_by_their_form_then_by_its_lower_case(word: str, row: int) -> None:
    assert rows_of_tokens(look_up([word])) == [row]


def test_words_are_found_by_the_attribute_of_the_entry_in_the_vocabulary() -> None:
    vocab = Vocab()
    doc = Doc(vocab, words=["X"])
    vocab["X"].norm_, doc[0].norm_ = "ann", "Bob"
    assert make_lookup(NORM).features([doc], vocab).rows.tolist() == [1]
    assert make_lookup(ORTH).features([doc], vocab).rows.tolist() == [UNKNOWN_ROW]
    assert make_lookup(LOWER).features([doc], vocab).rows.tolist() == [UNKNOWN_ROW]


def test_each_distinct_word_comes_once() -> None:
    features = look_up(["ann", "x", "ann", "Bob", "x"])
    assert len(features.rows) == 3
    assert rows_of_tokens(features) == [1, 0, 1, 2, 0]


def test_words_go_from_the_longest_to_the_shortest() -> None:
    features = look_up(["a", "abcd", "ab", "abc"])
    assert features.lengths.tolist() == [4, 3, 2, 1]


def test_characters_are_padded() -> None:
    features = look_up(["ab", "bnx"])
    a, b, n = range(FIRST_CHARACTER, FIRST_CHARACTER + 3)
    assert features.characters.tolist() == [[b, n, UNKNOWN_CHARACTER], [a, b, PADDING_CHARACTER]]


def test_words_that_have_a_vector_only_are_fixed() -> None:
    features = look_up(["ann", "rome", "x", "Rome"], vocab_with("ann", "rome"))
    assert rows_of_tokens(features) == [1, FIXED_ROW, UNKNOWN_ROW, FIXED_ROW]
    assert features.vector_keys == [get_string_id("rome")] * 2


def test_keys_of_vectors_are_in_the_order_of_the_words() -> None:
    features = look_up(["a", "bbb", "x", "cc"], vocab_with("a", "bbb", "cc"))
    assert features.vector_keys == [get_string_id(word) for word in ("bbb", "cc", "a")]


def test_docs_of_a_batch_follow_each_other() -> None:
    vocab = Vocab()
    docs = [Doc(vocab, words=words) for words in ([], ["Bob"], ["ann", "x"], [])]
    assert rows_of_tokens(make_lookup().features(docs, vocab)) == [2, 1, 0]


def test_the_cache_does_not_grow_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_SIZE", 5)
    lookup, vocab = make_lookup(), Vocab()
    for i in range(50):
        features = lookup.features([Doc(vocab, words=[f"w{i}", "ann"])], vocab)
        assert rows_of_tokens(features) == [0, 1]
    assert len(lookup._cache) <= 8


@pytest.mark.parametrize(("length", "n"), [(200, 1), (201, 0), (1000, 0)])
@pytest.mark.parametrize(("attr", "limit"), [(ORTH, 50), (NORM, 2000)], ids=["form", "text"])
def test_very_long_words_are_not_in_the_cache(attr: int, limit: int, length: int, n: int) -> None:
    lookup, vocab = make_lookup(attr, limit), Vocab()
    doc = Doc(vocab, words=["x" * length])
    vocab["x" * length].norm_ = "ann"
    for _ in range(2):
        features = lookup.features([doc], vocab)
        assert features.lengths.tolist() == [min(length, limit)]
        assert len(lookup._cache) == n


def test_the_cache_changes_nothing() -> None:
    lookup, vocab = make_lookup(), vocab_with("rome")
    doc = Doc(vocab, words=["rome", "ann", "xyz"])
    first, second = (lookup.features([doc], vocab) for _ in range(2))
    for name in ("rows", "vector_keys", "characters", "lengths", "tokens"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize(
    ("form", "normalized"), [("1990s", "0000s"), ("A-3.5", "A-0.0"), ("٣", "0"), ("ann", "ann")]
)
def test_zero_digits(form: str, normalized: str) -> None:
    assert zero_digits(form) == normalized


def digits_lookup(*words: str) -> WordLookup:
    return WordLookup(words, ["0", "s"], attr=ORTH, max_characters=50, normalize=zero_digits)


@pytest.mark.parametrize(
    ("word", "row"), [("1990s", 1), ("2001s", 1), ("2001S", 1), ("45", 2), ("47", 3), ("4", 0)]
)
def test_the_normalized_form_is_found_after_the_form_itself(word: str, row: int) -> None:
    vocab = Vocab()
    features = digits_lookup("0000s", "45", "00").features([Doc(vocab, words=[word])], vocab)
    assert rows_of_tokens(features) == [row]


@pytest.mark.parametrize(
    ("word", "key"), [("1990", "1990"), ("ANN-7", "ann-7"), ("1991", "0000"), ("ann-8", None)]
)
def test_vectors_are_looked_up_by_the_form_itself_first(word: str, key: str | None) -> None:
    vocab = vocab_with("1990", "0000", "ann-7")
    # Even if the normalized form is a word of the training data.
    lookup = digits_lookup("ann-0")
    features = lookup.features([Doc(vocab, words=[word])], vocab)
    if key is None:
        assert rows_of_tokens(features) == [1] and features.vector_keys == []
    else:
        assert rows_of_tokens(features) == [FIXED_ROW]
        assert features.vector_keys == [get_string_id(key)]


def test_characters_are_those_of_the_normalized_form() -> None:
    vocab = Vocab()
    features = digits_lookup().features([Doc(vocab, words=["7s"])], vocab)
    assert features.characters.tolist() == [[FIRST_CHARACTER, FIRST_CHARACTER + 1]]


def test_find_vector_without_a_table() -> None:
    assert find_vector("rome", Vectors()) is None


def test_read_vectors() -> None:
    vectors = vocab_with("a", "b").vectors
    found = read_vectors([get_string_id("b"), get_string_id("a")], vectors)
    assert found.tolist() == [[2.0] * 3, [1.0] * 3]
    assert found.dtype == np.float32


@pytest.mark.parametrize("word", ["7", "1990", "3,000.5", "-3", "+4", ".5", "1/2", "12:30", "1-0"])
def test_numbers_become_one_token(word: str) -> None:
    assert one_number(word) == "<number>"


@pytest.mark.parametrize(
    "word", ["3rd", "A7", "1990s", "7%", "1.", "-", "x", "", "1,,2", "<number>"]
)
def test_other_words_remain(word: str) -> None:
    assert one_number(word) == word
