"""Build sentences and documents for evaluation from short notations."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.evaluation.layers import Unit
from spacy_psa.evaluation.sentences import ScoredSentence

Short = tuple[int, int, str]


def tagged(gold: str, predicted: str, words: str | None = None) -> ScoredSentence:
    """A sentence with a gold and a predicted tag for each word."""
    tags = [gold.split(), predicted.split()]
    units = [[Unit(i, i + 1, tag) for i, tag in enumerate(side)] for side in tags]
    right = np.array([one == other for one, other in zip(*tags, strict=True)])
    text = tuple(words.split()) if words else tuple(f"w{i}" for i in range(len(right)))
    return ScoredSentence(0, 0, text, *units, np.ones(len(right), dtype=bool), right)


def spanned(words: str, gold: Iterable[Short], predicted: Iterable[Short]) -> ScoredSentence:
    """A sentence with gold and predicted spans."""
    text = tuple(words.split())
    sides = [sorted(Unit(*span) for span in side) for side in (gold, predicted)]
    tags = [SCHEMES["BIO"].encode([unit[:3] for unit in side], len(text)) for side in sides]
    right = np.array([one == other for one, other in zip(*tags, strict=True)])
    return ScoredSentence(0, 0, text, *sides, np.ones(len(text), dtype=bool), right)


def doc_with(
    words: Sequence[str],
    *,
    tags: Sequence[str] | None = None,
    ents: Sequence[str] | None = None,
    chunks: Iterable[Short] | None = None,
    starts: Sequence[bool] | None = None,
) -> Doc:
    """A document with some annotation."""
    doc = Doc(Vocab(), words=list(words), tags=tags, ents=ents, sent_starts=starts)
    if chunks is not None:
        doc.spans["chunks"] = [Span(doc, *chunk) for chunk in chunks]
    return doc


def random_pairs(n: int, seed: int, skill: float = 0.7) -> list[ScoredSentence]:
    """Sentences with random tags, predicted correctly with probability `skill` or by chance."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(n):
        gold = [rng.choice("XYZ") for _ in range(rng.randint(1, 8))]
        found = [tag if rng.random() < skill else rng.choice("XYZ") for tag in gold]
        sentences.append(tagged(" ".join(gold), " ".join(found)))
    return sentences
