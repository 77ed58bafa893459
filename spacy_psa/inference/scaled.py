"""The exp-domain backend: NumPy on the CPU, with an analytic gradient. The fast one."""

from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from ..errors import Errors
from .backends import ExpectedCounts
from .layout import TimeMajor, sum_by, time_major
from .potentials import Potentials
from .recursion import Gradient, ScaledRecursion


class ScaledBackend:
    """The scaled forward-backward algorithm, see `recursion`. Differentiable once."""

    differentiable_marginals = False

    def log_partition(self, potentials: Potentials) -> Tensor:
        return _apply(potentials, None)

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        return _apply(potentials, labels)

    def marginals(self, potentials: Potentials) -> Tensor:
        gradient = _expectations(potentials, pairwise=False)
        return _tensor(gradient.emissions, potentials.emissions)

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        gradient = _expectations(potentials, pairwise=True)
        counts = (gradient.transitions, gradient.start, gradient.end)
        return ExpectedCounts(*(_tensor(count, potentials.emissions) for count in counts))


class ScaledLogScore(torch.autograd.Function):
    """log Z of each chain or, with labels, the log-probability of the labels.

    One function for numerator and denominator, since for small batches the overhead of autograd
    outweighs the arithmetic.
    """

    @staticmethod
    def forward(
        ctx: Any,
        emissions: Tensor,
        transitions: Tensor | None,
        start: Tensor | None,
        end: Tensor | None,
        labels: Tensor | None,
        layout: TimeMajor,
    ) -> Tensor:
        scores = _to_numpy(emissions, transitions, start, end)
        recursion = ScaledRecursion(*scores, layout)
        values = recursion.log_partition
        possible = values != -np.inf
        gold = None
        if labels is not None:
            gold = _Gold(labels.cpu().numpy(), layout)
            score = gold.score(*scores)
            possible &= score != -np.inf
            values = np.subtract(score, values, out=np.full_like(score, -np.inf), where=possible)
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(emissions, transitions, start, end)
            ctx.recursion, ctx.gold, ctx.possible = recursion, gold, possible
        return torch.from_numpy(values).to(emissions.device)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights = grad.detach().cpu().numpy().astype(np.float64, copy=False)
        weights = np.where(ctx.possible, weights, 0.0)
        sign = 1.0 if ctx.gold is None else -1.0
        gradient = ctx.recursion.gradient(sign * weights, pairwise=ctx.needs_input_grad[1])
        if ctx.gold is not None:
            ctx.gold.add_counts(gradient, weights)
        inputs = ctx.saved_tensors
        arrays = (gradient.emissions, gradient.transitions, gradient.start, gradient.end)
        tensors = [
            _tensor(array, like) if needed else None
            for array, like, needed in zip(arrays, inputs, ctx.needs_input_grad[:4], strict=True)
        ]
        if torch.is_grad_enabled():  # the gradient is to be differentiated
            tensors = [
                None if tensor is None else OnceDifferentiable.apply(tensor, grad, *inputs)
                for tensor in tensors
            ]
        return (*tensors, None, None)


class OnceDifferentiable(torch.autograd.Function):
    """Refuse a second derivative, which would silently lack our part otherwise. PyTorch's own
    `once_differentiable` does so only where the upstream gradient is not a constant.
    """

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *depends_on: Tensor | None) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> NoReturn:
        raise ValueError(Errors.P007)


class _Gold:
    """Complete label sequences: their scores, and the gradient of the scores.

    labels (np.ndarray): *Shape:* (N,)
    layout (TimeMajor): How the tokens make up chains.
    """

    def __init__(self, labels: np.ndarray, layout: TimeMajor) -> None:
        self.layout = layout
        self.labels = labels
        self.first, self.last = labels[layout.first_tokens], labels[layout.last_tokens]
        self.before, self.after = labels[layout.inner_tokens - 1], labels[layout.inner_tokens]
        self.chain_of_step = layout.chain_of_token[layout.inner_tokens]

    def score(
        self, emissions: np.ndarray, transitions: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> np.ndarray:
        layout = self.layout
        values = emissions[np.arange(layout.n_tokens), self.labels]
        total = sum_by(layout.chain_of_token, values, layout.n_chains)
        steps = transitions[self.before, self.after]
        total += sum_by(self.chain_of_step, steps, layout.n_chains)
        total[layout.chains] += start[self.first].astype(np.float64) + end[self.last]
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
        chain_weights = weights[layout.chains]
        gradient.start[...] += sum_by(self.first, chain_weights, n_labels)
        gradient.end[...] += sum_by(self.last, chain_weights, n_labels)


def _apply(potentials: Potentials, labels: Tensor | None) -> Tensor:
    return ScaledLogScore.apply(
        potentials.emissions,
        potentials.transitions,
        potentials.start,
        potentials.end,
        labels,
        time_major(potentials.lengths),
    )


def _expectations(potentials: Potentials, *, pairwise: bool) -> Gradient:
    scores = _to_numpy(
        potentials.emissions, potentials.transitions, potentials.start, potentials.end
    )
    layout = time_major(potentials.lengths)
    recursion = ScaledRecursion(*scores, layout)
    return recursion.gradient(np.ones(layout.n_chains), pairwise=pairwise)


def _to_numpy(
    emissions: Tensor,
    transitions: Tensor | None,
    start: Tensor | None,
    end: Tensor | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    n_labels = emissions.shape[1]
    pairs = np.zeros((n_labels, n_labels)) if transitions is None else _array(transitions)
    first = np.zeros(n_labels) if start is None else _array(start)
    last = np.zeros(n_labels) if end is None else _array(end)
    return _array(emissions), pairs, first, last


def _tensor(array: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(array).to(like, copy=True)


def _array(tensor: Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu()
    # NumPy has no bfloat16, and float16 is slow
    return (tensor.float() if tensor.element_size() < 4 else tensor).numpy()
