"""How reliable probabilities are: errors by confidence, and their plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import Errors
from ..figures.charts import bar_plot, line_plot
from ..figures.images import stack

if TYPE_CHECKING:
    from .fitting import Calibration

N_BINS = 10


@dataclass(frozen=True)
class Reliability:
    """Confidence and accuracy of predictions, binned by confidence.

    The interval from 0 to 1 is split into bins of equal width. A bin includes its upper edge, but
    not its lower edge; the first bin also includes 0.

    edges (NDArray): The edges of the bins. *Shape:* (bins + 1,)
    confidence (NDArray): The mean confidence in each bin, NaN if it is empty. *Shape:* (bins,)
    accuracy (NDArray): The share of correct predictions, NaN if the bin is empty. *Shape:* (bins,)
    counts (NDArray): The number of predictions. *Shape:* (bins,), int64.
    """

    edges: NDArray[np.float64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def expected_error(self) -> float:
        """The expected calibration error, see `expected_calibration_error`."""
        total = self.counts.sum()
        if not total:
            return float("nan")
        some = self.counts > 0
        gaps = np.abs(self.accuracy[some] - self.confidence[some])
        return float(self.counts[some] @ gaps / total)


@dataclass(frozen=True)
class ThresholdCurve:
    """Scores after dropping predictions below a confidence threshold.

    thresholds (NDArray): Predictions with at least this confidence are kept. *Shape:* (T,)
    kept (NDArray): The number of predictions kept. *Shape:* (T,), int64.
    precision (NDArray): The share of them that is correct, NaN if none is kept. *Shape:* (T,)
    recall (NDArray): The share of gold units that they find, NaN if there are no gold units.
        *Shape:* (T,)
    f1 (NDArray): The harmonic mean of precision and recall, 0 if nothing is correct, NaN if there
        are neither predictions nor gold units. *Shape:* (T,)
    """

    thresholds: NDArray[np.float64]
    kept: NDArray[np.int64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]


def reliability(confidences: ArrayLike, correct: ArrayLike, *, n_bins: int = N_BINS) -> Reliability:
    """Bin predictions by confidence, as in a reliability diagram."""
    confidences, correct = _checked(confidences, correct)
    if not isinstance(n_bins, Integral) or isinstance(n_bins, bool) or n_bins < 1:
        raise ValueError(Errors.P014.format(name="n_bins", value=n_bins))
    # Not multiples of 1 / n, because 3 · 0.1 is greater than 0.3.
    edges = np.arange(n_bins + 1) / n_bins
    bins = np.maximum(np.searchsorted(edges, confidences, side="left") - 1, 0)
    counts = np.bincount(bins, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        return Reliability(
            edges,
            np.bincount(bins, confidences, n_bins) / counts,
            np.bincount(bins, correct, n_bins) / counts,
            counts,
        )


def expected_calibration_error(
    confidences: ArrayLike, correct: ArrayLike, *, n_bins: int = N_BINS
) -> float:
    """Compute the expected calibration error: the mean gap between confidence and accuracy over
    bins of equal width, weighted by their number of predictions (Naeini et al. 2015; Guo et al.
    2017, equation 3),

        ECE = Σ_b |B_b| / P · |accuracy(B_b) − confidence(B_b)|

    It depends on the number of bins: only compare values computed with the same number.

    confidences (ArrayLike): The probability of each prediction, 0 to 1. *Shape:* (P,)
    correct (ArrayLike): Whether it is correct. *Shape:* (P,), booleans.
    n_bins (int): The number of bins.
    RETURNS (float): The error, 0 to 1; NaN if there are no predictions.
    RAISES (ValueError): If the arrays do not match, or there are no bins.
    """
    return reliability(confidences, correct, n_bins=n_bins).expected_error


def brier_score(confidences: ArrayLike, correct: ArrayLike) -> float:
    """Compute the mean squared difference between confidence and outcome, which is 1 if correct and
    0 otherwise (Brier 1950, for one event). Unlike the calibration error, it also rewards
    confidences that separate correct from incorrect predictions.

    confidences (ArrayLike): The probability of each prediction, 0 to 1. *Shape:* (P,)
    correct (ArrayLike): Whether it is correct. *Shape:* (P,), booleans.
    RETURNS (float): The score, 0 (best) to 1; NaN if there are no predictions.
    RAISES (ValueError): If the arrays do not match.
    """
    confidences, correct = _checked(confidences, correct)
    return float(np.square(confidences - correct).mean()) if len(correct) else float("nan")


def precision_recall_by_threshold(
    confidences: ArrayLike,
    correct: ArrayLike,
    n_gold: int,
    *,
    thresholds: Sequence[float] | NDArray[np.float64] | None = None,
) -> ThresholdCurve:
    """Compute scores after dropping predictions below each confidence threshold."""
    confidences, correct = _checked(confidences, correct)
    if n_gold < correct.sum():
        problem = f"{int(correct.sum())} of them are correct, but the gold standard has {n_gold}"
        raise ValueError(Errors.P345.format(problem=problem))
    at = np.arange(101) / 100 if thresholds is None else np.asarray(thresholds, dtype=np.float64)
    order = np.argsort(confidences)
    below = np.searchsorted(confidences[order], at, side="left")
    # The number of correct predictions from each index to the end.
    right = np.append(np.cumsum(correct[order][::-1])[::-1], 0)[below]
    kept = len(confidences) - below
    with np.errstate(invalid="ignore", divide="ignore"):
        return ThresholdCurve(
            at, kept, right / kept, right / np.float64(n_gold), 2.0 * right / (kept + n_gold)
        )


def _checked(
    confidences: ArrayLike, correct: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    confidences = np.asarray(confidences, dtype=np.float64)
    correct = np.asarray(correct)
    if not correct.size:
        correct = correct.astype(bool)
    problem = None
    if confidences.ndim != 1 or confidences.shape != correct.shape:
        problem = f"their shape is {confidences.shape}, but that of the booleans {correct.shape}"
    elif correct.dtype != bool:
        problem = f"the type of the booleans is {correct.dtype}"
    elif not ((confidences >= 0.0) & (confidences <= 1.0)).all():
        wrong = confidences[~((confidences >= 0.0) & (confidences <= 1.0))][0]
        problem = f"one of them is {wrong}"
    if problem is not None:
        raise ValueError(Errors.P345.format(problem=problem))
    return confidences, correct


# Even steps, and a last one near 1, where most predictions lie
THRESHOLDS = [*(i / 20 for i in range(20)), 0.99]
DIAGONAL = "perfect calibration"
PERCENT = (0.0, 100.0)
FEWEST = 10


def reliability_diagram(diagrams: Mapping[str, Reliability], unit: str, title: str = "") -> str:
    """Plot accuracy by confidence, with the number of predictions per bin below. Points on the
    diagonal are calibrated; below it, the model is overconfident. Bins of fewer than `FEWEST`
    predictions, whose accuracy is mostly chance, have no point, unless all are so small.
    """
    if not any(bins.counts.any() for bins in diagrams.values()):
        raise ValueError(Errors.P280.format(title=title or unit))
    fewest = FEWEST if any((bins.counts >= FEWEST).any() for bins in diagrams.values()) else 1
    accuracies = line_plot(
        {name: _points(bins, fewest) for name, bins in diagrams.items()},
        f"mean confidence of {unit} per bin (%)" + f"; bins of {fewest} or more" * (fewest > 1),
        f"accuracy of {unit} per bin (%)",
        title,
        x_range=PERCENT,
        y_range=PERCENT,
        diagonal=DIAGONAL,
    )
    # On a logarithmic scale: most predictions are in the last bin, but the others matter, too.
    counts = bar_plot(
        {name: _counts(bins) for name, bins in diagrams.items()},
        "confidence (%)",
        f"{unit} per bin (log scale)",
        logarithmic=True,
    )
    return stack([accuracies, counts])


def threshold_plot(curve: ThresholdCurve, unit: str, title: str = "") -> str:
    """Plot precision, recall and F1 by confidence threshold."""
    scores = {"precision": curve.precision, "recall": curve.recall, "F1": curve.f1}
    return line_plot(
        {
            name: [(100.0 * t, 100.0 * v) for t, v in zip(curve.thresholds, values, strict=True)]
            for name, values in scores.items()
        },
        f"confidence threshold for {unit} (%)",
        f"score of {unit} kept (%)",
        title,
        x_range=PERCENT,
        # Not the colors of before and after
        owners={"before": "before", "after": "after", **{name: name for name in scores}},
    )


def draw_calibration(found: Calibration, *, n_bins: int) -> str:
    """Draw a reliability diagram, and precision and recall by threshold."""
    diagrams = {}
    for title, temperature, sides in (
        ("before", found.initial, found.before),
        ("after", found.fit.temperature, found.after),
    ):
        side = sides[found.unit]
        bins = reliability(side.confidence, side.correct, n_bins=n_bins)
        error = 100.0 * bins.expected_error
        diagrams[f"{title}: T = {temperature:.3f}, ECE {error:.2f} %"] = bins
    # `side` is that of the last iteration: after calibration
    curve = precision_recall_by_threshold(
        side.confidence, side.correct, side.n_gold, thresholds=THRESHOLDS
    )
    name = f"{found.unit} of {found.component}"
    return stack(
        [
            reliability_diagram(diagrams, found.unit, f"Reliability: {name}"),
            threshold_plot(curve, found.unit, f"Scores by threshold after calibration: {name}"),
        ]
    )


def _points(bins: Reliability, fewest: int) -> list[tuple[float, float]]:
    """Mean confidence and accuracy of the bins that have enough predictions, in percent."""
    some = np.flatnonzero(bins.counts >= fewest).tolist()
    return [(100.0 * float(bins.confidence[j]), 100.0 * float(bins.accuracy[j])) for j in some]


def _counts(bins: Reliability) -> dict[str, float]:
    edges = [f"{100.0 * edge:.4g}" for edge in bins.edges]
    return {f"{edges[j]}–{edges[j + 1]}": float(n) for j, n in enumerate(bins.counts)}
