"""Texts whose words are not those of the data that a teacher knows."""

from __future__ import annotations

import re
import warnings

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_psa.distillation.known_words import ENOUGH, warn_of_other_words

from ..corpora.shared import shared_corpus


def docs(words: str, n: int = 2 * ENOUGH) -> list[Doc]:
    return [Doc(Vocab(), words=[word for word in words.split() for _ in range(n)])]


def test_other_words_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"W531.*25% of the words of texts.*known.*100%"):
        warn_of_other_words(docs("a x y z"), docs("a"), "texts", "known")


@pytest.mark.parametrize(
    ("texts", "known"), [("a b x", "a b"), ("x", ""), ("1 2 ?", "a"), ("", "a")]
)
def test_known_words_and_few_words_are_not(texts: str, known: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_other_words(docs(texts), docs(known), "texts", "known")


def test_words_of_vowel_signs_are_words() -> None:
    with pytest.warns(UserWarning, match=r"W531.*25% of the words"):
        warn_of_other_words(docs("हिन्दी கீ ที่ cafe\u0301"), docs("हिन्दी"), "texts", "known")


def test_real_languages() -> None:
    def read(folder: str, file: str) -> list[Doc]:
        lines = (shared_corpus(folder) / file).read_text(encoding="utf8").splitlines()[:8000]
        words = [line.split("\t")[1] for line in lines if re.match(r"\d+\t", line)]
        return [Doc(Vocab(), words=words)]

    english = read("ud_en_ewt_2.2", "en_ewt-ud-dev.conllu")
    french = read("ud_fr_sequoia_2.2", "fr_sequoia-ud-dev.conllu")
    with pytest.warns(UserWarning, match="W531"):
        warn_of_other_words(french, english, "french", "english")
    diseases = (shared_corpus("ncbi_disease") / "devel.tsv").read_text(encoding="utf8")
    words = [line.split("\t")[0] for line in diseases.splitlines() if line.strip()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_other_words([Doc(Vocab(), words=words)], english, "diseases", "english")
