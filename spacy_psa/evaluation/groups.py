"""Group units by label, sentence length, vocabulary and category complexity."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from ..errors import Errors
from .sentences import Grouping, ScoredSentence
from .units import Unit

LENGTHS = (5, 10, 20, 40)
"""The lower bounds of the sentence length buckets, except 1."""

VOCABULARY_CLASSES = ("IV", "OOTV", "OOEV", "OOBV")
# An atom can have features: S[dcl], NP[nb]; punctuation marks are atoms, too.
_ATOM = r"[^\s()\[\]/\\|]+(?:\[[^\s()\[\]/\\|]+\])?"
_CATEGORY = re.compile(rf"\(*{_ATOM}\)*(?:[/\\]\(*{_ATOM}\)*)*")


def by_label(sentence: ScoredSentence, unit: Unit) -> str:
    """The label of a unit."""
    return unit.label


@dataclass(frozen=True)
class ByLength:
    """Group units by the length of their sentence.

    starts (Sequence[int]): The lower bounds of the buckets in tokens, except the first, which is 1.
    RAISES (ValueError): If they are not ascending, or not greater than 1.
    """

    starts: Sequence[int] = LENGTHS

    def __post_init__(self) -> None:
        pairs = zip((1, *self.starts), self.starts, strict=False)
        if not self.starts or any(low >= high for low, high in pairs):
            raise ValueError(Errors.P260.format(lengths=",".join(map(str, self.starts))))

    @property
    def names(self) -> list[str]:
        """The buckets, from the shortest to the longest."""
        lows = [1, *self.starts]
        highs = [start - 1 for start in self.starts]
        names = [str(a) if a == b else f"{a}\u2013{b}" for a, b in zip(lows, highs, strict=False)]
        return [*names, f"{lows[-1]}+"]

    def name(self, sentence: ScoredSentence) -> str:
        """The bucket of a sentence."""
        return self.bucket(len(sentence.words))

    def bucket(self, n_tokens: int) -> str:
        """The bucket of sentences with this many tokens."""
        return self.names[sum(n_tokens >= start for start in self.starts)]

    def __call__(self, sentence: ScoredSentence, unit: Unit) -> str:
        return self.name(sentence)


@dataclass(frozen=True)
class ByVocabulary:
    """Group units by whether their words occur in the training data and have pretrained embeddings.

    IV: all words are in the training data and have embeddings. OOTV: some are not in the training
    vocabulary. OOEV: some are not in the embedding vocabulary. OOBV: some are not in the training
    vocabulary and some, possibly different, words are not in the embedding vocabulary.

    trained (Callable[[str], bool]): Whether a word is in the training data.
    embedded (Callable[[str], bool]): Whether it has a pretrained embedding.

    Source: Ma and Hovy (2016), section 4.6.
    """

    trained: Callable[[str], bool]
    embedded: Callable[[str], bool]

    def __call__(self, sentence: ScoredSentence, unit: Unit) -> str:
        words = sentence.words_of(unit)
        # The classes are ordered by two bits: the first for training, the second for embeddings.
        place = (not all(map(self.trained, words))) + 2 * (not all(map(self.embedded, words)))
        return VOCABULARY_CLASSES[place]


def complexity(category: str) -> int:
    """Count the basic categories in a category, 3 for `(S\\NP)/NP`: its slashes plus one."""
    return 1 + category.count("/") + category.count("\\")


def by_complexity(sentence: ScoredSentence, unit: Unit) -> str:
    """The complexity of a unit's label, which must be a category."""
    return str(complexity(unit.label))


def are_categories(labels: Collection[str]) -> bool:
    """Check whether labels are categories of a categorial grammar."""
    built = all(_CATEGORY.fullmatch(x) and x.count("(") == x.count(")") for x in labels)
    complex_ones = sum(complexity(label) > 1 for label in labels)
    return built and complex_ones > 0 and 2 * complex_ones >= len(labels)


def labels_of(sentences: Iterable[ScoredSentence]) -> set[str]:
    """Collect the labels of a layer."""
    return {unit.label for s in sentences for side in (s.gold, s.predicted) for unit in side}


def natural_order(names: Iterable[str]) -> list[str]:
    """Sort names in natural order, that is, with numbers compared by value."""

    def key(name: str) -> list[tuple[bool, int, str]]:
        parts = [(part, part.isdecimal()) for part in re.split(r"(\d+)", name)]
        return [(not number, int(part) if number else 0, part) for part, number in parts]

    return sorted(names, key=key)


__all__ = [
    "LENGTHS",
    "VOCABULARY_CLASSES",
    "ByLength",
    "ByVocabulary",
    "Grouping",
    "are_categories",
    "by_complexity",
    "by_label",
    "complexity",
    "labels_of",
    "natural_order",
]
