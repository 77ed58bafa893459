"""The forward-backward algorithm in the log domain, in NumPy: slow, but never out of range."""

import numpy as np

from ..layout import TimeMajor
from .arrays import Gradient, Scores
from .workspace import chunks


class LogDomainRecursion:
    """log Z of each chain, and on demand its gradient and the derivative of the gradient.

    scores (Scores): The potentials of N tokens, in float64.
    layout (TimeMajor): The layout of the N tokens in C chains.
    """

    log_partition: np.ndarray  # (C,), -inf if no sequence is possible

    def __init__(self, scores: Scores, layout: TimeMajor) -> None:
        self.layout = layout
        self._emissions = scores.emissions[layout.order]
        self._has_pairwise = scores.pairwise is not None
        # (1, L, L), or (N, L, L): one matrix per row
        self._steps = scores.transitions[None]
        if scores.pairwise is not None:
            self._steps = self._steps + scores.pairwise[layout.order]
        self._end = scores.end
        self._alphas = np.empty_like(self._emissions)
        n_first = layout.chains.size
        self._alphas[:n_first] = self._emissions[:n_first] + scores.start
        for begin, stop, before, before_stop in layout.blocks:
            step = self._step(begin, stop)
            reached = log_matmul(self._alphas[before:before_stop], step.swapaxes(1, 2))
            self._alphas[begin:stop] = reached + self._emissions[begin:stop]
        self.log_partition = np.zeros(layout.n_chains)
        self.log_partition[layout.chains] = logsumexp(self._alphas[layout.last_rows] + scores.end)

    def _step(self, begin: int, stop: int) -> np.ndarray:
        return self._steps[begin:stop] if self._has_pairwise else self._steps

    def _weights(self, weights: np.ndarray) -> np.ndarray:
        """The weight of each row's chain: zero if no sequence is possible."""
        possible = self.log_partition != -np.inf
        return np.where(possible, weights, 0.0)[self.layout.chain_of_row][:, None]

    def _backward(self) -> np.ndarray:
        betas = np.empty_like(self._alphas)
        betas[self.layout.last_rows] = self._end
        for begin, stop, before, before_stop in reversed(self.layout.blocks):
            onward = betas[begin:stop] + self._emissions[begin:stop]
            betas[before:before_stop] = log_matmul(onward, self._step(begin, stop))
        return betas

    def gradient(self, weights: np.ndarray, *, pairs: bool = True) -> Gradient:
        """The gradient of the weighted sum of log Z, by the backward recursion.

        weights (np.ndarray): *Shape:* (C,). The upstream gradient.
        pairs (bool): Whether to include the transitions and the pairwise scores.
        RETURNS (Gradient): Zeros for a chain without a possible sequence.
        """
        row_weights = self._weights(weights)
        betas = self._backward()
        marginals = shares(self._alphas + betas) * row_weights
        onward = betas + self._emissions
        both = self._pairs(onward, np.zeros_like(betas), row_weights) if pairs else (None, None)
        return self._assemble(marginals, *both)

    def derivative(self, direction: np.ndarray, *, pairs: bool = True) -> Gradient:
        """The directional derivative of the gradient of Σ log Z.

        Forward scores are logarithms, so the tangent of each is the mean of the tangents before it,
        weighted by their shares in the score: no number leaves its range.

        direction (np.ndarray): *Shape:* (N, L). The direction in which the emissions move.
        pairs (bool): Whether to include the transitions and the pairwise scores.
        RETURNS (Gradient): The derivative, zeros for a chain without a possible sequence.
        """
        layout = self.layout
        betas = self._backward()
        marginals = shares(self._alphas + betas) * self._weights(np.ones(layout.n_chains))
        # Centered, so that log Z, the denominator of the marginals, stays constant
        move = _centered(direction[layout.order], marginals)
        before, after = move.copy(), np.zeros_like(move)
        for begin, stop, source, source_stop in layout.blocks:
            step = self._step(begin, stop).swapaxes(1, 2)
            behind = slice(source, source_stop)
            before[begin:stop] += weighted_mean(self._alphas[behind], step, before[behind])
        for begin, stop, source, source_stop in reversed(layout.blocks):
            onward = betas[begin:stop] + self._emissions[begin:stop]
            moved = after[begin:stop] + move[begin:stop]
            after[source:source_stop] = weighted_mean(onward, self._step(begin, stop), moved)
        onward = betas + self._emissions
        both = self._pairs(onward, before, after + move) if pairs else (None, None)
        return self._assemble(marginals * _centered(before + after, marginals), *both)

    def _pairs(
        self, onward: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The probability of labels i, j at t - 1, t, times left[t-1, i] + right[t, j]: the sum
        over tokens and, if there are pairwise scores, the values of each token.
        """
        layout, n_labels = self.layout, self._alphas.shape[1]
        total = np.zeros((n_labels, n_labels))
        by_token = np.zeros((layout.n_tokens, *total.shape)) if self._has_pairwise else None
        for begin, stop, before, _ in layout.runs:
            for part in chunks(stop - begin, total.size):
                ahead = slice(begin + part.start, begin + part.stop)
                behind = slice(before + part.start, before + part.stop)
                step = self._step(ahead.start, ahead.stop)
                scores = self._alphas[behind, :, None] + step + onward[ahead, None, :]
                pairs = shares(scores.reshape(len(scores), -1)).reshape(scores.shape)
                pairs *= left[behind, :, None] + right[ahead, None, :]
                total += pairs.sum(axis=0)
                if by_token is not None:
                    by_token[layout.order[ahead]] = pairs
        return total, by_token

    def _assemble(
        self, rows: np.ndarray, transitions: np.ndarray | None, pairwise: np.ndarray | None
    ) -> Gradient:
        emissions = np.empty_like(rows)
        emissions[self.layout.order] = rows
        start = rows[: self.layout.chains.size].sum(axis=0)
        end = rows[self.layout.last_rows].sum(axis=0)
        return Gradient(emissions, transitions, start, end, pairwise)


def log_matmul(a: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Matrix-vector products in the log semiring, log(exp(steps) @ exp(a)).

    a (np.ndarray): *Shape:* (n, k)
    steps (np.ndarray): *Shape:* (n, m, k), or (1, m, k): the same matrix for all rows.
    RETURNS (np.ndarray): *Shape:* (n, m)
    """
    out = np.empty((a.shape[0], steps.shape[1]))
    for part in chunks(len(a), steps[0].size):
        out[part] = logsumexp(a[part, None, :] + _part_of(steps, part))
    return out


def weighted_mean(a: np.ndarray, steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of values, weighted by the corresponding terms in the sums of `log_matmul`.

    a (np.ndarray): *Shape:* (n, k)
    steps (np.ndarray): *Shape:* (n, m, k) or (1, m, k)
    values (np.ndarray): *Shape:* (n, k)
    RETURNS (np.ndarray): *Shape:* (n, m). 0 if all terms are exp(-inf).
    """
    out = np.empty((a.shape[0], steps.shape[1]))
    for part in chunks(len(a), steps[0].size):
        terms = a[part, None, :] + _part_of(steps, part)
        peak = terms.max(axis=2, keepdims=True)
        peak[peak == -np.inf] = 0.0
        weights = np.exp(terms - peak)
        total = weights.sum(axis=2)
        total[total == 0.0] = 1.0
        out[part] = np.einsum("nmk,nk->nm", weights, values[part]) / total
    return out


def _centered(values: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    return values - (probabilities * values).sum(axis=1, keepdims=True)


def _part_of(steps: np.ndarray, part: slice) -> np.ndarray:
    return steps if len(steps) == 1 else steps[part]


def shares(scores: np.ndarray) -> np.ndarray:
    """Normalize exp(scores), a softmax that allows rows of -inf.

    The sum is computed from the scores themselves: with scores of 1e17, it may differ from a sum
    computed elsewhere by a factor of e^16.

    scores (np.ndarray): *Shape:* (n, K). Log-scores, -inf allowed.
    RETURNS (np.ndarray): *Shape:* (n, K). Zeros in rows in which all scores are -inf.
    """
    peak = scores.max(axis=1, keepdims=True)
    peak[peak == -np.inf] = 0.0
    weights = np.exp(scores - peak)
    total = weights.sum(axis=1, keepdims=True)
    total[total == 0.0] = 1.0
    weights /= total
    return weights


def logsumexp(scores: np.ndarray) -> np.ndarray:
    """log Σ exp over the last axis; -inf if all scores are -inf.

    scores (np.ndarray): *Shape:* (…, L)
    RETURNS (np.ndarray): *Shape:* (…)
    """
    peak = scores.max(axis=-1, keepdims=True)
    peak[peak == -np.inf] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(np.exp(scores - peak).sum(axis=-1)) + peak[..., 0]
