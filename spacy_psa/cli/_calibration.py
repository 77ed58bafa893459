"""What `psa calibrate` prints and draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..terminal import msg, show

if TYPE_CHECKING:
    from ..pipeline.calibration import Confidences
    from ..pipeline.calibration_fit import TemperatureFit

# Even steps, and a last one near 1, where most predictions lie
THRESHOLDS = [*(i / 20 for i in range(20)), 0.99]


@dataclass(frozen=True)
class Calibration:
    """The quality of a component's probabilities before and after calibration.

    component (str): The component's name.
    initial (float): Its temperature before.
    fit (TemperatureFit): The fitted temperature.
    n_new (int): Sentences left out because they have labels unknown to the component.
    before (Dict[str, Confidences]): Confidence and correctness of its predictions, for "tokens"
        and, if it predicts spans, for "spans".
    after (Dict[str, Confidences]): The same at the fitted temperature.
    """

    component: str
    initial: float
    fit: TemperatureFit
    n_new: int
    before: dict[str, Confidences]
    after: dict[str, Confidences]

    @property
    def unit(self) -> str:
        """RETURNS (str): What the component predicts: "tokens" or "spans"."""
        return list(self.after)[-1]


def print_calibration(found: Calibration, *, n_bins: int = 10) -> None:
    """Print the quality of the probabilities before and after.

    found (Calibration): The result.
    n_bins (int): Number of bins for the calibration error.
    """
    from ..evaluation.calibration import brier_score, expected_calibration_error
    from ..figures.tables import DASH, Table, percent

    fit, worse = found.fit, False
    rows = [
        ["temperature", f"{found.initial:.4f}", f"{fit.temperature:.4f}"],
        ["NLL per sentence (nats)", f"{fit.nll_before:.4f}", f"{fit.nll_after:.4f}"],
    ]
    for unit in found.after:
        sides = [side[unit] for side in (found.before, found.after)]
        args = [(side.confidence, side.correct) for side in sides]
        some = all(len(side.correct) for side in sides)
        errors = [expected_calibration_error(*pair, n_bins=n_bins) for pair in args]
        worse |= unit == found.unit and errors[1] > errors[0]
        briers = [f"{brier_score(*pair):.4f}" for pair in args]
        means = [[percent(a.mean()) for a in column] for column in zip(*args, strict=True)]
        confident, right = means if some else [[DASH, DASH]] * 2
        rows += [
            [f"{unit}: correct (%)", *right],
            [f"{unit}: mean confidence (%)", *confident],
            [f"{unit}: ECE (%)", *map(percent, errors)],
            [f"{unit}: Brier score", *(briers if some else [DASH, DASH])],
        ]
    msg.divider(f"Calibration of {found.component}")
    show(Table("", ["", "before", "after"], rows).to_text())
    show(f"Sentences used: {fit.n_chains}{_left_out(found)}.")
    if worse:
        msg.warn(
            f"The calibration error of {found.unit} has increased. Predicted and missed "
            f"{found.unit} call for different temperatures: --fit {found.unit} uses only those "
            "that are predicted."
        )
    if fit.at_bound:
        msg.warn(
            f"The temperature {fit.temperature:g} is the limit of the range, and the best one may "
            "lie beyond. The data may be too easy, too small, or part of the training data."
        )


def _left_out(found: Calibration) -> str:
    reasons = {
        "without annotation": found.fit.n_unknown - found.n_new,
        "with labels unknown to the component": found.n_new,
        "whose annotation violates the tag scheme or rules": found.fit.n_impossible,
    }
    told = [f"{n} {reason}" for reason, n in reasons.items() if n]
    return f"; left out: {', '.join(told)}" if told else ""


def draw_calibration(found: Calibration, *, n_bins: int = 10) -> str:
    """Draw a reliability diagram, and precision and recall by threshold.

    found (Calibration): The result.
    n_bins (int): Number of bins in the diagram.
    RETURNS (str): An SVG image for what the component predicts: spans, or tokens with labels.
    RAISES (ValueError): If it predicts nothing.
    """
    from ..evaluation.calibration import precision_recall_by_threshold, reliability
    from ..evaluation.reliability_plots import reliability_diagram, threshold_plot
    from ..figures.images import stack

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
