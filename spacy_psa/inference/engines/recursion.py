"""The forward-backward algorithm in the exp domain, in NumPy, for many chains at once.

    α_1(j)                  = start(j) · e_1(j) / c_1
    α_t(j)                  = Σ_i α_{t−1}(i) · A_t(i, j) · e_t(j) / c_t
    β_n(i)                  = end(i) / c_end
    β_{t−1}(i)              = Σ_j A_t(i, j) · e_t(j) / c_t · β_t(j)
    log Z                   = Σ_t log c_t + log c_end + Σ peaks
    p(y_t = j)              = α_t(j) · β_t(j)
    p(y_{t−1} = i, y_t = j) = α_{t−1}(i) · A_t(i, j) · e_t(j) / c_t · β_t(j)

The normalizers are c_t, which makes Σ_j α_t(j) = 1, and c_end = Σ_j α_n(j) · end(j). The emissions
e_t, the transitions A_t, start and end are exp(scores - peak), where the peak is the maximum of the
scores (Rabiner 1989, "A tutorial on hidden Markov models", section V.A).

Each step is one matrix multiplication for the whole batch, while the log domain needs L²
exponentials per token. The price is range: `rescue` says which chains it harms, and what is done.
"""

import numpy as np

from ..layout import TimeMajor, sum_by
from .arrays import Gradient, Scores
from .rescue import SAFE_RANGE, ByDefinition, Underflow
from .steps import Factor, RowFactor, make_steps


class ScaledRecursion:
    """log Z of each chain, and on demand its gradient.

    Rows are tokens in the order of the layout.

    scores (Scores): The potentials of N tokens.
    layout (TimeMajor): The layout of the N tokens in C chains.
    """

    log_partition: np.ndarray  # (C,), -inf if no sequence is possible
    alphas: np.ndarray  # (N, L), by row; zeros for chains that are rescued
    rescued: ByDefinition | None  # The chains that need it

    def __init__(self, scores: Scores, layout: TimeMajor) -> None:
        self.layout = layout
        rows = scores.emissions[layout.order].astype(np.float64, copy=False)
        emissions = RowFactor(rows, layout)
        self.steps = make_steps(scores.transitions, scores.pairwise, layout)
        start, end = Factor(scores.start), Factor(scores.end)
        # Emissions of any range alone do no harm: the remaining labels are reachable
        is_safe = emissions.finite and all(
            factor.range <= SAFE_RANGE for factor in (self.steps, start, end)
        )
        underflow = None if is_safe else Underflow(layout, (emissions, self.steps, start, end))
        self._has_zeros = not is_safe  # labels that nothing leads to, and dead ends
        self._emissions, self._end = emissions.values, end.values
        self.alphas, self._norms = self._forward(start.values)
        self._end_norms = self.alphas[layout.last_rows] @ self._end

        with np.errstate(divide="ignore"):
            log_norms = sum_by(layout.chain_of_row, np.log(self._norms), layout.n_chains)
            log_norms[layout.chains] += np.log(self._end_norms)
        peaks = emissions.peaks() + self.steps.peaks()
        peaks[layout.chains] += start.peak + end.peak
        self.log_partition = peaks + log_norms

        self.rescued = None
        if underflow is not None and (doubtful := underflow.doubtful(self.alphas, log_norms)).size:
            self.rescued = ByDefinition(scores, layout, doubtful)
            self.log_partition[doubtful] = self.rescued.log_partition
            self.alphas[layout.row_of_token[self.rescued.tokens]] = 0.0

    def _forward(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The alphas (N, L) and the normalizers (N,) of all rows."""
        layout, emissions, forward = self.layout, self._emissions, self.steps.forward
        alphas = np.empty_like(emissions)
        norms = np.empty(layout.n_tokens)
        ones = np.ones(emissions.shape[1])
        n_first = layout.chains.size
        np.multiply(emissions[:n_first], start, out=alphas[:n_first])
        blocks = [(0, n_first, 0, 0), *layout.blocks]
        for begin, stop, before, before_stop in blocks:
            alpha, norm = alphas[begin:stop], norms[begin:stop]
            if begin:
                forward(alphas[before:before_stop], begin, stop, alpha)
                np.multiply(alpha, emissions[begin:stop], out=alpha)
            np.dot(alpha, ones, norm)
            if self._has_zeros:
                norm[norm == 0.0] = 1.0  # a dead end: zeros from here to the end
            np.divide(alpha, norm[:, None], out=alpha)
        return alphas, norms

    def gradient(self, weights: np.ndarray, *, pairs: bool = True) -> Gradient:
        """The gradient of the sum of log Z, weighted by chain (C,): marginals and probabilities of
        pairs. Without pairs, it lacks the transitions and the pairwise scores."""
        betas, onward = self.backward(weights, self.ratios())
        by_pair = self.steps.pairs([(self.alphas, onward)]) if pairs else (None, None)
        marginals = np.multiply(betas, self.alphas, out=betas)
        gradient = Gradient.of_rows(self.layout, marginals, *by_pair)
        if self.rescued is None:
            return gradient
        return gradient.add(self.rescued.gradient(weights, pairs=pairs), self.rescued.tokens)

    def ratios(self) -> np.ndarray:
        """e_t(j) / c_t of all rows (N, L)."""
        ratios = self._emissions / self._norms[:, None]
        if self._has_zeros:
            # The backward score of an unreachable label is unbounded and meaningless
            ratios[self.alphas == 0.0] = 0.0
        return ratios

    def backward(self, weights: np.ndarray, ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The betas of all rows (N, L), times the weight of the chain (C,), and ratios · betas, in
        the memory of the ratios and without first tokens. Rescued chains, and those without a
        possible sequence, have zeros."""
        layout, backward = self.layout, self.steps.backward
        weights = np.where(self.log_partition == -np.inf, 0.0, weights)
        if self.rescued is not None:
            weights[self.rescued.chains] = 0.0
        weights = weights[layout.chains]
        # If no sequence is possible, weight and sum are both zero
        scale = np.divide(
            weights, self._end_norms, out=np.zeros_like(weights), where=weights != 0.0
        )
        betas, onward = np.empty_like(ratios), ratios
        betas[layout.last_rows] = scale[:, None] * self._end
        for begin, stop, before, before_stop in reversed(layout.blocks):
            block = onward[begin:stop]
            np.multiply(block, betas[begin:stop], out=block)
            backward(block, begin, stop, betas[before:before_stop])
        return betas, onward
