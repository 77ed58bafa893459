"""Best paths: the recursion of Viterbi (1967), in NumPy.

    best_1(j) = start_j + emissions_1j
    best_t(j) = emissions_tj + max_i (best_{t−1}(i) + ψ_t(i, j)),    ψ_t = transitions + pairwise_t

There are no backpointers: the best predecessor is recomputed on the way back, for one label per
token instead of L. Scores are summed in float64.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..layout import time_major
from ..potentials import Potentials
from .triton.backend import for_kernels, have_kernels

# The summands of one step, (rows, L, L), are processed in chunks that fit in the last-level cache
CHUNK = 1 << 19
# From this many values on, PyTorch adds and compares faster than NumPy, even with one thread
MANY = 1 << 13


def best_labels(potentials: Potentials) -> Tensor:
    """The best label sequences (N,). Ties go to the lower label index, from the end of the chain to
    its beginning."""
    if potentials.is_independent:
        return potentials.emissions.argmax(dim=1)
    on_gpu = potentials.device.type == "cuda" and have_kernels(potentials.emissions)
    return viterbi_fused(potentials) if on_gpu else viterbi_numpy(potentials)


def viterbi_fused(potentials: Potentials) -> Tensor:
    """As `best_labels`, in one GPU kernel. `have_kernels` must be true of the emissions."""
    from .triton.viterbi import best_paths

    return best_paths(*for_kernels(potentials.fields(), potentials.lengths))[0]


def viterbi_numpy(potentials: Potentials) -> Tensor:
    """As `best_labels`, on the CPU."""
    return torch.from_numpy(BestPaths(potentials).labels()).to(potentials.device)


class BestPaths:
    """The best score of a path to each label of each token, including the label itself.

    Rows are tokens in the order of the layout.
    """

    def __init__(self, potentials: Potentials) -> None:
        self.layout, n_labels = time_major(potentials.lengths), potentials.n_labels
        tensors = potentials.tensors()
        # Converted step by step: as a whole, it takes L times as much memory as the emissions
        self._pairwise = tensors.pop("pairwise", None)
        scores = {name: t.cpu().double().numpy() for name, t in tensors.items()}
        self.scores = scores["emissions"][self.layout.order]  # (N, L)
        self.scores[: self.layout.chains.size] += scores.get("start", 0.0)
        self._transitions = scores.get("transitions", np.zeros((n_labels, n_labels)))
        self._into = np.ascontiguousarray(self._transitions.T)
        self.end = scores.get("end", np.zeros(n_labels))
        if self.layout.chains.size == 1 and self._pairwise is None:
            self._through_one()
        else:
            self._through_many()

    def _through_many(self) -> None:
        best, transitions, layout = self.scores, self._transitions, self.layout
        n_labels = len(transitions)
        rows_at_once = min(max(1, CHUNK // transitions.size), layout.chains.size)
        # Reducing the first axis keeps the inner loop on contiguous rows, even with few labels
        summands = np.empty((n_labels, rows_at_once, n_labels))
        reached = np.empty((rows_at_once, n_labels))
        for begin, _, before, before_stop in layout.blocks:
            for source in range(before, before_stop, rows_at_once):
                n_rows = min(rows_at_once, before_stop - source)
                part, out = summands[:, :n_rows], reached[:n_rows]
                target = begin + source - before
                add, take_maximum = _operations(part.size)
                add(best[source : source + n_rows].T[:, :, None], transitions[:, None, :], out=part)
                if self._pairwise is not None:
                    part += self._of_tokens(target, target + n_rows).swapaxes(0, 1)
                take_maximum(part, out=out)
                best[target : target + n_rows] += out

    def _through_one(self) -> None:
        """As `_through_many`, with less Python overhead, which dominates for a single chain."""
        summands = np.empty_like(self._transitions)
        reached = np.empty(len(summands))
        add, take_maximum = _operations(summands.size)
        for before, scores in zip(self.scores[:-1, :, None], self.scores[1:], strict=True):
            add(before, self._transitions, out=summands)
            take_maximum(summands, out=reached)
            scores += reached

    def labels(self) -> np.ndarray:
        """RETURNS (np.ndarray): *Shape:* (N,). The best labels, in the order of the tokens."""
        layout = self.layout
        last = self.scores[layout.last_rows] + self.end
        if layout.chains.size == 1 and self._pairwise is None:  # less Python overhead, as above
            label = last[0].argmax()
            path = [label]
            for scores in self.scores[-2::-1]:
                label = (scores + self._into[label]).argmax()
                path.append(label)
            return np.array(path[::-1])
        found = np.empty(layout.n_tokens, dtype=np.int64)
        found[layout.last_rows] = last.argmax(axis=1)
        for begin, stop, before, before_stop in reversed(layout.blocks):
            ways = self.before(begin, before, found[begin:stop, None])
            found[before:before_stop] = ways[:, 0].argmax(axis=1)
        return found[layout.row_of_token]

    def before(self, begin: int, before: int, labels: np.ndarray) -> np.ndarray:
        """The best scores of paths through labels (n, m) of the tokens in rows from `begin` on,
        excluding these labels' own emissions. Their predecessors are in rows from `before` on.
        *Shape:* (n, m, L), by label of the predecessor."""
        ways = self._into.take(labels, axis=0)  # faster than indexing
        ways += self.scores[before : before + len(labels), None, :]
        if self._pairwise is not None:
            ways += self._of_tokens(begin, begin + len(labels), labels)
        return ways

    def _of_tokens(self, begin: int, stop: int, labels: np.ndarray | None = None) -> np.ndarray:
        """The pairwise scores of rows (n, L, L); given labels, (n, m, L) by previous label."""
        assert self._pairwise is not None
        device = self._pairwise.device
        at = torch.from_numpy(self.layout.order[begin:stop]).to(device)
        if labels is None:
            rows = self._pairwise[at]
        else:
            rows = self._pairwise[at.unsqueeze(1), :, torch.from_numpy(labels).to(device)]
        return rows.cpu().double().numpy()


def _operations(size: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Addition, and the maximum over the first axis, as fast as possible for so many values."""
    return (np.add, _NUMPY_MAXIMUM) if size < MANY else (_add, _take_maximum)


_NUMPY_MAXIMUM = partial(np.maximum.reduce, axis=0)


def _add(one: np.ndarray, other: np.ndarray, *, out: np.ndarray) -> None:
    torch.add(*map(torch.from_numpy, (one, other)), out=torch.from_numpy(out))


def _take_maximum(x: np.ndarray, *, out: np.ndarray) -> None:
    torch.amax(torch.from_numpy(x), 0, out=torch.from_numpy(out))
