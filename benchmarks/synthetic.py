"""Synthetic corpora of any size for benchmarks."""

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
# Approximate sentence lengths of CoNLL-2000: 24 tokens on average, 1 to 70
LONGEST, SHAPE, SCALE = 70, 4.0, 6.0
# Approximate lengths of its distinct words: 7 characters on average, most of them 3 to 13
LONGEST_WORD, WORD_SHAPE, WORD_SCALE = 30, 6.5, 1.1
Sentences = list[list[str]]


@cache
def syllables() -> list[str]:
    """RETURNS (List[str]): One hundred syllables."""
    return ["".join(pair) for pair in product("bcdfghjklmnpqrstvwxz", "aeiou")]


def spell(number: int) -> str:
    """Map a number to a word. Small numbers, like frequent words, are short."""
    parts = []
    number += 1
    while number:
        number, last = divmod(number - 1, len(syllables()))
        parts.append(syllables()[last])
    return "".join(reversed(parts))


def sentence_lengths(n: int, seed: int = 0) -> list[int]:
    """Sample sentence lengths as in newspaper text.

    n (int): The number of sentences.
    seed (int): The random seed.
    RETURNS (List[int]): The numbers of tokens.
    """
    return _lengths(n, seed, SHAPE, SCALE, LONGEST)


def word_lengths(n: int, seed: int = 0) -> list[int]:
    """Sample the lengths of distinct words as in newspaper text.

    n (int): The number of words.
    seed (int): The random seed.
    RETURNS (List[int]): The numbers of characters.
    """
    return _lengths(n, seed, WORD_SHAPE, WORD_SCALE, LONGEST_WORD)


def _lengths(n: int, seed: int, shape: float, scale: float, longest: int) -> list[int]:
    found = np.random.default_rng(seed).gamma(shape, scale, n)
    return found.round().clip(1, longest).astype(int).tolist()


def make_sentences(
    lengths: Sequence[int], vocabulary: int = VOCABULARY, seed: int = 0
) -> Sentences:
    """Sample sentences whose word frequencies follow Zipf's law.

    lengths (Sequence[int]): The sentence lengths.
    vocabulary (int): The size of the vocabulary.
    seed (int): The random seed.
    RETURNS (List[List[str]]): The words of each sentence.
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
    """Make documents whose tags cycle through all labels, so that every label occurs if there are
    enough tokens.

    nlp (Language): The pipeline that provides the vocabulary.
    sentences (List[List[str]]): The words of each sentence.
    n_labels (int): The number of labels.
    RETURNS (List[Doc]): The documents.
    """
    docs, place = [], 0
    for words in sentences:
        tags = [f"L{i % n_labels}" for i in range(place, place + len(words))]
        docs.append(Doc(nlp.vocab, words=words, tags=tags))
        place += len(words)
    return docs


def make_vectors(nlp: Language, n_rows: int, width: int = VECTOR_WIDTH) -> Vectors:
    """Make random vectors for the first synthetic words.

    nlp (Language): The pipeline that provides the string store.
    n_rows (int): The number of vectors.
    width (int): The width of the vectors.
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
    gpu: bool = False,
) -> tuple[Language, list[Doc]]:
    """Make and initialize a pipeline with one `psa_tagger`.

    system (str): A system of `psa init-config`.
    sentences (List[List[str]]): The training sentences.
    n_labels (int): The number of labels.
    hidden (Optional[int]): The width of the BiLSTM, both directions together; None for the
        config's.
    vectors (Union[int, Vectors]): The table of vectors, or its number of rows.
    gpu (bool): Whether to use the settings for GPUs.
    RETURNS (Tuple[Language, List[Doc]]): The pipeline, and the labeled sentences.
    """
    nlp = load_system(system, "tag", hidden, gpu=gpu)
    if isinstance(vectors, Vectors):
        nlp.vocab.vectors = vectors
    elif vectors:
        nlp.vocab.vectors = make_vectors(nlp, vectors)
    docs = annotate(nlp, sentences, n_labels)
    nlp.initialize(lambda: [Example(only_words(nlp, doc), doc) for doc in docs])
    return nlp, docs
