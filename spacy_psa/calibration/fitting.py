"""Fit the temperature of a `psa_tagger`, which calibrates its probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np

from ..errors import Errors
from .held_out import Confidences, HeldOut, confidences
from .temperature import HIGHEST, LOWEST, TemperatureFit, fit_temperature, mean_nll

if TYPE_CHECKING:
    from ..pipeline.tagger import PSATagger

SEQUENCES = "sequences"
GRID = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0)
GOLDEN = (5**0.5 - 1) / 2
PRECISION = 2e-3  # of log T
LEAST = 1e-12  # A wrong prediction with probability 1 must not outweigh everything else

OnStep = Callable[[float, float], None]


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
        """What the component predicts: "tokens" or "spans"."""
        return list(self.after)[-1]


def fit(
    component: PSATagger,
    batches: Sequence[HeldOut],
    *,
    unit: str = SEQUENCES,
    on_step: OnStep | None = None,
) -> TemperatureFit:
    """Fit the temperature of a component.

    component (PSATagger): The component. It is not modified.
    batches (Sequence[HeldOut]): Held-out data.
    unit (str): What to calibrate: "sequences" for the gold label sequences, which cover everything
        that could be predicted; or "spans" or "tokens" for what is actually predicted. The two
        differ if a model misses a lot: it is then overconfident about sequences, but not about the
        spans that it finds.
    on_step (Optional[Callable[[float, float], None]]): Called with each temperature that is tried
        and its negative log-likelihood.
    RETURNS (TemperatureFit): The temperature.
    RAISES (ValueError): If nothing is annotated, or no such unit is predicted.
    """
    labeled = [batch.labeled for batch in batches]
    constraints = component.constraints
    whole = fit_temperature(
        labeled,
        constraints=constraints,
        initial=component.cfg["temperature"],
        on_step=on_step if unit == SEQUENCES else None,
    )
    if unit == SEQUENCES:
        return whole

    def log_loss(temperature: float) -> float:
        found = confidences(component, batches, temperature).get(unit)
        if found is None or not len(found.correct):
            raise ValueError(Errors.P376.format(unit=unit, name=component.name))
        right = np.where(found.correct, found.confidence, 1.0 - found.confidence)
        loss = float(-np.log(right.clip(min=LEAST)).mean())
        if on_step is not None:
            on_step(temperature, loss)
        return loss

    # With the ends themselves, which a search between points only comes close to
    best = minimize(log_loss, sorted({LOWEST, *GRID, HIGHEST, whole.temperature}))
    nll = mean_nll(labeled, best, constraints=constraints)
    return replace(whole, temperature=best, nll_after=nll)


def minimize(function: Callable[[float], float], grid: Sequence[float]) -> float:
    """Minimize a function of the temperature: a grid search, followed by a golden-section search
    between the neighbors of the best grid point.
    """
    values = [function(temperature) for temperature in grid]
    i = int(np.argmin(values))
    low, high = log(grid[max(0, i - 1)]), log(grid[min(i + 1, len(grid) - 1)])
    best = (values[i], grid[i])
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(exp(left)), function(exp(right))
    while high - low > PRECISION:
        best = min(best, (at_left, exp(left)), (at_right, exp(right)))
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(exp(right))
    return best[1]
