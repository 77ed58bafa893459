"""Calibration plots: reliability diagrams, and scores by threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..errors import Errors
from ..figures.charts import bar_plot, line_plot
from ..figures.images import stack
from .reliability import (
    Reliability,
    ThresholdCurve,
    precision_recall_by_threshold,
    reliability,
)

if TYPE_CHECKING:
    from .fitting import Calibration

# Even steps, and a last one near 1, where most predictions lie
THRESHOLDS = [*(i / 20 for i in range(20)), 0.99]
DIAGONAL = "perfect calibration"
PERCENT = (0.0, 100.0)


def reliability_diagram(diagrams: Mapping[str, Reliability], unit: str, title: str = "") -> str:
    """Plot accuracy by confidence, with the number of predictions per bin below. Points on the
    diagonal are calibrated; below it, the model is overconfident.
    """
    if not any(bins.counts.any() for bins in diagrams.values()):
        raise ValueError(Errors.P280.format(title=title or unit))
    accuracies = line_plot(
        {name: _points(bins) for name, bins in diagrams.items()},
        f"mean confidence of {unit} per bin (%)",
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


def _points(bins: Reliability) -> list[tuple[float, float]]:
    """Mean confidence and accuracy of the bins that have predictions, in percent."""
    some = np.flatnonzero(bins.counts).tolist()
    return [(100.0 * float(bins.confidence[j]), 100.0 * float(bins.accuracy[j])) for j in some]


def _counts(bins: Reliability) -> dict[str, float]:
    edges = [f"{100.0 * edge:.4g}" for edge in bins.edges]
    return {f"{edges[j]}–{edges[j + 1]}": float(n) for j, n in enumerate(bins.counts)}
