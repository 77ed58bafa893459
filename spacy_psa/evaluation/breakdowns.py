"""Break scores down by label, sentence length, vocabulary and complexity of categories."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .conlleval import Counts
from .sentences import SCORES, Grouping, ScoredSentence, count_groups
from .significance import Interval, percentile_interval, resampled_sums
from .units import Layer, Unit

LENGTHS = (5, 10, 20, 40)
"""The lower bounds of the sentence length buckets, except 1."""

VOCABULARY_CLASSES = ("IV", "OOTV", "OOEV", "OOBV")
VOCABULARY_NOTE = (
    "IV: all words are in the training data and in the vectors; OOTV: some are not in the training "
    "data; OOEV: some have no vector; OOBV: both. Training data:"
)
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

    def bucket(self, n_tokens: int) -> str:
        """The bucket of sentences with this many tokens."""
        return self.names[sum(n_tokens >= start for start in self.starts)]

    def __call__(self, sentence: ScoredSentence, unit: Unit) -> str:
        return self.bucket(len(sentence.words))


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


@dataclass(frozen=True)
class Row:
    """The scores of a group of units.

    name (str): The group.
    counts (Counts): Its gold, predicted and correct units.
    interval (Optional[Tuple[float, float]]): The interval of F1; None if undefined, as it is for a
        group in a single sentence.
    """

    name: str
    counts: Counts
    interval: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Counts and scores, for JSON."""
        n = self.counts
        wrong = {"false_positives": n.predicted - n.correct, "false_negatives": n.gold - n.correct}
        ends = None if self.interval is None else list(self.interval)
        return {"name": self.name, **n.to_dict(), **wrong, "f1_interval": ends}


@dataclass(frozen=True)
class Breakdown:
    """Scores by a property of the units.

    title (str): The property.
    rows (List[Row]): The groups, in order.
    note (str): A note for readers.
    """

    title: str
    rows: list[Row]
    note: str = ""


@dataclass(frozen=True)
class Settings:
    """Evaluation settings.

    lengths (Sequence[int]): The lower bounds of the sentence length buckets, except 1.
    vocabulary (Optional[ByVocabulary]): Distinguishes words seen in training from others.
    vocabulary_note (str): A note on the vocabulary.
    n_resamples (int): The number of bootstrap samples.
    confidence (float): The confidence level of the bootstrap intervals.
    seed (int): The random seed of the bootstrap.
    n_errors (int): How many of the worst sentences to show.
    """

    lengths: Sequence[int] = LENGTHS
    vocabulary: ByVocabulary | None = None
    vocabulary_note: str = ""
    n_resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    n_errors: int = 10


def break_down(
    sentences: Sequence[ScoredSentence],
    group_of: Grouping,
    settings: Settings,
    order: Callable[[list[str]], list[str]] = natural_order,
) -> list[Row]:
    """Score groups of units."""
    names, counts = count_groups(sentences, group_of)
    f1 = SCORES["f1"](resampled_sums(counts, settings.n_resamples, settings.seed))
    # Samples with the only sentence of a group all have the same score for it
    f1[:, counts.any(-1).sum(0) < 2] = np.nan
    found = {
        name: Row(
            name,
            read_counts(counts[:, i].sum(0)),
            percentile_interval(f1[:, i], settings.confidence),
        )
        for i, name in enumerate(names)
    }
    return [found.get(name, Row(name, Counts(), None)) for name in order(names)]


def read_counts(sums: NDArray[np.int64]) -> Counts:
    """The first three columns of the summed counts."""
    gold, predicted, correct = (int(n) for n in sums[:3])
    return Counts(gold, predicted, correct)


def _by_label(sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings) -> Breakdown:
    return Breakdown(f"By {layer.label}", break_down(sentences, by_label, settings))


def _by_length(sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings) -> Breakdown:
    by_length = ByLength(settings.lengths)
    rows = break_down(sentences, by_length, settings, lambda names: by_length.names)
    return Breakdown("By sentence length (tokens)", rows)


def _by_vocabulary(
    sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings
) -> Breakdown | None:
    if settings.vocabulary is None:
        return None
    rows = break_down(
        sentences, settings.vocabulary, settings, lambda names: list(VOCABULARY_CLASSES)
    )
    return Breakdown("By vocabulary", rows, f"{VOCABULARY_NOTE} {settings.vocabulary_note}")


def _by_complexity(
    sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings
) -> Breakdown | None:
    if not are_categories(labels_of(sentences)):
        return None
    return Breakdown(
        "By complexity (basic categories)",
        break_down(sentences, by_complexity, settings),
        "Recall is the accuracy on gold categories of this complexity.",
    )


BREAKDOWNS: dict[str, Callable[[Sequence[ScoredSentence], Layer, Settings], Breakdown | None]] = {
    "label": _by_label,
    "length": _by_length,
    "vocabulary": _by_vocabulary,
    "complexity": _by_complexity,
}
"""Functions that make a breakdown, or return None if it does not apply to the sentences."""


def break_down_all(
    sentences: Sequence[ScoredSentence], layer: Layer, settings: Settings
) -> dict[str, Breakdown]:
    """Make all breakdowns that apply to a layer."""
    found = {name: BREAKDOWNS[name](sentences, layer, settings) for name in layer.groups}
    return {name: breakdown for name, breakdown in found.items() if breakdown is not None}
