"""Everything that `psa evaluate` finds out about one layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import counts as c
from .confusion import Confusion, confusion
from .conlleval import Counts
from .counts import SCORES, Grouping, count, count_groups
from .groups import (
    LENGTHS,
    VOCABULARY_CLASSES,
    ByLength,
    ByVocabulary,
    are_categories,
    by_complexity,
    by_label,
    labels_of,
    natural_order,
)
from .layers import Layer
from .mistakes import WrongSentence, worst_sentences
from .resampling import Interval, percentile_interval, resampled_sums
from .sentences import ScoredSentence


@dataclass(frozen=True)
class Row:
    """The scores of a group of units.

    name (str): The group.
    counts (Counts): Its units: in the gold standard, predicted, and correct.
    interval (Optional[Tuple[float, float]]): That of F1; None where it is not defined.
    """

    name: str
    counts: Counts
    interval: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): Counts and scores, ready for JSON."""
        n = self.counts
        wrong = {"false_positives": n.predicted - n.correct, "false_negatives": n.gold - n.correct}
        ends = None if self.interval is None else list(self.interval)
        return {"name": self.name, **n.to_dict(), **wrong, "f1_interval": ends}


@dataclass(frozen=True)
class Breakdown:
    """Scores of units by some property of theirs.

    title (str): The property.
    rows (List[Row]): The groups, in order.
    note (str): What to know when reading it.
    """

    title: str
    rows: list[Row]
    note: str = ""


@dataclass(frozen=True)
class Settings:
    """How to evaluate.

    lengths (Sequence[int]): Where buckets of sentence length begin, beside 1.
    vocabulary (Optional[ByVocabulary]): Tells words seen in training from others.
    vocabulary_note (str): What to say about that.
    n_resamples (int): How often the bootstrap draws.
    confidence (float): That of its intervals.
    seed (int): Where its random numbers start.
    n_errors (int): How many of the worst sentences to show.
    """

    lengths: Sequence[int] = LENGTHS
    vocabulary: ByVocabulary | None = None
    vocabulary_note: str = ""
    n_resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    n_errors: int = 10


