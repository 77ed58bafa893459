"""The exp-domain backend, the fastest on the CPU: NumPy with an analytic gradient."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..layout import TimeMajor, sum_by, time_major
from ..potentials import Potentials
from .arrays import Gradient, Scores, to_tensor
from .autodiff import to_inputs, wants_pairs
from .backends import ExpectedCounts
from .curvature import Posterior
from .recursion import ScaledRecursion


class ScaledBackend:
    """The scaled forward-backward algorithm, see `recursion`. Log-scores and marginals can be
    differentiated once; see `curvature` for the marginals.
    """

    def log_partition(self, potentials: Potentials) -> Tensor:
        layout = time_major(potentials.lengths)
        return ScaledLogScore.apply(*potentials.fields(), None, layout)

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        layout = time_major(potentials.lengths)
        return ScaledLogScore.apply(*potentials.fields(), labels, layout)

    def marginals(self, potentials: Potentials) -> Tensor:
        if torch.is_grad_enabled() and potentials.requires_grad:
            return ScaledMarginals.apply(*potentials.fields(), time_major(potentials.lengths))
        gradient = _expectations(potentials, pairs=False)
        return to_tensor(gradient.emissions, potentials.emissions)

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        gradient = _expectations(potentials, pairs=True)
        assert gradient.transitions is not None
        counts = (gradient.transitions, gradient.start, gradient.end)
        return ExpectedCounts(*(to_tensor(count, potentials.emissions) for count in counts))


class ScaledLogScore(torch.autograd.Function):
    """log Z of each chain or, with labels, the log-probability of the labels.

    One function computes both numerator and denominator, since in small batches the overhead of
    autograd outweighs the arithmetic.
    """

    @staticmethod
    def forward(
        ctx: Any,
        emissions: Tensor,
        transitions: Tensor | None,
        start: Tensor | None,
        end: Tensor | None,
        pairwise: Tensor | None,
        labels: Tensor | None,
        layout: TimeMajor,
    ) -> Tensor:
        inputs = (emissions, transitions, start, end, pairwise)
        scores = Scores.of(*inputs)
        recursion = ScaledRecursion(scores, layout)
        values = recursion.log_partition
        possible = values != -np.inf
        gold = None
        if labels is not None:
            gold = _Gold(labels.cpu().numpy(), layout)
            score = gold.score(scores)
            possible &= score != -np.inf
            values = np.subtract(score, values, out=np.full_like(score, -np.inf), where=possible)
            # Rounding must not raise a probability above 1
            np.minimum(values, 0.0, out=values)
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(*inputs)
            ctx.recursion, ctx.gold, ctx.possible = recursion, gold, possible
        return torch.from_numpy(values).to(emissions.device)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights = grad.detach().cpu().numpy().astype(np.float64, copy=False)
        weights = np.where(ctx.possible, weights, 0.0)
        sign = 1.0 if ctx.gold is None else -1.0
        gradient = ctx.recursion.gradient(sign * weights, pairs=wants_pairs(ctx))
        if ctx.gold is not None:
            ctx.gold.add_counts(gradient, weights)
        return (*to_inputs(ctx, gradient[:5], grad, to_tensor), None, None)


class ScaledMarginals(torch.autograd.Function):
    """The marginals, differentiated by `curvature.Posterior`."""

    @staticmethod
    def forward(
        ctx: Any,
        emissions: Tensor,
        transitions: Tensor | None,
        start: Tensor | None,
        end: Tensor | None,
        pairwise: Tensor | None,
        layout: TimeMajor,
    ) -> Tensor:
        inputs = (emissions, transitions, start, end, pairwise)
        ctx.posterior = Posterior(ScaledRecursion(Scores.of(*inputs), layout))
        ctx.save_for_backward(*inputs)
        return to_tensor(ctx.posterior.marginals, emissions)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        direction = grad.detach().cpu().double().numpy()
        gradient = ctx.posterior.derivative(direction, pairs=wants_pairs(ctx))
        return (*to_inputs(ctx, gradient[:5], grad, to_tensor), None)


class _Gold:
    """Complete label sequences (N,): their scores and the gradients of the scores."""

    def __init__(self, labels: np.ndarray, layout: TimeMajor) -> None:
        self.layout, self.labels = layout, labels
        self.first, self.last = labels[layout.first_tokens], labels[layout.last_tokens]
        self.before, self.after = labels[layout.inner_tokens - 1], labels[layout.inner_tokens]
        self.chain_of_step = layout.chain_of_token[layout.inner_tokens]

    def score(self, scores: Scores) -> np.ndarray:
        layout = self.layout
        values = scores.emissions[np.arange(layout.n_tokens), self.labels]
        total = sum_by(layout.chain_of_token, values, layout.n_chains)
        steps = scores.transitions[self.before, self.after]
        if scores.pairwise is not None:
            own = scores.pairwise[layout.inner_tokens, self.before, self.after]
            steps = steps.astype(np.float64) + own
        total += sum_by(self.chain_of_step, steps, layout.n_chains)
        first, last = scores.start[self.first], scores.end[self.last]
        total[layout.chains] += first.astype(np.float64) + last
        return total

    def add_counts(self, gradient: Gradient, weights: np.ndarray) -> None:
        layout, n_labels = self.layout, gradient.start.size
        gradient.emissions[np.arange(layout.n_tokens), self.labels] += weights[
            layout.chain_of_token
        ]
        if gradient.transitions is not None:
            pairs = sum_by(
                self.before * n_labels + self.after, weights[self.chain_of_step], n_labels**2
            )
            gradient.transitions[...] += pairs.reshape(n_labels, n_labels)
        if gradient.pairwise is not None:
            at = (layout.inner_tokens, self.before, self.after)
            gradient.pairwise[at] += weights[self.chain_of_step]
        chain_weights = weights[layout.chains]
        gradient.start[...] += sum_by(self.first, chain_weights, n_labels)
        gradient.end[...] += sum_by(self.last, chain_weights, n_labels)


def _expectations(potentials: Potentials, *, pairs: bool) -> Gradient:
    layout = time_major(potentials.lengths)
    recursion = ScaledRecursion(Scores.of(*potentials.fields()), layout)
    return recursion.gradient(np.ones(layout.n_chains), pairs=pairs)
