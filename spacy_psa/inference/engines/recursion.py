"""The forward-backward algorithm in the exp domain, in NumPy, for many chains at once.

Rabiner (1989), "A tutorial on hidden Markov models", section V.A: forward scores are normalized at
each step, and the logarithms of the normalizers add up to log Z. Each step is one matrix
multiplication for the whole batch, while the log domain needs L² exponentials per token.

The price is range: anything 700 nats below the best score underflows. This is harmless if any label
can follow any other at a bounded cost, because whatever is that far behind stays behind. It is not
harmless behind forbidden transitions, where the only possible continuation may have been lost. The
results are therefore checked if there are such transitions, and a chain whose result may be
inaccurate is recomputed by the definition.
"""

import numpy as np
import torch
from torch import Tensor

from ..layout import TimeMajor, sum_by
from ..potentials import Potentials
from .arrays import Gradient, Scores
from .logspace import LogSpaceBackend
from .steps import DROP_BELOW, Factor, make_steps

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
        rows = scores.emissions[layout.order].astype(np.float64, copy=False)
        row_max = rows.max(axis=1)
        self._steps = make_steps(scores.transitions, scores.pairwise, layout)
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

        self._fallback: ByDefinition | None = None
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
        alphas = np.empty_like(emissions)
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
        """The chains whose result could be inaccurate: no forward score may be so small that its
        continuations underflow, and what was dropped must be negligible. It is at most L^n
        sequences, each at least the gap below the peak."""
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
        sizes = tuple(self.layout.sizes[doubtful].tolist())
        self._fallback = ByDefinition(scores, self._doubtful_tokens, sizes)
        self.log_partition[doubtful] = self._fallback.log_partition.detach().numpy()

    def gradient(self, weights: np.ndarray, *, pairs: bool = True) -> Gradient:
        """The gradient of the sum of log Z, weighted by chain (C,), by the backward recursion.
        Without pairs, it lacks the transitions and the pairwise scores."""
        betas, onward = self._backward(self._scaled_weights(weights), self._ratios())
        marginals = np.multiply(betas, self._alphas, out=betas)
        both: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
        if pairs:
            both = self._steps.pairs([(self._alphas, onward)])
        gradient = self._assemble(marginals, *both)
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

    def _ratios(self) -> np.ndarray:
        """Emissions divided by normalizers, for all rows."""
        ratios = self._emissions / self._norms[:, None]
        if self._checked:
            # The backward score of an unreachable label is unbounded and meaningless
            ratios[self._alphas == 0.0] = 0.0
        if self._fallback is not None:
            ratios[self.layout.row_of_token[self._doubtful_tokens]] = 0.0
        return ratios

    def _backward(self, weights: np.ndarray, onward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The backward scores of all rows, and their products with the ratios given in `onward`.

        They are scaled so that alpha · beta is the marginal probability times the chain's weight.
        """
        layout, backward = self.layout, self._steps.backward
        betas = np.empty_like(self._emissions)
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
        self, rows: np.ndarray, transitions: np.ndarray | None, pairwise: np.ndarray | None
    ) -> Gradient:
        start = rows[: self.layout.chains.size].sum(axis=0)
        end = rows[self.layout.last_rows].sum(axis=0)
        emissions = rows.take(self.layout.row_of_token, axis=0)
        return Gradient(emissions, transitions, start, end, pairwise)


class ByDefinition:
    """The same for the chains whose results could be inaccurate, by the logspace engine.

    scores (Scores): The potentials of all tokens.
    tokens (np.ndarray): The tokens of these chains.
    sizes (Tuple[int, ...]): The lengths of these chains.
    """

    def __init__(self, scores: Scores, tokens: np.ndarray, sizes: tuple[int, ...]) -> None:
        own = scores._replace(
            emissions=scores.emissions[tokens],
            pairwise=None if scores.pairwise is None else scores.pairwise[tokens],
        )
        # Autograd of its own, also where PyTorch is told not to record any
        with torch.inference_mode(False), torch.enable_grad():
            self._leaves = {
                name: torch.from_numpy(array).double().requires_grad_()
                for name, array in own._asdict().items()
                if array is not None
            }
            potentials = Potentials(lengths=sizes, **self._leaves)
            self.log_partition = LogSpaceBackend().log_partition(potentials)

    def gradient(self, weights: np.ndarray, *, pairs: bool = True) -> Gradient:
        """As `ScaledRecursion.gradient`."""
        return self._derivatives(self.log_partition, torch.from_numpy(weights), pairs)

    def derivative(self, direction: np.ndarray, *, pairs: bool = True) -> Gradient:
        """As `Posterior.derivative`."""
        with torch.inference_mode(False), torch.enable_grad():
            total, emissions = self.log_partition.sum(), self._leaves["emissions"]
            (marginals,) = torch.autograd.grad(total, [emissions], create_graph=True)
        return self._derivatives(marginals, torch.from_numpy(direction), pairs)

    def _derivatives(self, outputs: Tensor, weights: Tensor, pairs: bool) -> Gradient:
        names = [n for n in self._leaves if pairs or n not in ("transitions", "pairwise")]
        with torch.inference_mode(False):
            found = torch.autograd.grad(
                outputs,
                [self._leaves[name] for name in names],
                grad_outputs=weights.to(outputs),
                retain_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
        parts = {name: part.numpy() for name, part in zip(names, found, strict=True)}
        sides = parts.get("transitions"), parts["start"], parts["end"], parts.get("pairwise")
        return Gradient(parts["emissions"], *sides)