@dataclass(frozen=True)
class Report:
    """The evaluation of one layer.

    component (str): The component that predicted it; empty if unknown.
    layer (str): The layer.
    unit (str): What its units are called, in the plural.
    main_score (str): The score that counts: "accuracy" or "f1".
    n_docs (int): Documents that are annotated.
    n_skipped (int): Documents without annotation.
    n_sentences (int): Sentences of the annotated ones.
    n_tokens (int): Their tokens that are annotated.
    scores (Dict[str, float]): "precision", "recall", "f1" and "accuracy", 0 to 1.
    intervals (Dict[str, Optional[Tuple[float, float]]]): That of each score.
    confidence (float): The confidence of all intervals.
    total (Row): All units.
    breakdowns (Dict[str, Breakdown]): By "label", "length", and where they make sense
        "vocabulary" and "complexity".
    confusion (Confusion): Labels taken for others.
    worst (List[WrongSentence]): The sentences with the most mistakes.
    """

    component: str
    layer: str
    unit: str
    main_score: str
    n_docs: int
    n_skipped: int
    n_sentences: int
    n_tokens: int
    scores: dict[str, float]
    intervals: dict[str, Interval | None]
    confidence: float
    total: Row
    breakdowns: dict[str, Breakdown] = field(default_factory=dict)
    confusion: Confusion = field(default_factory=Confusion)
    worst: list[WrongSentence] = field(default_factory=list)

    @property
    def title(self) -> str:
        """RETURNS (str): The layer, and the component if it is known."""
        return f"{self.component} \u2192 {self.layer}" if self.component else self.layer

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All of it, ready for JSON."""
        return {
            "component": self.component or None,
            "layer": self.layer,
            "documents": self.n_docs,
            "skipped_documents": self.n_skipped,
            "sentences": self.n_sentences,
            "tokens": self.n_tokens,
            **self.scores,
            "confidence": self.confidence,
            "intervals": {name: ends and list(ends) for name, ends in self.intervals.items()},
            "counts": self.total.to_dict(),
            **{
                f"by_{name}": [row.to_dict() for row in breakdown.rows]
                for name, breakdown in self.breakdowns.items()
            },
            "confusion": self.confusion.to_dict(),
            "worst_sentences": [sentence.to_dict() for sentence in self.worst],
        }


def evaluate(
    sentences: Sequence[ScoredSentence],
    layer: Layer,
    settings: Settings | None = None,
    *,
    component: str = "",
    n_docs: int | None = None,
) -> Report:
    """Evaluate predictions.

    sentences (Sequence[ScoredSentence]): Gold standard and predictions, see `pair_sentences`.
    layer (Layer): What was predicted.
    settings (Optional[Settings]): How to evaluate.
    component (str): The component that predicted it, for the report.
    n_docs (Optional[int]): How many documents there were, those without annotation included; by
        default those of the sentences.
    RETURNS (Report): The report.
    """
    settings = settings or Settings()
    counts = count(sentences)
    total = counts.sum(0)
    sums = resampled_sums(counts, settings.n_resamples, settings.seed)
    annotated = len({sentence.doc for sentence in sentences})
    intervals = {
        name: percentile_interval(score(sums), settings.confidence)
        for name, score in SCORES.items()
    }
    return Report(
        component=component,
        layer=layer.name,
        unit=layer.unit,
        main_score=layer.main_score,
        n_docs=annotated,
        n_skipped=0 if n_docs is None else n_docs - annotated,
        n_sentences=len(sentences),
        n_tokens=int(total[c.TOKENS]),
        scores={name: float(np.nan_to_num(score(total))) for name, score in SCORES.items()},
        intervals=intervals,
        confidence=settings.confidence,
        total=Row("all", _counts(total), intervals["f1"]),
        breakdowns=_breakdowns(sentences, settings),
        confusion=confusion(sentences),
        worst=worst_sentences(sentences, settings.n_errors),
    )


def break_down(
    sentences: Sequence[ScoredSentence],
    group_of: Grouping,
    settings: Settings,
    order: Callable[[list[str]], list[str]] = natural_order,
) -> list[Row]:
    """Score groups of units.

    sentences (Sequence[ScoredSentence]): The sentences.
    group_of (Grouping): The group of a unit.
    settings (Settings): How to evaluate.
    order (Callable[[List[str]], List[str]]): Brings the names of the groups into order; it may
        add names of groups that have no units.
    RETURNS (List[Row]): The groups.
    """
    names, counts = count_groups(sentences, group_of)
    sums = resampled_sums(counts, settings.n_resamples, settings.seed)
    found = {
        name: Row(
            name,
            _counts(counts[:, i].sum(0)),
            percentile_interval(SCORES["f1"](sums[:, i]), settings.confidence),
        )
        for i, name in enumerate(names)
    }
    return [found.get(name, Row(name, Counts(), None)) for name in order(names)]


def _breakdowns(sentences: Sequence[ScoredSentence], settings: Settings) -> dict[str, Breakdown]:
    by_length = ByLength(settings.lengths)
    found = {
        "label": Breakdown("By label", break_down(sentences, by_label, settings)),
        "length": Breakdown(
            "By sentence length (tokens)",
            break_down(sentences, by_length, settings, lambda names: by_length.names),
        ),
    }
    if settings.vocabulary is not None:
        found["vocabulary"] = Breakdown(
            "By vocabulary",
            break_down(
                sentences, settings.vocabulary, settings, lambda names: list(VOCABULARY_CLASSES)
            ),
            settings.vocabulary_note,
        )
    if are_categories(labels_of(sentences)):
        found["complexity"] = Breakdown(
            "By complexity (basic categories)",
            break_down(sentences, by_complexity, settings),
            "The recall is the accuracy on gold categories of that complexity.",
        )
    return found


def _counts(sums: NDArray[np.int64]) -> Counts:
    gold, predicted, correct = (int(n) for n in sums[:3])
    return Counts(gold, predicted, correct)
