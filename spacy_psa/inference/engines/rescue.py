"""Chains for which the exp domain is not precise enough, and their results by the definition.

A float64 has a range: whatever is more than 708 nats below the best score underflows. This is
harmless if any label can follow any other at a bounded cost, because what is that far behind stays
behind. It is not harmless behind forbidden transitions, where the only possible continuation may
have been lost. With emissions (0, -800) and (-800, 0) and no transition from label 0 to label 1,
the best sequences are 0, 0 and 1, 1, and log Z = log 2 - 800. In the exp domain, label 1 is lost at
the first token and label 0 at the second one, which makes log Z = -inf.

If such a loss is possible, `Underflow` drops what is too small to compute with before the forward
pass, and finds the chains that this or further underflow may have harmed after it. For these,
`ByDefinition` replaces the results of the exp domain. Other chains need no check at all.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..layout import TimeMajor
from ..potentials import Potentials
from .arrays import Gradient, Scores
from .logspace import LogSpaceBackend
from .steps import Factor, RowFactor, Steps

# Steps (start, end) whose scores are within this range lose nothing: a backward score is at most
# e^300 times another one, a normalizer at least e^-300, and float64 reaches down to e^-708
SAFE_RANGE = 300.0
TINY = 1e-100  # about e^-DROP_BELOW; a product of three such numbers is still a normal float64
# Dropped sequences may make up e^-40 of the total probability, less than float64's precision
NEGLIGIBLE = 40.0


class Underflow:
    """Drops the values that are too small to compute with, and finds the chains this may harm.

    layout (TimeMajor): The layout of the tokens.
    factors (Sequence[Union[Steps, RowFactor, Factor]]): The factors, from now on without what is
        dropped.
    """

    def __init__(self, layout: TimeMajor, factors: Sequence[Steps | RowFactor | Factor]) -> None:
        self._layout = layout
        self._gaps = np.full(layout.n_chains, np.inf)
        for factor in factors:
            np.minimum(self._gaps, factor.drop(), out=self._gaps)

    def doubtful(self, alphas: np.ndarray, log_norms: np.ndarray) -> np.ndarray:
        """The chains whose results could be inaccurate, given the forward scores (N, L) and the
        logs of the normalizers, summed by chain (C,).

        No forward score may be so small that its continuations underflow, and what was dropped must
        be negligible. It is at most L^n sequences, each at least the gap below the peak.
        """
        layout = self._layout
        most = layout.sizes * np.log(alphas.shape[1]) - self._gaps
        doubtful = ~(log_norms >= most + NEGLIGIBLE)
        doubtful[layout.sizes == 0] = False
        tiny = (alphas < TINY) & (alphas > 0.0)
        if np.count_nonzero(tiny):  # faster than any()
            doubtful[layout.chain_of_row[tiny.any(axis=1)]] = True
        return np.flatnonzero(doubtful)


class ByDefinition:
    """The results of some of the chains, by the logspace engine.

    scores (Scores): The potentials of all tokens.
    layout (TimeMajor): The layout of all tokens.
    chains (np.ndarray): The chains to compute.
    """

    log_partition: np.ndarray  # Of these chains

    def __init__(self, scores: Scores, layout: TimeMajor, chains: np.ndarray) -> None:
        self.chains = chains
        self.tokens = np.flatnonzero(np.isin(layout.chain_of_token, chains))
        own = scores._replace(
            emissions=scores.emissions[self.tokens],
            pairwise=None if scores.pairwise is None else scores.pairwise[self.tokens],
        )
        # Autograd of its own, also where PyTorch is told not to record any
        with torch.inference_mode(False), torch.enable_grad():
            self._leaves = {
                name: torch.from_numpy(array).double().requires_grad_()
                for name, array in own._asdict().items()
                if array is not None
            }
            lengths = tuple(layout.sizes[chains].tolist())
            potentials = Potentials(lengths=lengths, **self._leaves)
            self._log_z = LogSpaceBackend().log_partition(potentials)
        self.log_partition = self._log_z.detach().numpy()

    def gradient(self, weights: np.ndarray, *, pairs: bool = True) -> Gradient:
        """As `ScaledRecursion.gradient`, with the weights of all chains (C,)."""
        return self._derivatives(self._log_z, weights[self.chains], pairs)

    def derivative(self, direction: np.ndarray, *, pairs: bool = True) -> Gradient:
        """As `Posterior.derivative`, with the moves of all emissions (N, L)."""
        with torch.inference_mode(False), torch.enable_grad():
            total, emissions = self._log_z.sum(), self._leaves["emissions"]
            (marginals,) = torch.autograd.grad(total, [emissions], create_graph=True)
        return self._derivatives(marginals, direction[self.tokens], pairs)

    def _derivatives(self, outputs: Tensor, weights: np.ndarray, pairs: bool) -> Gradient:
        names = [n for n in self._leaves if pairs or n not in ("transitions", "pairwise")]
        with torch.inference_mode(False):
            found = torch.autograd.grad(
                outputs,
                [self._leaves[name] for name in names],
                grad_outputs=torch.from_numpy(weights).to(outputs),
                retain_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
        parts = {name: part.numpy() for name, part in zip(names, found, strict=True)}
        sides = parts.get("transitions"), parts["start"], parts["end"], parts.get("pairwise")
        return Gradient(parts["emissions"], *sides)
