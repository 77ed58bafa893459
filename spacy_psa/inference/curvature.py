"""Marginals and their derivative: the second derivative of log Z, times a vector.

The marginals are the gradient of Σ log Z with respect to the emissions. What backpropagation wants
of them is H·v: the Hessian of Σ log Z, with all scores on one axis and the emissions on the other,
times the upstream gradient v. Since a Hessian is symmetric, this is also how the gradient with
respect to each of the scores changes when the emissions move in the direction v. So the recursion
is differentiated forwards, along with the scores (Pearlmutter 1994, "Fast exact multiplication by
the Hessian"; the second-order expectation semiring of Li and Eisner 2009).

A number added to all emissions of a token changes no probability. So v may be shifted such that its
mean under the marginals is zero at each token: then log Z stands still, and with it every
normaliser, and forward and backward scores may be differentiated as they are, scaled.
"""

import numpy as np

from .arrays import Gradient
from .recursion import ScaledRecursion
from .workspace import Workspace


class Posterior:
    """The marginals under a recursion, and all that their derivative takes.

    recursion (ScaledRecursion): The recursion, which has run forward.
    """

    marginals: np.ndarray  # (N, L), zeros for a chain for which no sequence is possible

    def __init__(self, recursion: ScaledRecursion) -> None:
        self._recursion = recursion
        self._workspace = Workspace()
        layout = recursion.layout
        shape = recursion._emissions.shape
        ones = np.ones(layout.n_chains)
        self._ratios = recursion._ratios(self._workspace)
        onward = self._workspace.empty(*shape)
        onward[...] = self._ratios
        weights = recursion._scaled_weights(ones)
        self._betas, self._onward = recursion._backward(weights, onward, self._workspace)
        self._rows = self._workspace.empty(*shape)
        np.multiply(recursion._alphas, self._betas, out=self._rows)
        self.marginals = self._rows[layout.row_of_token]
        if recursion._again is not None:
            again = recursion._again.gradient(ones[recursion._doubtful], pairs=False)
            self.marginals[recursion._doubtful_tokens] = again.emissions

    def derivative(self, direction: np.ndarray, *, pairs: bool = True) -> Gradient:
        """How the gradient of Σ log Z changes when the emissions move.

        direction (np.ndarray): *Shape:* (N, L). Where to the emissions move.
        pairs (bool): Whether the part of the transitions and of the pairwise scores is wanted.
        RETURNS (Gradient): The derivative, zeros for a chain for which no sequence is possible.
        """
        recursion, workspace = self._recursion, Workspace()
        layout, steps, alphas = recursion.layout, recursion._steps, recursion._alphas
        move = workspace.empty(*alphas.shape)
        move[layout.row_of_token] = direction
        move -= np.einsum("nl,nl->n", move, self._rows)[:, None]

        # d alpha_t = (d alpha_{t-1} @ step) * ratio + alpha_t * move
        d_alphas = workspace.empty(*alphas.shape)
        np.multiply(alphas, move, out=d_alphas)
        reached = np.empty((layout.chains.size, alphas.shape[1]))
        for begin, stop, before, before_stop in layout.blocks:
            part = reached[: stop - begin]
            steps.forward(d_alphas[before:before_stop], begin, stop, part)
            part *= self._ratios[begin:stop]
            d_alphas[begin:stop] += part

        # d beta_{t-1} = step @ d onward_t, where onward_t = ratio * beta_t moves with both factors
        d_onward = np.multiply(self._onward, move, out=move)
        d_betas = workspace.empty(*alphas.shape)
        d_betas[layout.last_rows] = 0.0
        for begin, stop, before, before_stop in reversed(layout.blocks):
            part = reached[: stop - begin]
            np.multiply(self._ratios[begin:stop], d_betas[begin:stop], out=part)
            d_onward[begin:stop] += part
            steps.backward(d_onward[begin:stop], begin, stop, d_betas[before:before_stop])

        both: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
        if pairs:
            both = steps.pairs([(d_alphas, self._onward), (alphas, d_onward)])
        rows = np.multiply(alphas, d_betas, out=d_betas)
        d_alphas *= self._betas
        rows += d_alphas
        gradient = recursion._assemble(rows, *both, workspace, out=d_alphas)
        if recursion._again is None:
            return gradient
        tokens = recursion._doubtful_tokens
        again = recursion._again.derivative(direction[tokens].astype(np.float64), pairs=pairs)
        return gradient.add(again, tokens)
