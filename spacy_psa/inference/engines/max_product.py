"""Viterbi decoding without backpointers.

The forward pass stores only the best score of each label at each token. The backward pass
recomputes the best predecessor, for one label per token instead of L (Viterbi 1967).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..layout import TimeMajor, time_major
from ..potentials import Potentials
from .triton.backend import can_be_fused, for_kernels

# The summands of one step, (rows, L, L), are processed in chunks that fit in the last-level cache
CHUNK = 1 << 19
# From this many values on, PyTorch adds and compares faster than NumPy, even with one thread
MANY = 1 << 13


def best_labels(potentials: Potentials) -> Tensor:
    """The best label sequence of each chain. Ties go to the lower label index, from the end of the
    chain to its beginning. Scores are summed in float64.

    potentials (Potentials): The scores.
    RETURNS (Tensor): *Shape:* (N,). int64, on the device of the potentials.
    """
    if potentials.is_independent:
        return potentials.emissions.argmax(dim=1)
    on_gpu = potentials.device.type == "cuda" and can_be_fused(potentials)
    return viterbi_fused(potentials) if on_gpu else viterbi_numpy(potentials)


def viterbi_numpy(potentials: Potentials) -> Tensor:
    """The Viterbi algorithm on the CPU.

    potentials (Potentials): The scores.
    RETURNS (Tensor): *Shape:* (N,)
    """
    layout, n_labels = time_major(potentials.lengths), potentials.n_labels
    tensors = potentials.tensors()
    pairwise = tensors.pop("pairwise", None)
    scores = {name: t.detach().cpu().double().numpy() for name, t in tensors.items()}
    best = scores["emissions"][layout.order]
    n_first = layout.chains.size
    best[:n_first] += scores.get("start", 0.0)
    transitions = np.zeros((n_labels, n_labels))
    transitions += scores.get("transitions", 0.0)
    end = scores.get("end", 0.0)
    if n_first == 1 and pairwise is None:
        path = _through_one(best, transitions, end)
    else:
        path = _through_many(best, transitions, pairwise, end, layout)
    labels = torch.from_numpy(path[layout.row_of_token])
    return labels.to(potentials.device)


def _through_many(
    best: np.ndarray,
    transitions: np.ndarray,
    pairwise: Tensor | None,
    end: np.ndarray | float,
    layout: TimeMajor,
) -> np.ndarray:
    """The best labels, in the order of the layout. `best` holds the emissions; the score of the
    best path to each label is added in place."""
    n_labels, n_first = len(transitions), layout.chains.size
    rows_at_once = min(max(1, CHUNK // transitions.size), n_first)
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
            if pairwise is not None:
                part += _of_tokens(pairwise, layout.order[target : target + n_rows]).swapaxes(0, 1)
            take_maximum(part, out=out)
            best[target : target + n_rows] += out

    last = best[layout.last_rows] + end
    path = np.empty(layout.n_tokens, dtype=np.int64)
    path[layout.last_rows] = last.argmax(axis=1)
    into = np.ascontiguousarray(transitions.T)
    for begin, stop, before, before_stop in reversed(layout.blocks):
        candidates = best[before:before_stop] + into[path[begin:stop]]
        if pairwise is not None:
            candidates += _of_tokens(pairwise, layout.order[begin:stop], path[begin:stop])
        path[before:before_stop] = candidates.argmax(axis=1)
    return path


def _through_one(best: np.ndarray, transitions: np.ndarray, end: np.ndarray | float) -> np.ndarray:
    """As `_through_many`, with less Python overhead, which dominates for a single chain."""
    summands, reached = np.empty_like(transitions), np.empty(len(transitions))
    add, take_maximum = _operations(summands.size)
    for before, scores in zip(best[:-1, :, None], best[1:], strict=True):
        add(before, transitions, out=summands)
        take_maximum(summands, out=reached)
        scores += reached

    label = (best[-1] + end).argmax()
    path, into = [label], np.ascontiguousarray(transitions.T)
    for scores in best[-2::-1]:
        label = (scores + into[label]).argmax()
        path.append(label)
    return np.array(path[::-1])


def _operations(size: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Addition, and the maximum over the first axis, as fast as possible for so many values."""
    return (np.add, _NUMPY_MAXIMUM) if size < MANY else (_add, _take_maximum)


_NUMPY_MAXIMUM = partial(np.maximum.reduce, axis=0)


def _add(one: np.ndarray, other: np.ndarray, *, out: np.ndarray) -> None:
    torch.add(*map(torch.from_numpy, (one, other)), out=torch.from_numpy(out))


def _take_maximum(x: np.ndarray, *, out: np.ndarray) -> None:
    torch.amax(torch.from_numpy(x), 0, out=torch.from_numpy(out))


def viterbi_fused(potentials: Potentials) -> Tensor:
    """The Viterbi algorithm in one GPU kernel.

    potentials (Potentials): The scores; `can_be_fused` must be true of them.
    RETURNS (Tensor): *Shape:* (N,)
    """
    from .triton.viterbi import best_paths

    return best_paths(*for_kernels(potentials.fields(), potentials.lengths))[0]


def _of_tokens(
    pairwise: Tensor, tokens: np.ndarray, labels: np.ndarray | None = None
) -> np.ndarray:
    """The pairwise scores (n, L, L) of tokens; given their labels, (n, L) by previous label."""
    at = torch.from_numpy(tokens).to(pairwise.device)
    if labels is None:
        rows = pairwise[at]
    else:
        rows = pairwise[at, :, torch.from_numpy(labels).to(pairwise.device)]
    return rows.cpu().double().numpy()
