"""The forward-backward algorithm in the exp domain, in NumPy, for many chains at once.

Rabiner (1989), "A tutorial on hidden Markov models", section V.A: forward scores are normalized at
each step, and the logarithms of the normalizers add up to log Z. Each step is one matrix
multiplication for the whole batch, while the log domain needs L² exponentials per token.

The price is range: anything 700 nats below the best score underflows. This is harmless if any label
can follow any other at a bounded cost, because whatever is that far behind stays behind. It is not
harmless behind forbidden transitions, where the only possible continuation may have been lost. The
results are therefore checked if there are such transitions, and a chain whose result may be
inaccurate is recomputed in the log domain.
"""

import numpy as np

from ..layout import TimeMajor, sum_by, time_major
from .arrays import Gradient, Scores
from .log_domain import LogDomainRecursion
from .steps import DROP_BELOW, Factor, make_steps
from .workspace import Workspace

# Steps (start, end) whose scores are within this range lose nothing: a backward score is at most
# e^300 times another one, a normalizer at least e^-300, and float64 reaches down to e^-708.
SAFE_RANGE = 300.0
TINY = 1e-100  # about e^-DROP_BELOW; a product of three such numbers is still a normal float64
# Dropped sequences may make up e^-40 of the total probability, less than float64's precision
NEGLIGIBLE = 40.0


