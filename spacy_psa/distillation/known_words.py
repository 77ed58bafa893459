"""Warn of texts with other words than those that a teacher has learned from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from unicodedata import category

from spacy.tokens import Doc

from ..errors import Warnings, warn

# Where the halves of an English corpus share their words, English texts of other kinds have 0.55 to
# 1 times that share with it, and French and Czech ones 0.06 to 0.23 times
FOREIGN = 1 / 3
# Fewer words say too little
ENOUGH = 200


def words_in(docs: Sequence[Doc]) -> list[str]:
    """RETURNS (List[str]): The words in lower case, without numbers and punctuation."""
    return [token.text.lower() for doc in docs for token in doc if _is_word(token.text)]


def _is_word(text: str) -> bool:
    """Whether these are letters, and perhaps combining marks, such as the vowels of Hindi."""
    if text.isalpha() or text.isascii():
        return text.isalpha()
    kinds = [category(character)[0] for character in text]
    return "L" in kinds and {*kinds} <= {"L", "M"}


def share_of(words: Sequence[str], known: Collection[str]) -> float:
    """RETURNS (float): The share of words that are known."""
    return sum(word in known for word in words) / len(words)


def warn_of_other_words(texts: Sequence[Doc], known: Sequence[Doc], path: str, name: str) -> None:
    """Warn if hardly any words of texts are those of texts that are known. A teacher's entropy does
    not tell: one of named entities is certain that a text in another language has none.

    texts (Sequence[Doc]): The texts.
    known (Sequence[Doc]): Texts that are known.
    path (str): The files of the texts.
    name (str): The file of the known ones.
    """
    words, theirs = words_in(known), words_in(texts)
    half = len(words) // 2
    if min(half, len(theirs)) < ENOUGH:
        return
    expected = share_of(words[half:], {*words[:half]})
    found = share_of(theirs, {*words})
    if found < FOREIGN * expected:
        names = {"path": path, "known": name, "found": found, "expected": expected}
        warn(Warnings.W531.format(**names))
