"""Scores and their gradients as NumPy arrays, for the recursions on the CPU."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..layout import TimeMajor

# Temporaries of shape (rows, L, L) are split into chunks of at most this many numbers
CHUNK = 1 << 20


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


class Gradient(NamedTuple):
    """The gradient of a sum over chains, or a derivative of that gradient."""

    emissions: np.ndarray  # (N, L), in the order of the tokens
    transitions: np.ndarray | None  # (L, L)
    start: np.ndarray  # (L,)
    end: np.ndarray  # (L,)
    pairwise: np.ndarray | None = None  # (N, L, L), in the order of the tokens

    @classmethod
    def of_rows(
        cls,
        layout: TimeMajor,
        rows: np.ndarray,
        transitions: np.ndarray | None,
        pairwise: np.ndarray | None,
    ) -> "Gradient":
        """RETURNS (Gradient): That with respect to all scores of labels has the same values, here
        given in the order of the layout (N, L).
        """
        start = rows[: layout.chains.size].sum(axis=0)
        end = rows[layout.last_rows].sum(axis=0)
        emissions = rows.take(layout.row_of_token, axis=0)
        return cls(emissions, transitions, start, end, pairwise)

    def add(self, other: "Gradient", tokens: np.ndarray) -> "Gradient":
        """Add the gradient, with the same fields, of the tokens of chains that were left out at
        first. It reuses the arrays of this object."""
        self.emissions[tokens] = other.emissions
        if self.transitions is not None:
            self.transitions[...] += other.transitions
        if self.pairwise is not None:
            self.pairwise[tokens] = other.pairwise
        return self._replace(start=self.start + other.start, end=self.end + other.end)


def to_tensor(array: np.ndarray, like: Tensor) -> Tensor:
    """Copy an array to a tensor of the dtype and on the device of another one."""
    return torch.from_numpy(array).to(like, copy=True)


def _array(tensor: Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu()
    # NumPy has no bfloat16, and its float16 is slow
    return (tensor.float() if tensor.element_size() < 4 else tensor).numpy()


def chunks(n_rows: int, row_size: int) -> list[slice]:
    """Split rows into consecutive chunks of at most `CHUNK` numbers, but at least one row."""
    step = max(1, CHUNK // max(1, row_size))
    return [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]
