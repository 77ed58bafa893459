"""Transitions between labels in the log domain: none, shared by all tokens, or per token.

The n rows at time step t are the t-th tokens of the chains, from the longest chain to the shortest.
Unless noted otherwise, `values` (n, L) belong to the labels of the preceding tokens.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from ..layout import TimeMajor
from .array_ops import Array, ArrayOps, NumpyOps
from .arrays import Scores
from .log_domain import logsumexp
from .log_product import LogProduct, mixture_entropy
from .workspace import Workspace, chunks

# The summands of one maximum, (rows, L, L), are processed in chunks that fit in the CPU cache
CACHED = 1 << 16


class TransitionScores(Protocol):
    """The scores of transitions to the labels of the tokens at time step t."""

    def best(self, values: Array, t: int) -> Array:
        """RETURNS (Array): *Shape:* (n, L). The maximum over the previous labels."""
        ...

    def total(self, values: Array, t: int) -> Array:
        """RETURNS (Array): *Shape:* (n, L). The sum (log Σ exp) over the previous labels."""
        ...

    def total_onward(self, values: Array, t: int) -> Array:
        """values (Array): *Shape:* (n, L). The values of the labels at t.
        RETURNS (Array): *Shape:* (n, L). For each previous label, the sum over the labels at t.
        """
        ...

    def entropy(self, values: Array, entropies: Array, t: int) -> Array:
        """RETURNS (Array): *Shape:* (n, L). As `LogProduct.entropy`."""
        ...

    def before(self, values: Array, labels: Array, t: int) -> Array:
        """labels (Array): *Shape:* (n, m). Labels at t.
        RETURNS (Array): *Shape:* (n, m, L). The value of each previous label, plus the score of the
            transition to the given label. A new array.
        """
        ...


class NoTransitions:
    """All transitions have score 0. Works with both array libraries.

    ops (ArrayOps): The operations of the array library.
    """

    def __init__(self, ops: ArrayOps) -> None:
        self._ops = ops

    def _repeat(self, column: Array, size: int) -> Array:
        return column[:, self._ops.integers(np.zeros(size, dtype=np.int64))]

    def best(self, values: Array, t: int) -> Array:
        return self._repeat(values.take(self._ops.top(values, 1)), values.shape[1])

    def total(self, values: Array, t: int) -> Array:
        return self._repeat(self._ops.logsumexp(values)[:, None], values.shape[1])

    total_onward = total

    def entropy(self, values: Array, entropies: Array, t: int) -> Array:
        column = self._ops.mixture_entropy(values, entropies)[:, None]
        return self._repeat(column, values.shape[1])

    def before(self, values: Array, labels: Array, t: int) -> Array:
        return self._repeat(values[:, None, :], labels.shape[1])


class SharedTransitions:
    """The same transition scores for all tokens.

    transitions (np.ndarray): *Shape:* (L, L)
    n_rows (int): The largest number of rows in a block.
    """

    def __init__(self, transitions: np.ndarray, n_rows: int) -> None:
        self._transitions, self._n_rows = transitions, n_rows
        self._workspace = Workspace()
        self._into = np.ascontiguousarray(transitions.T)

    @cached_property
    def _product(self) -> LogProduct:
        return LogProduct(self._transitions)

    @cached_property
    def _onward(self) -> LogProduct:
        return LogProduct(self._into)

    def best(self, values: np.ndarray, t: int) -> np.ndarray:
        out, at_once = np.empty_like(values), self._summands.shape[1]
        for begin in range(0, len(values), at_once):
            some = values[begin : begin + at_once]
            part = self._summands[:, : len(some)]
            np.add(some.T[:, :, None], self._transitions[:, None, :], out=part)
            np.max(part, axis=0, out=out[begin : begin + at_once])
        return out

    @cached_property
    def _summands(self) -> np.ndarray:
        # Reducing the first axis keeps the inner loop on contiguous rows, even with few labels
        n_labels = len(self._into)
        at_once = min(max(1, CACHED // self._into.size), self._n_rows)
        return self._workspace.empty(n_labels, at_once, n_labels)

    def total(self, values: np.ndarray, t: int) -> np.ndarray:
        return self._product(values)

    def total_onward(self, values: np.ndarray, t: int) -> np.ndarray:
        return self._onward(values)

    def entropy(self, values: np.ndarray, entropies: np.ndarray, t: int) -> np.ndarray:
        return self._product.entropy(values, entropies)

    def before(self, values: np.ndarray, labels: np.ndarray, t: int) -> np.ndarray:
        scores = self._into.take(labels, axis=0)  # faster than indexing
        scores += values[:, None, :]
        return scores


class TokenTransitions:
    """Transition scores that differ between tokens.

    transitions (np.ndarray): *Shape:* (L, L). Added to the scores of each token.
    pairwise (np.ndarray): *Shape:* (N, L, L)
    layout (TimeMajor): The layout of the N tokens in chains.
    """

    def __init__(self, transitions: np.ndarray, pairwise: np.ndarray, layout: TimeMajor) -> None:
        self._into = np.ascontiguousarray(transitions.T)
        self._pairwise, self._layout = pairwise, layout

    def _tokens(self, t: int) -> np.ndarray:
        begin = self._layout.offsets[t]
        return self._layout.order[begin : begin + self._layout.counts[t]]

    def _summands(self, values: np.ndarray, t: int) -> Iterator[tuple[slice, np.ndarray]]:
        """In chunks of shape (n, L, L): for each label at t, the scores by previous label."""
        tokens = self._tokens(t)
        for part in chunks(len(values), self._into.size):
            # In the same order of additions as in `viterbi`, so that both break ties alike
            summands = values[part, None, :] + self._into
            summands += self._pairwise[tokens[part]].swapaxes(1, 2)
            yield part, summands

    def best(self, values: np.ndarray, t: int) -> np.ndarray:
        pieces = [summands.max(axis=2) for _, summands in self._summands(values, t)]
        return np.concatenate(pieces)

    def total(self, values: np.ndarray, t: int) -> np.ndarray:
        return np.concatenate([logsumexp(part) for _, part in self._summands(values, t)])

    def total_onward(self, values: np.ndarray, t: int) -> np.ndarray:
        tokens, pieces = self._tokens(t), chunks(len(values), self._into.size)
        return np.concatenate(
            [
                logsumexp(values[part, None, :] + self._into.T + self._pairwise[tokens[part]])
                for part in pieces
            ]
        )

    def entropy(self, values: np.ndarray, entropies: np.ndarray, t: int) -> np.ndarray:
        return np.concatenate(
            [
                mixture_entropy(summands, entropies[part, None, :])
                for part, summands in self._summands(values, t)
            ]
        )

    def before(self, values: np.ndarray, labels: np.ndarray, t: int) -> np.ndarray:
        scores = values[:, None, :] + self._into[labels]
        scores += self._pairwise[self._tokens(t)[:, None], :, labels]
        return scores


def make_transition_scores(scores: Scores, layout: TimeMajor) -> TransitionScores:
    """Create the kind of transition scores that fits the potentials.

    scores (Scores): The potentials, in float64.
    layout (TimeMajor): The layout of their tokens in chains.
    RETURNS (TransitionScores): The transition scores.
    """
    if scores.pairwise is not None:
        return TokenTransitions(scores.transitions, scores.pairwise, layout)
    if scores.transitions.any():
        return SharedTransitions(scores.transitions, layout.chains.size)
    return NoTransitions(NumpyOps())
