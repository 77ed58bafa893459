"""Marginals and their derivative: Hessian-vector products of log Z.

The marginals are the gradient of Σ log Z with respect to the emissions. Backpropagation through
them needs H·v: the Hessian of Σ log Z, with all scores on one axis and the emissions on the other,
times the upstream gradient v. Since a Hessian is symmetric, H·v is also how the gradient with
respect to each score changes when the emissions move in the direction v. The recursion is therefore
differentiated in forward mode (Pearlmutter 1994, "Fast exact multiplication by the Hessian"; the
second-order expectation semiring of Li and Eisner 2009).

Adding a constant to all emissions of a token changes no probability. v may therefore be shifted so
that its mean under the marginals is zero at each token. Then log Z and all normalizers stay
constant, and the scaled forward and backward scores can be differentiated as they are.
"""

import numpy as np

from .arrays import Gradient
from .recursion import ScaledRecursion


class Posterior:
    """The marginals of a recursion, and everything that their derivative needs.

    recursion (ScaledRecursion): The recursion, after its forward pass.
    """

    marginals: np.ndarray  # (N, L), zeros for a chain without a possible sequence

    def __init__(self, recursion: ScaledRecursion) -> None:
        self._recursion = recursion
        layout, rescued = recursion.layout, recursion.rescued
        ones = np.ones(layout.n_chains)
        self._ratios = recursion.ratios()
        self._betas, self._onward = recursion.backward(ones, self._ratios.copy())
        self._rows = recursion.alphas * self._betas
        self.marginals = self._rows[layout.row_of_token]
        if rescued is not None:
            self.marginals[rescued.tokens] = rescued.gradient(ones, pairs=False).emissions

    def derivative(self, direction: np.ndarray, *, pairs: bool = True) -> Gradient:
        """The derivative of the gradient of Σ log Z if the emissions move as given (N, L); zeros
        for a chain without a possible sequence."""
        recursion = self._recursion
        layout, steps, alphas = recursion.layout, recursion.steps, recursion.alphas
        move = direction[layout.order].astype(np.float64, copy=False)
        move -= np.einsum("nl,nl->n", move, self._rows)[:, None]

        # d alpha_t = (d alpha_{t-1} @ step) * ratio + alpha_t * move
        d_alphas = alphas * move
        reached = np.empty((layout.chains.size, alphas.shape[1]))
        for begin, stop, before, before_stop in layout.blocks:
            part = reached[: stop - begin]
            steps.forward(d_alphas[before:before_stop], begin, stop, part)
            part *= self._ratios[begin:stop]
            d_alphas[begin:stop] += part

        # d beta_{t-1} = step @ d onward_t, and both factors of onward_t = ratio * beta_t move
        d_onward = np.multiply(self._onward, move, out=move)
        d_betas = np.empty_like(alphas)
        d_betas[layout.last_rows] = 0.0
        for begin, stop, before, before_stop in reversed(layout.blocks):
            part = reached[: stop - begin]
            np.multiply(self._ratios[begin:stop], d_betas[begin:stop], out=part)
            d_onward[begin:stop] += part
            steps.backward(d_onward[begin:stop], begin, stop, d_betas[before:before_stop])

        sides = [(d_alphas, self._onward), (alphas, d_onward)]
        by_pair = steps.pairs(sides) if pairs else (None, None)
        rows = np.multiply(alphas, d_betas, out=d_betas)
        d_alphas *= self._betas
        rows += d_alphas
        gradient = Gradient.of_rows(layout, rows, *by_pair)
        rescued = recursion.rescued
        if rescued is None:
            return gradient
        return gradient.add(rescued.derivative(direction, pairs=pairs), rescued.tokens)
