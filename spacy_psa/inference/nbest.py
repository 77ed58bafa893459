"""The k best label sequences of each chain.

The forward pass is that of the Viterbi algorithm: it computes the best score of a path to each
label. The backward pass, from the end of the chain, keeps the k partial sequences that can be
completed to the best whole sequences. The forward pass gives the exact score of each completion, so
unlike ordinary beam search, this never drops one of the k best sequences. Only the backward pass
takes longer than for one sequence: O(nkL), compared with O(nL²) for the forward pass.

This is the idea of Soong and Huang (1991, "A tree-trellis based fast search for finding the N best
sentence hypotheses in continuous speech recognition"), but with all chains processed in lockstep
instead of a stack of hypotheses.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .chain_scores import UNKNOWN
from .engines.max_product import BestPaths
from .potentials import Potentials

LOWEST = float(np.finfo(np.float64).min)


class KBest(NamedTuple):
    """The k best label sequences of each chain, best first.

    If there are fewer than k, the rest has log_prob -inf and labels -1.

    labels (Tensor): *Shape:* (N, k). The labels of each token in each sequence.
    log_prob (Tensor): *Shape:* (C, k). The log-probability of each sequence.
    """

    labels: Tensor
    log_prob: Tensor


def k_best(potentials: Potentials, k: int, log_partition: Tensor) -> KBest:
    """The k best label sequences of chains on the CPU, given log Z (C,) in float64:
    log-probabilities are small differences of large numbers."""
    # An empty chain has one label sequence
    log_prob = np.full((len(potentials.lengths), k), -np.inf)
    log_prob[:, 0] = 0.0
    if not potentials.n_tokens:
        return KBest(torch.empty((0, k), dtype=torch.long), torch.from_numpy(log_prob))
    paths = BestPaths(potentials)
    layout = paths.layout
    labels, peaks, losses = ranked_paths(paths, k)
    log_z = np.maximum(log_partition.numpy()[layout.chains], LOWEST)[:, None]
    # Rounding must not raise the total probability of the k best above 1. The largest loss is 0
    total = np.log(np.maximum(np.exp(losses).sum(axis=1, keepdims=True), 1.0))
    log_prob[layout.chains] = np.minimum(peaks - log_z + losses, losses - total)
    labels[(log_prob == -np.inf)[layout.chain_of_token]] = UNKNOWN
    return KBest(torch.from_numpy(labels), torch.from_numpy(log_prob))


def ranked_paths(paths: BestPaths, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k best paths. Paths with the same score are ordered by the index of their last label,
    then by the last but one, and so on. The first path is therefore the Viterbi path. Returned are
    the labels (N, k), meaningless if the loss is -inf; and of the nonempty chains, from the longest
    to the shortest, the best score (n, 1) and each path's score minus the best score (n, k)."""
    layout = paths.layout
    counts = layout.counts
    ends = paths.scores[layout.last_rows] + paths.end
    n_labels, rows = ends.shape[1], np.arange(counts[0])[:, None]
    peaks = np.maximum(ends.max(axis=1, keepdims=True), LOWEST)
    # How far the best completion falls short of the best path. Summed from the losses of the steps,
    # the best path's loss is exactly 0, and small differences keep all their digits.
    losses = np.full((counts[0], max(k, n_labels)), -np.inf)
    losses[:, :n_labels] = ends - peaks
    # Partial paths are kept in tie-breaking order, not sorted by loss. The number of a path is its
    # label at t plus L times the position of its continuation among those kept at t + 1.
    numbers = top(losses, k)
    losses = losses[rows, numbers]
    kept = [numbers[: counts[-1]]]
    for t in range(len(counts) - 1, 0, -1):
        n, (begin, _, before, _) = counts[t], layout.blocks[t - 1]
        longer = paths.before(begin, before, numbers[:n] % n_labels)
        longer -= np.maximum(longer.max(axis=2, keepdims=True), LOWEST)
        longer += losses[:n, :, None]
        longer = longer.reshape(n, -1)
        chosen = top(longer, k)
        losses = np.concatenate([longer[rows[:n], chosen], losses[n:]])
        numbers = np.concatenate([chosen, numbers[n:]])
        kept.append(numbers[: counts[t - 1]])

    place = (-losses).argsort(axis=1, kind="stable")
    ranked = losses[rows, place]
    found = []
    for numbers in reversed(kept):
        n = len(numbers)
        chosen = numbers[rows[:n], place[:n]]
        found.append(chosen % n_labels)
        place = chosen // n_labels
    return np.concatenate(found)[layout.row_of_token], peaks, ranked


def top(values: np.ndarray, k: int) -> np.ndarray:
    """The columns of the k largest values of each row, in ascending order. Ties go to the values
    further left; what is not a number counts as largest."""
    n_rows, width = values.shape
    largest = np.partition(values, width - k, axis=1)[:, width - k :]
    if np.isnan(largest).any():
        best = np.where(np.isnan(values), -np.inf, -values).argsort(axis=1, kind="stable")[:, :k]
        return np.sort(best, axis=1)
    smallest = largest[:, :1]
    chosen = values >= smallest
    if np.count_nonzero(chosen) > n_rows * k:  # too many: there are ties with the smallest
        larger, equal = values > smallest, values == smallest
        room = k - larger.sum(axis=1, keepdims=True)
        chosen = larger | (equal & (equal.cumsum(axis=1) <= room))
    return np.flatnonzero(chosen).reshape(n_rows, k) % width
