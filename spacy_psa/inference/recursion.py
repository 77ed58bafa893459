"""The forward-backward algorithm in the exp domain, in NumPy, for many chains at once.

Rabiner (1989), "A tutorial on hidden Markov models", section V.A: forward scores are normalised at
each step, and the logarithms of the normalisers add up to log Z. One step is then one matrix
product for the batch, where the log domain needs L² exponentials a token.

The price is range: what lies 700 nats below the best is lost. That is harmless where any label can
follow any other at a bounded cost, because then whatever is that far behind stays behind. It is
not harmless behind forbidden transitions, where the only possible continuation may have been lost.
There, each chain's result is checked, and a chain whose result may be off is done again in the log
domain.
"""

import numpy as np

from .layout import TimeMajor, sum_by, time_major
from .log_domain import Gradient, LogDomainRecursion
from .workspace import Workspace

# Transitions (start, end) within this range of each other lose nothing: a backward score is at most
# e^300 times another one, a normaliser at least e^-300, and float64 reaches down to e^-708.
SAFE_RANGE = 300.0
# With wider ranges: terms further down than this are dropped, and must then prove to be negligible.
DROP_BELOW = 230.0
TINY = 1e-100  # about e^-DROP_BELOW; a product of three such numbers is still an ordinary float64
# Dropped sequences may make up e^-40 of the total probability, which is below float64's precision
NEGLIGIBLE = 40.0


