"""Everything that `psa evaluate` finds out about one layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import counts as c
from .breakdowns import Breakdown, Row, Settings, break_down_all, read_counts
from .confusion import Confusion, confusion
from .counts import SCORES, count
from .mistakes import WrongSentence, worst_sentences
from .resampling import Interval, percentile_interval, resampled_sums
from .sentences import ScoredSentence
from .units import Layer


@dataclass(frozen=True)
class Wholes:
    """What units are parts of, such as the propositions of arguments.

    name (str): What they are called, in the plural.
    gold (int): Those of the gold standard.
    complete (int): Those of them whose units are all right.
    skipped (int): Those that are in the predictions alone, which do not count.
    """

    name: str
    gold: int
    complete: int
    skipped: int

    def to_dict(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): The counts by their names, ready for JSON."""
        return {
            self.name: self.gold,
            f"complete_{self.name}": self.complete,
            f"skipped_{self.name}": self.skipped,
        }


@dataclass(frozen=True)
class Report:
    """The evaluation of one layer.

    component (str): The component that predicted it; empty if unknown.
    layer (str): The layer.
    unit (str): What its units are called, in the plural.
    label (str): What their labels are called.
    main_score (str): The score that counts.
    n_docs (int): Documents that are annotated.
    n_skipped (int): Documents without annotation.
    n_sentences (int): Sentences of the annotated ones.
    n_tokens (int): Their tokens that are annotated.
    scores (Dict[str, float]): Those of the layer, 0 to 1, e.g. "precision", "recall" and "f1".
    intervals (Dict[str, Optional[Tuple[float, float]]]): That of each score.
    confidence (float): The confidence of all intervals.
    total (Row): All units.
    wholes (Optional[Wholes]): What units are parts of; None if they are parts of nothing.
    breakdowns (Dict[str, Breakdown]): By "label", "length", "vocabulary" and "complexity",
        where they make sense.
    confusion (Confusion): Labels taken for others.
    worst (List[WrongSentence]): The sentences with the most mistakes.
    """

    component: str
    layer: str
    unit: str
    label: str
    main_score: str
    n_docs: int
    n_skipped: int
    n_sentences: int
    n_tokens: int
    scores: dict[str, float]
    intervals: dict[str, Interval | None]
    confidence: float
    total: Row
    wholes: Wholes | None = None
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
            **({} if self.wholes is None else self.wholes.to_dict()),
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
        name: percentile_interval(SCORES[name](sums), settings.confidence) for name in layer.scores
    }
    return Report(
        component=component,
        layer=layer.name,
        unit=layer.unit,
        label=layer.label,
        main_score=layer.main_score,
        n_docs=annotated,
        n_skipped=0 if n_docs is None else n_docs - annotated,
        n_sentences=len(sentences),
        n_tokens=int(total[c.TOKENS]),
        scores={name: float(np.nan_to_num(SCORES[name](total))) for name in layer.scores},
        intervals=intervals,
        confidence=settings.confidence,
        total=Row("all", read_counts(total), intervals["f1"]),
        wholes=_wholes(sentences, total, layer),
        breakdowns=break_down_all(sentences, layer, settings),
        confusion=confusion(sentences),
        worst=worst_sentences(sentences, settings.n_errors),
    )


def _wholes(
    sentences: Sequence[ScoredSentence], total: NDArray[np.int64], layer: Layer
) -> Wholes | None:
    if not layer.whole:
        return None
    skipped = sum(sentence.skipped for sentence in sentences)
    return Wholes(layer.whole, int(total[c.WHOLES]), int(total[c.COMPLETE]), skipped)


__all__ = ["Breakdown", "Report", "Row", "Settings", "Wholes", "evaluate"]
