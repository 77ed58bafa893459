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
        layout = recursion.layout
        ones = np.ones(layout.n_chains)
        self._ratios = recursion._ratios()
        weights = recursion._scaled_weights(ones)
        self._betas, self._onward = recursion._backward(weights, self._ratios.copy())
        self._rows = recursion._alphas * self._betas
        self.marginals = self._rows[layout.row_of_token]
        if recursion._fallback is not None:
            again = recursion._fallback.gradient(ones[recursion._doubtful], pairs=False)
            self.marginals[recursion._doubtful_tokens] = again.emissions

    def derivative(self, direction: np.ndarray, *, pairs: bool = True) -> Gradient:
        """The derivative of the gradient of Σ log Z if the emissions move as given (N, L); zeros
        for a chain without a possible sequence."""
        recursion = self._recursion
        layout, steps, alphas = recursion.layout, recursion._steps, recursion._alphas
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

        both: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
        if pairs:
            both = steps.pairs([(d_alphas, self._onward), (alphas, d_onward)])
        rows = np.multiply(alphas, d_betas, out=d_betas)
        d_alphas *= self._betas
        rows += d_alphas
        gradient = recursion._assemble(rows, *both)
        if recursion._fallback is None:
            return gradient
        tokens = recursion._doubtful_tokens
        again = recursion._fallback.derivative(direction[tokens], pairs=pairs)
        return gradient.add(again, tokens)
