"""The forward-backward algorithm in the log domain, in NumPy: slow, and never out of range."""

from typing import NamedTuple

import numpy as np

from .layout import TimeMajor
from .workspace import Workspace

# Temporaries of the shape (rows, L, L) are cut into pieces of at most this many numbers
CHUNK = 1 << 20


class Gradient(NamedTuple):
    """The gradient of Σ_c weight_c · log Z_c: expected counts, weighted by chain.

    The emissions may lie in a workspace: copy them, and keep this object until then.
    """

    emissions: np.ndarray  # (N, L), in the order of the tokens
    transitions: np.ndarray | None  # (L, L)
    start: np.ndarray  # (L,)
    end: np.ndarray  # (L,)
    workspace: Workspace | None = None


class LogDomainRecursion:
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
        self._emissions = emissions[layout.order]
        self._transitions, self._end = transitions, end
        self._alphas = np.empty_like(self._emissions)
        n_first = layout.chains.size
        self._alphas[:n_first] = self._emissions[:n_first] + start
        for begin, stop, before, before_stop in layout.blocks:
            reached = log_matmul(self._alphas[before:before_stop], transitions)
            self._alphas[begin:stop] = reached + self._emissions[begin:stop]
        self.log_partition = np.zeros(layout.n_chains)
        self.log_partition[layout.chains] = logsumexp(self._alphas[layout.last_rows] + end)

    def gradient(self, weights: np.ndarray, *, pairwise: bool = True) -> Gradient:
        """Backward recursion: the gradient of the weighted sum of log Z.

        weights (np.ndarray): *Shape:* (C,). The upstream gradient.
        pairwise (bool): Whether the transitions' part is wanted.
        RETURNS (Gradient): Zeros for a chain for which no sequence is possible.
        """
        layout = self.layout
        possible = self.log_partition != -np.inf
        weights = np.where(possible, weights, 0.0)[layout.chain_of_row][:, None]
        log_z = np.where(possible, self.log_partition, 0.0)[layout.chain_of_row][:, None]
        betas = np.empty_like(self._alphas)
        betas[layout.last_rows] = self._end
        for begin, stop, before, before_stop in reversed(layout.blocks):
            onward = betas[begin:stop] + self._emissions[begin:stop]
            betas[before:before_stop] = log_matmul(onward, self._transitions.T)
        marginals = np.exp(self._alphas + betas - log_z) * weights
        emissions = np.empty_like(marginals)
        emissions[layout.order] = marginals
        transitions = None
        if pairwise:
            transitions = self._pairs(betas + self._emissions - log_z, weights)
        start = marginals[: layout.chains.size].sum(axis=0)
        return Gradient(emissions, transitions, start, marginals[layout.last_rows].sum(axis=0))

    def _pairs(self, onward: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Expected transitions: from the rows' predecessors, onward to the rows."""
        total = np.zeros_like(self._transitions)
        for begin, stop, before, _ in self.layout.runs:
            for part in _chunks(stop - begin, total.size):
                ahead = slice(begin + part.start, begin + part.stop)
                behind = slice(before + part.start, before + part.stop)
                pairs = self._alphas[behind, :, None] + self._transitions + onward[ahead, None, :]
                total += (np.exp(pairs) * weights[ahead, :, None]).sum(axis=0)
        return total


def log_matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product in the log semiring, log(exp(a) @ exp(b)).

    a (np.ndarray): *Shape:* (n, k)
    b (np.ndarray): *Shape:* (k, m)
    RETURNS (np.ndarray): *Shape:* (n, m)
    """
    transposed = np.ascontiguousarray(b.T)
    out = np.empty((a.shape[0], b.shape[1]))
    for part in _chunks(len(a), b.size):
        out[part] = logsumexp(a[part, None, :] + transposed)
    return out


def logsumexp(scores: np.ndarray) -> np.ndarray:
    """log Σ exp over the last axis; -inf where everything is -inf.

    scores (np.ndarray): *Shape:* (…, L)
    RETURNS (np.ndarray): *Shape:* (…)
    """
    peak = scores.max(axis=-1, keepdims=True)
    peak[peak == -np.inf] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(np.exp(scores - peak).sum(axis=-1)) + peak[..., 0]


def _chunks(n_rows: int, row_size: int) -> list[slice]:
    step = max(1, CHUNK // row_size)
    return [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]
