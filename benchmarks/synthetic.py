"""Corpora made up for measuring: words, sentences and labels of any number."""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
from spacy.language import Language
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vectors import Vectors

from .pipelines import load_system
from .systems import only_words

VOCABULARY = 5_000
VECTOR_WIDTH = 100
# How long the sentences of CoNLL-2000 are, about: 24 tokens on average, 1 to 70
LONGEST, SHAPE, SCALE = 70, 4.0, 6.0
# And its distinct words: 7 characters on average, most of them 3 to 13
LONGEST_WORD, WORD_SHAPE, WORD_SCALE = 30, 6.5, 1.1
Sentences = list[list[str]]


@cache
def syllables() -> list[str]:
    """RETURNS (List[str]): A hundred syllables."""
    return ["".join(pair) for pair in product("bcdfghjklmnpqrstvwxz", "aeiou")]


def spell(number: int) -> str:
    """A word for each number; as in any language, the first ones are short."""
    parts = []
    number += 1
    while number:
        number, last = divmod(number - 1, len(syllables()))
        parts.append(syllables()[last])
    return "".join(reversed(parts))


def sentence_lengths(n: int, seed: int = 0) -> list[int]:
    """Lengths as those of newspaper sentences.

    n (int): How many.
    seed (int): What they depend on.
    RETURNS (List[int]): Numbers of tokens.
    """
    return _lengths(n, seed, SHAPE, SCALE, LONGEST)


def word_lengths(n: int, seed: int = 0) -> list[int]:
    """Lengths as those of the distinct words of a newspaper.

    n (int): How many.
    seed (int): What they depend on.
    RETURNS (List[int]): Numbers of characters.
    """
    return _lengths(n, seed, WORD_SHAPE, WORD_SCALE, LONGEST_WORD)


def _lengths(n: int, seed: int, shape: float, scale: float, longest: int) -> list[int]:
    found = np.random.default_rng(seed).gamma(shape, scale, n)
    return found.round().clip(1, longest).astype(int).tolist()


def make_sentences(
    lengths: Sequence[int], vocabulary: int = VOCABULARY, seed: int = 0
) -> Sentences:
    """Sentences of words that are as frequent as words are: by Zipf's law.

    lengths (Sequence[int]): Their lengths.
    vocabulary (int): Different words there are.
    seed (int): What they depend on.
    RETURNS (List[List[str]]): Their words.
    """
    weights = 1.0 / (np.arange(vocabulary) + 2.7)
    generator = np.random.default_rng(seed)
    numbers = generator.choice(vocabulary, sum(lengths), p=weights / weights.sum()).tolist()
    ends = np.cumsum(lengths).tolist()
    return [
        [spell(number) for number in numbers[end - length : end]]
        for end, length in zip(ends, lengths, strict=True)
    ]


def annotate(nlp: Language, sentences: Sentences, n_labels: int) -> list[Doc]:
    """Documents with tags, one after the other, so that all labels are there if there are tokens
    enough.

    nlp (Language): Whose vocabulary they have.
    sentences (List[List[str]]): Their words.
    n_labels (int): How many labels there are.
    RETURNS (List[Doc]): The documents.
    """
    docs, place = [], 0
    for words in sentences:
        tags = [f"L{i % n_labels}" for i in range(place, place + len(words))]
        docs.append(Doc(nlp.vocab, words=words, tags=tags))
        place += len(words)
    return docs


def make_vectors(nlp: Language, n_rows: int, width: int = VECTOR_WIDTH) -> Vectors:
    """Random vectors for the first words of all.

    nlp (Language): Whose strings they share.
    n_rows (int): How many.
    width (int): Numbers in each.
    RETURNS (Vectors): The table.
    """
    data = np.random.default_rng(0).standard_normal((n_rows, width), dtype=np.float32)
    keys = [get_string_id(spell(number)) for number in range(n_rows)]
    return Vectors(strings=nlp.vocab.strings, data=0.1 * data, keys=keys)


def make_tagger(
    system: str,
    sentences: Sentences,
    n_labels: int,
    *,
    hidden: int | None = None,
    vectors: int | Vectors = 0,
) -> tuple[Language, list[Doc]]:
    """A pipeline of one `psa_tagger`, initialized.

    system (str): A system of `psa init-config`.
    sentences (List[List[str]]): What it is to learn from.
    n_labels (int): How many labels they have.
    hidden (Optional[int]): Width of a BiLSTM, both directions together; None for the config's.
    vectors (Union[int, Vectors]): Its table of vectors, or how many rows it is to have.
    RETURNS (Tuple[Language, List[Doc]]): The pipeline, and the sentences with labels.
    """
    nlp = load_system(system, "pos", hidden)
    if isinstance(vectors, Vectors):
        nlp.vocab.vectors = vectors
    elif vectors:
        nlp.vocab.vectors = make_vectors(nlp, vectors)
    docs = annotate(nlp, sentences, n_labels)
    nlp.initialize(lambda: [Example(only_words(nlp, doc), doc) for doc in docs])
    return nlp, docs
