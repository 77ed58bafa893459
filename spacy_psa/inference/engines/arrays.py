"""Scores and their gradients as NumPy arrays, for the recursions on the CPU."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .workspace import Workspace


class Scores(NamedTuple):
    """The fields of `Potentials`, with zeros for those that are missing."""

    emissions: np.ndarray  # (N, L)
    transitions: np.ndarray  # (L, L)
    start: np.ndarray  # (L,)
    end: np.ndarray  # (L,)
    pairwise: np.ndarray | None  # (N, L, L)

    @classmethod
    def of(
        cls,
        emissions: Tensor,
        transitions: Tensor | None,
        start: Tensor | None,
        end: Tensor | None,
        pairwise: Tensor | None,
    ) -> "Scores":
        """RETURNS (Scores): The arrays, which share memory with the tensors if possible."""
        n_labels = emissions.shape[1]
        return cls(
            _array(emissions),
            np.zeros((n_labels, n_labels)) if transitions is None else _array(transitions),
            np.zeros(n_labels) if start is None else _array(start),
            np.zeros(n_labels) if end is None else _array(end),
            None if pairwise is None else _array(pairwise),
        )

    def of_tokens(self, tokens: np.ndarray) -> "Scores":
        """RETURNS (Scores): The scores of these tokens only, in float64."""
        return Scores(
            _wide(self.emissions[tokens]),
            _wide(self.transitions),
            _wide(self.start),
            _wide(self.end),
            None if self.pairwise is None else _wide(self.pairwise[tokens]),
        )

    def with_wide_tables(self) -> "Scores":
        """RETURNS (Scores): All in float64 except for the pairwise scores, which are too large to
        be converted as a whole.
        """
        return Scores(
            _wide(self.emissions),
            _wide(self.transitions),
            _wide(self.start),
            _wide(self.end),
            self.pairwise,
        )


class Gradient(NamedTuple):
    """The gradient of a sum over chains, or a derivative of that gradient.

    The emissions may lie in a workspace: copy them before you release this object.
    """

    emissions: np.ndarray  # (N, L), in the order of the tokens
    transitions: np.ndarray | None  # (L, L)
    start: np.ndarray  # (L,)
    end: np.ndarray  # (L,)
    pairwise: np.ndarray | None = None  # (N, L, L), in the order of the tokens
    workspace: Workspace | None = None

    def add(self, other: "Gradient", tokens: np.ndarray) -> "Gradient":
        """Add the gradient of chains that were left out at first.

        other (Gradient): Their gradient, with the same fields.
        tokens (np.ndarray): Their tokens.
        RETURNS (Gradient): The sum. It reuses the arrays of this object.
        """
        self.emissions[tokens] = other.emissions
        if self.transitions is not None:
            self.transitions[...] += other.transitions
        if self.pairwise is not None:
            self.pairwise[tokens] = other.pairwise
        return self._replace(start=self.start + other.start, end=self.end + other.end)


def to_tensor(array: np.ndarray, like: Tensor) -> Tensor:
    """Copy an array to a tensor.

    array (np.ndarray): The array.
    like (Tensor): A tensor with the dtype and device of the copy.
    RETURNS (Tensor): The copy.
    """
    return torch.from_numpy(array).to(like, copy=True)


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64, copy=False)


def _array(tensor: Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu()
    # NumPy has no bfloat16, and its float16 is slow
    return (tensor.float() if tensor.element_size() < 4 else tensor).numpy()