class ScaledRecursion:
    """log Z of each chain, and on demand its gradient.

    Rows are tokens in the order of the layout. Private attributes hold scaled values, which are
    meaningless for chains that were recomputed; `curvature` uses them, too.

    scores (Scores): The potentials of N tokens.
    layout (TimeMajor): The layout of the N tokens in C chains.
    """

    log_partition: np.ndarray  # (C,), -inf if no sequence is possible

    def __init__(self, scores: Scores, layout: TimeMajor) -> None:
        self.layout = layout
        self._workspace = Workspace()
        rows = self._workspace.empty(*scores.emissions.shape)
        rows[layout.row_of_token] = scores.emissions
        row_max = rows.max(axis=1)
        self._steps = make_steps(scores.transitions, scores.pairwise, layout, self._workspace)
        start, end = Factor(scores.start), Factor(scores.end)
        factors = (self._steps, start, end)
        # -inf in the emissions alone does no harm: the remaining labels are reachable
        self._checked = not np.isfinite(row_max).all() or any(
            not factor.range <= SAFE_RANGE for factor in factors
        )
        row_max[row_max == -np.inf] = 0.0
        rows -= row_max[:, None]
        drop_gap = np.full(layout.n_chains, np.inf)
        if self._checked:
            for factor in factors:
                factor.drop(drop_gap)
            self._drop_emissions(rows, drop_gap)
        self._emissions = np.exp(rows, out=rows)
        self._start, self._end = start.values, end.values
        self._forward()

        with np.errstate(divide="ignore"):
            slack = sum_by(layout.chain_of_row, np.log(self._norms), layout.n_chains)
            slack[layout.chains] += np.log(self._end_norms)
        peak = sum_by(layout.chain_of_row, row_max, layout.n_chains) + self._steps.peaks()
        peak[layout.chains] += start.peak + end.peak
        self.log_partition = peak + slack

        self._fallback: LogDomainRecursion | None = None
        if self._checked:
            doubtful = self._find_doubtful(slack, drop_gap)
            if doubtful.size:
                self._redo(doubtful, scores)

    def _drop_emissions(self, rows: np.ndarray, drop_gap: np.ndarray) -> None:
        """Drop emissions far below their row's peak, and record how far."""
        low = rows < -DROP_BELOW
        if np.count_nonzero(low) == np.count_nonzero(rows == -np.inf):
            return
        at, label = np.nonzero(low & (rows != -np.inf))
        np.minimum.at(drop_gap, self.layout.chain_of_row[at], -rows[at, label])
        rows[at, label] = -np.inf

    def _forward(self) -> None:
        """Compute the scaled forward scores and normalizers of all rows, and the final sums."""
        layout, emissions, forward = self.layout, self._emissions, self._steps.forward
        alphas = self._workspace.empty(*emissions.shape)
        norms = np.empty(layout.n_tokens)
        ones = np.ones(emissions.shape[1])
        n_first = layout.chains.size
        np.multiply(emissions[:n_first], self._start, out=alphas[:n_first])
        blocks = [(0, n_first, 0, 0), *layout.blocks]
        for begin, stop, before, before_stop in blocks:
            alpha, norm = alphas[begin:stop], norms[begin:stop]
            if begin:
                forward(alphas[before:before_stop], begin, stop, alpha)
                np.multiply(alpha, emissions[begin:stop], out=alpha)
            np.dot(alpha, ones, norm)
            if self._checked:
                norm[norm == 0.0] = 1.0  # a dead end: zeros from here to the end
            np.divide(alpha, norm[:, None], out=alpha)
        self._alphas, self._norms = alphas, norms
        self._end_norms = alphas[layout.last_rows] @ self._end

    def _find_doubtful(self, slack: np.ndarray, drop_gap: np.ndarray) -> np.ndarray:
        """The chains whose result could be inaccurate.

        No forward score may be so small that its continuations underflow, and what was dropped must
        be negligible: at most L^n sequences, each at least the gap below the peak.
        """
        layout = self.layout
        n_labels = self._alphas.shape[1]
        most = layout.sizes * np.log(n_labels) - drop_gap
        doubtful = ~(slack >= most + NEGLIGIBLE)
        doubtful[layout.sizes == 0] = False
        tiny = self._alphas < TINY
        if np.count_nonzero(tiny) != np.count_nonzero(self._alphas == 0.0):
            tiny &= self._alphas > 0.0
            doubtful[layout.chain_of_row[tiny.any(axis=1)]] = True
        return np.flatnonzero(doubtful)

    def _redo(self, doubtful: np.ndarray, scores: Scores) -> None:
        is_doubtful = np.zeros(self.layout.n_chains, dtype=bool)
        is_doubtful[doubtful] = True
        self._doubtful = doubtful
        self._doubtful_tokens = np.flatnonzero(is_doubtful[self.layout.chain_of_token])
        sizes = self.layout.sizes[doubtful]
        self._fallback = LogDomainRecursion(
            scores.of_tokens(self._doubtful_tokens), time_major(tuple(sizes.tolist()))
        )
        self.log_partition[doubtful] = self._fallback.log_partition

    def gradient(self, weights: np.ndarray, *, pairs: bool = True) -> Gradient:
        """The gradient of the weighted sum of log Z, by the backward recursion.

        weights (np.ndarray): *Shape:* (C,). The upstream gradient.
        pairs (bool): Whether to include the transitions and the pairwise scores.
        RETURNS (Gradient): Zeros for a chain without a possible sequence.
        """
        workspace = Workspace()
        ratios = self._ratios(workspace)
        betas, onward = self._backward(self._scaled_weights(weights), ratios, workspace)
        marginals = np.multiply(betas, self._alphas, out=betas)
        both: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
        if pairs:
            both = self._steps.pairs([(self._alphas, onward)])
        gradient = self._assemble(marginals, *both, workspace, out=onward)
        if self._fallback is None:
            return gradient
        again = self._fallback.gradient(weights[self._doubtful], pairs=pairs)
        return gradient.add(again, self._doubtful_tokens)

    def _scaled_weights(self, weights: np.ndarray) -> np.ndarray:
        """The weights of the layout's chains: zero for impossible and recomputed chains."""
        weights = np.where(self.log_partition == -np.inf, 0.0, weights)
        if self._fallback is not None:
            weights[self._doubtful] = 0.0
        return weights[self.layout.chains]

    def _ratios(self, workspace: Workspace) -> np.ndarray:
        """Emissions divided by normalizers, for all rows."""
        ratios = workspace.empty(*self._emissions.shape)
        np.divide(self._emissions, self._norms[:, None], out=ratios)
        if self._checked:
            # The backward score of an unreachable label is unbounded and meaningless
            ratios[self._alphas == 0.0] = 0.0
        if self._fallback is not None:
            ratios[self.layout.row_of_token[self._doubtful_tokens]] = 0.0
        return ratios

    def _backward(
        self, weights: np.ndarray, onward: np.ndarray, workspace: Workspace
    ) -> tuple[np.ndarray, np.ndarray]:
        """The backward scores of all rows, and their products with the ratios given in `onward`.

        They are scaled so that alpha · beta is the marginal probability times the chain's weight.
        """
        layout, backward = self.layout, self._steps.backward
        betas = workspace.empty(*self._emissions.shape)
        # If no sequence is possible, weight and sum are both zero
        scale = np.divide(
            weights, self._end_norms, out=np.zeros_like(weights), where=weights != 0.0
        )
        betas[layout.last_rows] = scale[:, None] * self._end
        for begin, stop, before, before_stop in reversed(layout.blocks):
            block = onward[begin:stop]
            np.multiply(block, betas[begin:stop], out=block)
            backward(block, begin, stop, betas[before:before_stop])
        return betas, onward

    def _assemble(
        self,
        rows: np.ndarray,
        transitions: np.ndarray | None,
        pairwise: np.ndarray | None,
        workspace: Workspace,
        *,
        out: np.ndarray,
    ) -> Gradient:
        layout = self.layout
        start = rows[: layout.chains.size].sum(axis=0)
        end = rows[layout.last_rows].sum(axis=0)
        # Nothing is clipped, but the default mode would buffer the output
        emissions = np.take(rows, layout.row_of_token, axis=0, out=out, mode="clip")
        return Gradient(emissions, transitions, start, end, pairwise, workspace)
