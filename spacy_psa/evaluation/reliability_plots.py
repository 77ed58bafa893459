"""Calibration plots: reliability diagrams, and scores by threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..analysis import axes
from ..analysis.axes import BOTTOM, GRAY, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Scale, Style
from ..analysis.plots import BAR_SHARE, SHAPES, bar_key, line_key, line_plot, stack
from ..errors import Errors
from ..printable import escape

if TYPE_CHECKING:
    from .calibration import Reliability, ThresholdCurve

DIAGONAL = "6 4"
DIAGONAL_NAME = "perfect calibration"
FEWEST = 0.5  # the start of the count axis, so that a bin with one prediction has a bar


def reliability_diagram(diagrams: Mapping[str, Reliability], unit: str, title: str = "") -> str:
    """Plot accuracy by confidence, with the number of predictions per bin below. Points on the
    diagonal are calibrated; below it, the model is overconfident. Hovering over a point or bar
    shows its numbers.

    diagrams (Mapping[str, Reliability]): The bins of one or more models, by name in the legend. All
        have the same bin edges.
    unit (str): What is predicted, in the plural.
    title (str): The title.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there are no predictions.

    Source: Niculescu-Mizil and Caruana (2005), "Predicting good probabilities with supervised
        learning"; Guo et al. (2017), "On calibration of modern neural networks", figure 4.
    """
    if not any(bins.counts.any() for bins in diagrams.values()):
        raise ValueError(Errors.P280.format(title=title or unit))
    return stack([_accuracies(diagrams, unit, title), _counts(diagrams, unit)])


def threshold_plot(curve: ThresholdCurve, unit: str, title: str = "") -> str:
    """Plot precision, recall and F1 by confidence threshold.

    curve (ThresholdCurve): The scores.
    unit (str): What is predicted, in the plural.
    title (str): The title.
    RETURNS (str): A self-contained SVG image.
    RAISES (ValueError): If there is no finite score.
    """
    scores = {"precision": curve.precision, "recall": curve.recall, "F1": curve.f1}
    return line_plot(
        {
            name: [(100.0 * t, 100.0 * v) for t, v in zip(curve.thresholds, values, strict=True)]
            for name, values in scores.items()
        },
        f"confidence threshold for {unit} (%)",
        f"score of {unit} kept (%)",
        title,
        x_range=(0.0, 100.0),
    )


def _accuracies(diagrams: Mapping[str, Reliability], unit: str, title: str) -> str:
    x, y = _percent_axis(), Scale(0.0, 100.0, HEIGHT - BOTTOM, TOP)
    y_ticks = axes.ticks(y.low, y.high)
    name = f"accuracy of {unit} per bin (%)"
    parts = axes.frame(title, f"mean confidence of {unit} per bin (%)", name, y_ticks, y)
    parts += _x_ticks(x, y)
    parts.append(_diagonal(x(0.0), y(0.0), x(100.0), y(100.0)))
    styles = axes.styles(len(diagrams))
    for (name, bins), style in zip(diagrams.items(), styles, strict=True):
        parts += _curve(name, bins, unit, style, x, y)
    keys = [*map(line_key, styles), _diagonal(0.0, 12.0, 24.0, 0.0)]
    drawn, height = axes.legend([*diagrams, DIAGONAL_NAME], keys)
    described = title or f"reliability of {unit}"
    return axes.image([*parts, *drawn], HEIGHT + height, described)


def _counts(diagrams: Mapping[str, Reliability], unit: str) -> str:
    """Bars on a log scale: most predictions are in the last bin, but the others matter, too."""
    most = max(int(bins.counts.max()) for bins in diagrams.values())
    top = math.log10(max(most, 10))
    x, y = _percent_axis(), Scale(math.log10(FEWEST), top, HEIGHT - BOTTOM, TOP)
    parts = axes.frame("", "confidence (%)", f"{unit} per bin (log scale)", [], y)
    for power in range(int(top) + 1):
        parts.append(axes.line(LEFT, y(power), WIDTH - RIGHT, y(power), axes.LIGHT))
        number = f"{10**power}" if power < 3 else f"{10 ** (power - 3):,}k"
        parts.append(axes.text(LEFT - 8, y(power) + 4, number, "end"))
    parts += _x_ticks(x, y)
    styles = axes.styles(len(diagrams))
    for i, ((name, bins), style) in enumerate(zip(diagrams.items(), styles, strict=True)):
        for j in np.flatnonzero(bins.counts).tolist():
            first, last = (x(100.0 * edge) for edge in bins.edges[j : j + 2])
            width = (last - first) * BAR_SHARE / len(diagrams)
            left = first + (last - first) * (1.0 - BAR_SHARE) / 2.0 + i * width
            height = y.start - y(math.log10(bins.counts[j]))
            hint = f"{name}: {_range(bins, j)}, {bins.counts[j]} {unit}"
            parts.append(
                f'<rect x="{left:.5g}" y="{y.start - height:.5g}" width="{width:.5g}" '
                f'height="{height:.5g}" fill="{style.color}" stroke="#ffffff">'
                f"<title>{escape(hint)}</title></rect>"
            )
    drawn, height = axes.legend(list(diagrams), list(map(bar_key, styles)))
    return axes.image([*parts, *drawn], HEIGHT + height, f"{unit} by confidence")


def _curve(name: str, bins: Reliability, unit: str, style: Style, x: Scale, y: Scale) -> list[str]:
    some = np.flatnonzero(bins.counts).tolist()
    places = [
        f"{x(100.0 * bins.confidence[j]):.5g} {y(100.0 * bins.accuracy[j]):.5g}" for j in some
    ]
    if not places:
        return []
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    path = f'd="M{"L".join(places)}" stroke="{style.color}" stroke-width="2"'
    drawn = [f'<path {path} fill="none"{dash}/>']
    for j, place in zip(some, places, strict=True):
        hint = (
            f"{name}: {_range(bins, j)}, {bins.counts[j]} {unit}, mean confidence "
            f"{100.0 * bins.confidence[j]:.4g} %, accuracy {100.0 * bins.accuracy[j]:.4g} %"
        )
        drawn.append(
            f'<path d="{SHAPES[style.mark]}" transform="translate({place})" fill="{style.color}">'
            f"<title>{escape(hint)}</title></path>"
        )
    return drawn


def _range(bins: Reliability, j: int) -> str:
    low, high = 100.0 * bins.edges[j : j + 2]
    return f"{low:.4g} to {high:.4g} %"


def _percent_axis() -> Scale:
    return Scale(0.0, 100.0, LEFT, WIDTH - RIGHT)


def _x_ticks(x: Scale, y: Scale) -> list[str]:
    parts = []
    for value in axes.ticks(x.low, x.high, at_most=10):
        parts.append(axes.line(x(value), y.start, x(value), y.start + 5, GRAY))
        parts.append(axes.text(x(value), y.start + 18, axes.label(value, 10.0), "middle"))
    return parts


def _diagonal(x1: float, y1: float, x2: float, y2: float) -> str:
    line = axes.line(x1, y1, x2, y2, GRAY)
    return line.replace("/>", f' stroke-dasharray="{DIAGONAL}"/>')
