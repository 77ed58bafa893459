"""Temperature scaling: calibrate probabilities on held-out data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import copysign, exp, log
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import Errors
from ..inference.chain_scores import UNKNOWN, check_labels, sum_by_chain, working_dtype
from ..inference.constraints import Constraints
from ..inference.linear_chain import LinearChain
from ..inference.losses import log_prob_of_sets
from ..inference.potentials import Potentials

LOWEST, HIGHEST = 0.05, 20.0
TOLERANCE = 1e-5  # of log T
FIRST_STEP = 0.25  # of log T


class LabeledBatch(NamedTuple):
    """Chains with their gold labels.

    potentials (Potentials): The scores at temperature 1.
    labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1, or -1 for an unknown label.
    bias (Optional[Tensor]): *Shape:* (N, L). Prior knowledge that is added to the emissions at any
        temperature. -inf forbids.
    sets (Optional[Mapping[int, Sequence[int]]]): The sets of labels of which one is correct, by
        token. In `labels`, these tokens are -1.
    within_sets (Optional[Constraints]): Which labels may follow each other in adjacent sets, where
        this does not hold for all labels: see `log_prob_of_sets`.
    """

    potentials: Potentials
    labels: Tensor
    bias: Tensor | None = None
    sets: Mapping[int, Sequence[int]] | None = None
    within_sets: Constraints | None = None

    def at(self, temperature: float | Tensor) -> Potentials:
        """The scores at a temperature.

        temperature (Union[float, Tensor]): Positive.
        RETURNS (Potentials): The scores. Differentiable.
        RAISES (ValueError): If the temperature is not a positive number.
        """
        tempered = self.potentials.tempered(temperature)
        if self.bias is None:
            return tempered
        return replace(tempered, emissions=tempered.emissions + self.bias.to(tempered.emissions))


@dataclass(frozen=True)
class TemperatureFit:
    """The result of fitting a temperature.

    temperature (float): The temperature.
    nll_before (float): The mean negative log-likelihood per chain at the initial temperature, in
        nats.
    nll_after (float): The same at the fitted temperature. It is not greater, unless the initial
        temperature is outside the interval.
    n_chains (int): The number of chains the temperature was fitted to.
    n_unknown (int): The number of chains left out because none of their labels is known.
    n_impossible (int): The number of chains left out because their labels are impossible.
    """

    temperature: float
    nll_before: float
    nll_after: float
    n_chains: int
    n_unknown: int
    n_impossible: int

    @property
    def at_bound(self) -> bool:
        """Whether the best temperature may be outside the interval."""
        return self.temperature in (LOWEST, HIGHEST)


class _Point(NamedTuple):
    """Log-temperature, mean negative log-likelihood, and its derivative with respect to log T."""

    log_t: float
    nll: float
    slope: float


def fit_temperature(
    batches: Iterable[LabeledBatch | tuple[Potentials, Tensor]],
    *,
    constraints: Constraints | None = None,
    initial: float = 1.0,
    on_step: Callable[[float, float], None] | None = None,
) -> TemperatureFit:
    """Find the temperature from 0.05 to 20 that maximizes the likelihood of the gold labels.

    If all labels are known, the negative log-likelihood is a convex function of 1/T, and the
    minimum found is the global one. Labels that are unknown, or known only as sets, are summed
    over; the search then finds the minimum downhill from the initial temperature. At a minimum, the
    model's expected score equals the mean score of the gold sequences.

    The search goes downhill in growing steps of log T until the exact derivative changes its sign;
    then it converges by the secant method, and by bisection if that is slow.

    batches (Iterable[LabeledBatch]): Chains of held-out data with their gold labels, or pairs of
        potentials and labels. All of them must fit in memory.
    constraints (Optional[Constraints]): Label sequences to rule out. Chains whose gold labels are
        impossible, due to constraints or to -inf in the scores, are left out.
    initial (float): The current temperature.
    on_step (Optional[Callable[[float, float], None]]): Called with each temperature tried and the
        mean negative log-likelihood at it.
    RETURNS (TemperatureFit): The temperature; 0.05 or 20 if the likelihood still rises there.
    RAISES (ValueError): If no chain has known and possible labels, the labels do not match the
        potentials, or the initial temperature is not positive.

    Source: Guo et al. (2017), "On calibration of modern neural networks", section 4.2, for single
        labels.
    """
    if not 0.0 < initial < torch.inf:
        raise ValueError(Errors.P019.format(temperature=initial))
    likelihood = _Likelihood([_prepared(LabeledBatch(*batch)) for batch in batches], constraints)
    before, tried = likelihood.mean(log(initial)), []

    def evaluate(log_t: float) -> _Point:
        point = before if log_t == before.log_t else likelihood.mean(log_t)
        tried.append(point)
        if on_step is not None:
            on_step(exp(point.log_t), point.nll)
        return point

    low, high = _bracket(evaluate, min(max(before.log_t, log(LOWEST)), log(HIGHEST)))
    _close_in(evaluate, low, high)
    best = min(tried, key=lambda point: point.nll)
    # exp(log(x)) need not be x
    ends = {log(end): end for end in (LOWEST, HIGHEST)}
    return TemperatureFit(
        temperature=ends.get(best.log_t, exp(best.log_t)),
        nll_before=before.nll,
        nll_after=best.nll,
        n_chains=likelihood.n_chains,
        n_unknown=likelihood.n_unknown,
        n_impossible=likelihood.n_impossible,
    )


def mean_nll(
    batches: Iterable[LabeledBatch | tuple[Potentials, Tensor]],
    temperature: float,
    *,
    constraints: Constraints | None = None,
) -> float:
    """The mean negative log-likelihood of the gold labels of a chain at a temperature, in nats."""
    if not 0.0 < temperature < torch.inf:
        raise ValueError(Errors.P019.format(temperature=temperature))
    likelihood = _Likelihood([_prepared(LabeledBatch(*batch)) for batch in batches], constraints)
    return likelihood.mean(log(temperature)).nll


class _Likelihood:
    """The mean negative log-likelihood of batches as a function of log T."""

    def __init__(self, batches: Sequence[LabeledBatch], constraints: Constraints | None) -> None:
        self._batches, self._constraints = batches, constraints
        self._used: list[Tensor] = []
        n_total = self.n_unknown = self.n_impossible = 0
        for batch in batches:
            known = batch.labels != UNKNOWN
            known[list(batch.sets or ())] = True
            known = sum_by_chain(known.double(), batch.potentials) > 0
            # Whether labels are possible does not depend on the temperature
            possible = torch.isfinite(self._log_prob(batch, HIGHEST))
            self._used.append(known & possible)
            n_total += len(known)
            self.n_unknown += int((~known).sum())
            self.n_impossible += int((known & ~possible).sum())
        self.n_chains = n_total - self.n_unknown - self.n_impossible
        if not self.n_chains:
            raise ValueError(
                Errors.P344.format(n=n_total, unknown=self.n_unknown, impossible=self.n_impossible)
            )

    def mean(self, log_t: float) -> _Point:
        """Evaluate the function and its derivative."""
        nll = slope = 0.0
        for batch, used in zip(self._batches, self._used, strict=True):
            if not bool(used.any()):
                continue
            with torch.enable_grad():
                emissions = batch.potentials.emissions
                leaf = emissions.new_full((), log_t).requires_grad_()
                total = -self._log_prob(batch, leaf.exp())[used].sum()
                (gradient,) = torch.autograd.grad(total, leaf)
            nll += float(total.detach())
            slope += float(gradient)
        return _Point(log_t, nll / self.n_chains, slope / self.n_chains)

    def _log_prob(self, batch: LabeledBatch, temperature: float | Tensor) -> Tensor:
        chain = LinearChain(batch.at(temperature), constraints=self._constraints)
        if batch.sets:
            return log_prob_of_sets(chain, batch.labels, batch.sets, batch.within_sets)
        return chain.log_prob(batch.labels)


def _prepared(batch: LabeledBatch) -> LabeledBatch:
    """Check labels, and convert scores to the working dtype to keep the function smooth."""
    potentials = batch.potentials.detach()
    dtype = working_dtype(potentials)
    labels = check_labels(potentials, batch.labels)
    return batch._replace(potentials=potentials.map(lambda tensor: tensor.to(dtype)), labels=labels)


def _bracket(evaluate: Callable[[float], _Point], log_t: float) -> tuple[_Point, _Point]:
    """Go downhill until the derivative changes its sign."""
    point, step = evaluate(log_t), FIRST_STEP
    while point.slope != 0.0:
        aim = point.log_t - copysign(step, point.slope)
        aim = min(max(aim, log(LOWEST)), log(HIGHEST))
        if aim == point.log_t:
            break
        following = evaluate(aim)
        if following.slope * point.slope <= 0.0:
            low, high = sorted((point, following))
            return low, high
        point, step = following, 2.0 * step
    return point, point


def _close_in(evaluate: Callable[[float], _Point], low: _Point, high: _Point) -> None:
    """Find the zero of the derivative between points where it is negative and positive."""
    previous, current = sorted((low, high), key=lambda point: -abs(point.slope))
    slow = False
    while high.log_t - low.log_t > TOLERANCE and current.slope != 0.0:
        aim = (low.log_t + high.log_t) / 2.0
        if not slow and current.slope != previous.slope:
            inverse = (current.log_t - previous.log_t) / (current.slope - previous.slope)
            secant = current.log_t - current.slope * inverse
            if low.log_t < secant < high.log_t:
                aim = secant
        point = evaluate(aim)
        if abs(aim - current.log_t) < TOLERANCE:
            return
        slow = abs(point.slope) > abs(current.slope) / 2.0
        previous, current = current, point
        if point.slope < 0.0:
            low = point
        else:
            high = point