class ScaledRecursion:
    """log Z of each chain, and on demand its gradient.

    emissions (np.ndarray): *Shape:* (N, L)
    transitions (np.ndarray): *Shape:* (L, L)
    start (np.ndarray): *Shape:* (L,)
    end (np.ndarray): *Shape:* (L,)
    layout (TimeMajor): How the N tokens make up C chains.
    """

    log_partition: np.ndarray  # (C,), -inf where no sequence is possible

    def __init__(
        self,
        emissions: np.ndarray,
        transitions: np.ndarray,
        start: np.ndarray,
        end: np.ndarray,
        layout: TimeMajor,
    ) -> None:
        self.layout = layout
        self._workspace = Workspace()
        rows = self._workspace.empty(*emissions.shape)
        rows[layout.row_of_token] = emissions
        row_max = rows.max(axis=1)
        scores = {"transitions": transitions, "start": start, "end": end}
        factors = {name: _Factor(array) for name, array in scores.items()}
        # -inf in the emissions alone is no danger: what they leave over is reachable
        self._checked = not np.isfinite(row_max).all() or any(
            factor.range > SAFE_RANGE for factor in factors.values()
        )
        row_max[row_max == -np.inf] = 0.0
        rows -= row_max[:, None]
        drop_gap = np.full(layout.n_chains, np.inf)
        if self._checked:
            drop_gap[:] = min(factor.drop() for factor in factors.values())
            self._drop_emissions(rows, drop_gap)
        self._emissions = np.exp(rows, out=rows)
        self._transitions = factors["transitions"].values
        self._start, self._end = factors["start"].values, factors["end"].values
        self._forward()

        with np.errstate(divide="ignore"):
            slack = sum_by(layout.chain_of_row, np.log(self._norms), layout.n_chains)
            slack[layout.chains] += np.log(self._end_norms)
        peak = sum_by(layout.chain_of_row, row_max, layout.n_chains)
        peak += np.maximum(layout.sizes - 1, 0) * factors["transitions"].peak
        peak[layout.chains] += factors["start"].peak + factors["end"].peak
        self.log_partition = peak + slack

        self._again: LogDomainRecursion | None = None
        if self._checked:
            doubtful = self._find_doubtful(slack, drop_gap)
            if doubtful.size:
                self._redo(doubtful, emissions, transitions, start, end)

    def _drop_emissions(self, rows: np.ndarray, drop_gap: np.ndarray) -> None:
        """Drop emissions far below their row's peak, and note how far."""
        low = rows < -DROP_BELOW
        if np.count_nonzero(low) == np.count_nonzero(rows == -np.inf):
            return
        at, label = np.nonzero(low & (rows != -np.inf))
        np.minimum.at(drop_gap, self.layout.chain_of_row[at], -rows[at, label])
        rows[at, label] = -np.inf

    def _forward(self) -> None:
        """Scaled forward scores of all rows, the normaliser of each row, and the last sum."""
        layout, emissions, transitions = self.layout, self._emissions, self._transitions
        alphas = self._workspace.empty(*emissions.shape)
        norms = np.empty(layout.n_tokens)
        ones = np.ones(emissions.shape[1])
        n_first = layout.chains.size
        np.multiply(emissions[:n_first], self._start, out=alphas[:n_first])
        blocks = [(0, n_first, 0, 0), *layout.blocks]
        for begin, stop, before, before_stop in blocks:
            alpha, norm = alphas[begin:stop], norms[begin:stop]
            if begin:
                np.matmul(alphas[before:before_stop], transitions, out=alpha)
                np.multiply(alpha, emissions[begin:stop], out=alpha)
            np.matmul(alpha, ones, out=norm)
            if self._checked:
                norm[norm == 0.0] = 1.0  # no way on: zeros from here to the end
            np.divide(alpha, norm[:, None], out=alpha)
        self._alphas, self._norms = alphas, norms
        self._end_norms = alphas[layout.last_rows] @ self._end

    def _find_doubtful(self, slack: np.ndarray, drop_gap: np.ndarray) -> np.ndarray:
        """The chains whose result could be off.

        No forward score may be so small that what follows from it underflows; and what was dropped
        has to be negligible: it is at most L^n sequences, each at least the gap below the peak.
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

    def _redo(
        self,
        doubtful: np.ndarray,
        emissions: np.ndarray,
        transitions: np.ndarray,
        start: np.ndarray,
        end: np.ndarray,
    ) -> None:
        is_doubtful = np.zeros(self.layout.n_chains, dtype=bool)
        is_doubtful[doubtful] = True
        self._doubtful = doubtful
        self._doubtful_tokens = np.flatnonzero(is_doubtful[self.layout.chain_of_token])
        sizes = self.layout.sizes[doubtful]
        self._again = LogDomainRecursion(
            emissions[self._doubtful_tokens].astype(np.float64, copy=False),
            transitions.astype(np.float64, copy=False),
            start.astype(np.float64, copy=False),
            end.astype(np.float64, copy=False),
            time_major(tuple(sizes.tolist())),
        )
        self.log_partition[doubtful] = self._again.log_partition

    def gradient(self, weights: np.ndarray, *, pairwise: bool = True) -> Gradient:
        """Backward recursion: the gradient of the weighted sum of log Z.

        weights (np.ndarray): *Shape:* (C,). The upstream gradient.
        pairwise (bool): Whether the transitions' part is wanted.
        RETURNS (Gradient): Zeros for a chain for which no sequence is possible.
        """
        layout = self.layout
        weights = np.where(self.log_partition == -np.inf, 0.0, weights)
        scaled_weights = weights.copy()
        if self._again is not None:
            scaled_weights[self._doubtful] = 0.0
        workspace = Workspace()
        betas, onward = self._backward(scaled_weights[layout.chains], workspace)
        marginals = np.multiply(betas, self._alphas, out=betas)
        n_first = layout.chains.size
        start = marginals[:n_first].sum(axis=0)
        end = marginals[layout.last_rows].sum(axis=0)
        transitions = self._pairs(onward) if pairwise else None
        # The clipping is void, but the default mode would go through another array
        emissions = np.take(marginals, layout.row_of_token, axis=0, out=onward, mode="clip")
        if self._again is not None:
            again = self._again.gradient(weights[self._doubtful], pairwise=pairwise)
            emissions[self._doubtful_tokens] = again.emissions
            start, end = start + again.start, end + again.end
            if transitions is not None:
                transitions += again.transitions
        return Gradient(emissions, transitions, start, end, workspace)

    def _backward(self, weights: np.ndarray, workspace: Workspace) -> tuple[np.ndarray, np.ndarray]:
        """Backward scores, and those times the emission over its normaliser, of all rows.

        They are scaled so that alpha · beta is the marginal probability times the chain's weight.
        """
        layout = self.layout
        onward = workspace.empty(*self._emissions.shape)
        np.divide(self._emissions, self._norms[:, None], out=onward)
        if self._checked:
            # A label that nothing leads to: its backward score has no bound, and no meaning
            onward[self._alphas == 0.0] = 0.0
        betas = workspace.empty(*self._emissions.shape)
        # Where no sequence is possible, weight and sum are both zero
        ratio = np.divide(
            weights, self._end_norms, out=np.zeros_like(weights), where=weights != 0.0
        )
        betas[layout.last_rows] = ratio[:, None] * self._end
        backward = np.ascontiguousarray(self._transitions.T)
        for begin, stop, before, before_stop in reversed(layout.blocks):
            block = onward[begin:stop]
            np.multiply(block, betas[begin:stop], out=block)
            np.matmul(block, backward, out=betas[before:before_stop])
        return betas, onward

    def _pairs(self, onward: np.ndarray) -> np.ndarray:
        """Expected transitions, from the rows' predecessors onward to the rows."""
        total = np.zeros_like(self._transitions)
        for begin, stop, before, before_stop in self.layout.runs:
            total += self._alphas[before:before_stop].T @ onward[begin:stop]
        total *= self._transitions
        return total


class _Factor:
    """exp(scores) divided by their maximum.

    scores (np.ndarray): Log-scores, -inf allowed.
    """

    def __init__(self, scores: np.ndarray) -> None:
        peak = scores.max()
        self.peak = 0.0 if peak == -np.inf else float(peak)
        self._gaps = self.peak - scores.astype(np.float64, copy=False)
        self.range = float(self._gaps.max())
        self.values = np.exp(-self._gaps)

    def drop(self) -> float:
        """Set the values to zero that are too small to calculate with.

        RETURNS (float): How far below the peak the largest of them lies; inf if there is none.
        """
        dropped = (self._gaps > DROP_BELOW) & np.isfinite(self._gaps)
        self.values[dropped] = 0.0
        return float(self._gaps[dropped].min(initial=np.inf))
