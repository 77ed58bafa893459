"""The evaluation report of `psa evaluate` for one layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .breakdowns import Breakdown, Row, Settings, break_down_all, read_counts
from .confusion import Confusion, WrongSentence, confusion, worst_sentences
from .sentences import COMPLETE, SCORES, TOKENS, WHOLES, ScoredSentence, count
from .significance import Interval, percentile_interval, resampled_sums
from .units import Layer


@dataclass(frozen=True)
class Wholes:
    """The wholes that units are parts of, such as the propositions of arguments.

    name (str): Their name, in the plural.
    gold (int): Their number in the gold standard.
    complete (int): The number of gold wholes whose units are all correct.
    skipped (int): The number that is only in the predictions, which are ignored.
    """

    name: str
    gold: int
    complete: int
    skipped: int

    def to_dict(self) -> dict[str, int]:
        """The counts by name, for JSON."""
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
    unit (str): The name of its units, in the plural.
    label (str): The name of their labels.
    main_score (str): The name of the main score.
    n_docs (int): The number of annotated documents.
    n_skipped (int): The number of documents without annotation.
    n_sentences (int): The number of sentences in annotated documents.
    n_tokens (int): The number of annotated tokens.
    scores (Dict[str, float]): The scores of the layer, 0 to 1, e.g. "precision", "recall" and "f1".
    intervals (Dict[str, Optional[Tuple[float, float]]]): The interval of each score.
    confidence (float): The confidence level of all intervals.
    total (Row): All units.
    wholes (Optional[Wholes]): The wholes that units are parts of; None if there are none.
    breakdowns (Dict[str, Breakdown]): By "label", "length", "vocabulary" and "complexity", if they
        apply.
    confusion (Confusion): The confusion matrix.
    worst (List[WrongSentence]): The sentences with the most errors.
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
        """The layer, and the component if known."""
        return f"{self.component} \u2192 {self.layer}" if self.component else self.layer

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The report, for JSON."""
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
            "worst_sentences": [asdict(sentence) for sentence in self.worst],
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
    layer (Layer): The predicted layer.
    settings (Optional[Settings]): The evaluation settings.
    component (str): The component that predicted it, for the report.
    n_docs (Optional[int]): The number of documents, including those without annotation; defaults to
        the documents of the sentences.
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
    f1_interval = percentile_interval(SCORES["f1"](sums), settings.confidence)
    return Report(
        component=component,
        layer=layer.name,
        unit=layer.unit,
        label=layer.label,
        main_score=layer.main_score,
        n_docs=annotated,
        n_skipped=0 if n_docs is None else n_docs - annotated,
        n_sentences=len(sentences),
        n_tokens=int(total[TOKENS]),
        scores={name: float(np.nan_to_num(SCORES[name](total))) for name in layer.scores},
        intervals=intervals,
        confidence=settings.confidence,
        total=Row("all", read_counts(total), f1_interval),
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
    return Wholes(layer.whole, int(total[WHOLES]), int(total[COMPLETE]), skipped)
