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
from .engines.array_ops import Array, ArrayOps, NumpyOps
from .engines.trellis import Trellis


class KBest(NamedTuple):
    """The k best label sequences of each chain, best first.

    If there are fewer than k, the rest has log_prob -inf and labels -1.

    labels (Tensor): *Shape:* (N, k). The labels of each token in each sequence.
    log_prob (Tensor): *Shape:* (C, k). The log-probability of each sequence.
    """

    labels: Tensor
    log_prob: Tensor


class RankedPaths(NamedTuple):
    """The best paths of the nonempty chains, before normalization."""

    labels: Array  # (N, k), meaningless if the loss is -inf
    peaks: Array  # (counts[0], 1), the best score, from the longest chain to the shortest
    losses: Array  # (counts[0], k), each path's score minus the best score: at most 0


def ranked_paths(trellis: Trellis, k: int) -> RankedPaths:
    """The k best paths. Paths with the same score are ordered by the index of their last label,
    then by the last but one, and so on. The first path is therefore the Viterbi path.

    trellis (Trellis): The trellis of at least one token.
    k (int): The number of paths, at least 1.
    RETURNS (RankedPaths): The paths.
    """
    ops, counts = trellis.ops, trellis.layout.counts
    best, reached = _viterbi(trellis)
    ends = trellis.ends(best) + trellis.end
    n_labels, width = ends.shape[1], max(k, ends.shape[1])
    rows = ops.integers(np.arange(counts[0]))[:, None]
    label_of = ops.integers(np.arange(k * n_labels) % n_labels)
    place_of = ops.integers(np.arange(k * n_labels) // n_labels)
    peaks = ops.peak(ends)
    # How far the best completion falls short of the best path. Summed from the losses of the steps,
    # the best path's loss is exactly 0, and small differences keep all their digits.
    losses = (ends - peaks)[:, label_of[:width]]
    losses[:, n_labels:] = -np.inf
    # Partial paths are kept in tie-breaking order, not sorted by loss. The number of a path is its
    # label at t plus L times the position of its continuation among those kept at t + 1.
    chosen = ops.top(losses, k)
    losses, numbers = losses.take(chosen), chosen - rows * width
    kept = [numbers[: counts[-1]]]
    for t in range(len(counts) - 1, 0, -1):
        n = counts[t]
        labels = label_of.take(numbers[:n])
        longer = trellis.transition_scores.before(best[t - 1][:n], labels, t)
        longer -= reached[t].take(rows[:n] * n_labels + labels)[:, :, None]
        longer += losses[:n, :, None]
        longer = longer.reshape(n, -1)
        chosen = ops.top(longer, k)
        losses = _replace(ops, losses, longer.take(chosen))
        numbers = _replace(ops, numbers, chosen - rows[:n] * longer.shape[1])
        kept.append(numbers[: counts[t - 1]])

    place = ops.ranking(losses)
    ranked = losses.take(rows * k + place)
    paths = []
    for numbers in reversed(kept):
        n = len(numbers)
        paths.append(numbers.take(rows[:n] * k + place[:n]))
        place = place_of.take(paths[-1])
    return RankedPaths(label_of.take(trellis.by_token(paths)), peaks, ranked)


def _replace(ops: ArrayOps, old: Array, new: Array) -> Array:
    """Replace the first rows."""
    return new if len(new) == len(old) else ops.concatenate([new, old[len(new) :]])


def _viterbi(trellis: Trellis) -> tuple[list[Array], list[Array]]:
    """The best score of a path up to each label, with and without the label's own emission."""
    best, reached = [trellis.emissions[0] + trellis.start], [trellis.start]
    for t, emissions in enumerate(trellis.emissions[1:], start=1):
        before = trellis.transition_scores.best(best[-1][: len(emissions)], t)
        best.append(emissions + before)
        reached.append(trellis.ops.finite(before))
    return best, reached


def exact_log_partition(trellis: Trellis, log_partition: Tensor) -> Tensor:
    """log Z in float64: log-probabilities are small differences of large numbers.

    trellis (Trellis): The trellis of the chains.
    log_partition (Tensor): *Shape:* (C,). log Z of each chain, as computed by a backend.
    RETURNS (Tensor): *Shape:* (C,). The same if it is in float64, otherwise the trellis's log Z.
    """
    if log_partition.dtype == torch.float64 or not trellis.layout.n_tokens:
        return log_partition
    if isinstance(trellis.ops, NumpyOps):  # the device does not support float64
        log_partition = log_partition.cpu()
    return trellis.by_chain(trellis.log_partition, torch.zeros_like(log_partition).double())


def k_best(trellis: Trellis, k: int, log_partition: Tensor) -> KBest:
    """The k best label sequences with their log-probabilities.

    trellis (Trellis): The trellis of the chains.
    k (int): The number of sequences, at least 1.
    log_partition (Tensor): *Shape:* (C,). log Z of each chain.
    RETURNS (KBest): The sequences.
    """
    ops, layout, device = trellis.ops, trellis.layout, log_partition.device
    # An empty chain has one label sequence
    log_prob = log_partition.new_full((layout.n_chains, k), -torch.inf)
    log_prob[:, 0] = 0.0
    if not layout.n_tokens:
        return KBest(torch.empty((0, k), dtype=torch.long, device=device), log_prob)
    labels, peaks, losses = ranked_paths(trellis, k)
    log_z = ops.finite(ops.from_tensor(log_partition)[ops.integers(layout.chains)])
    # Rounding must not raise the total probability of the k best above 1
    most = losses - ops.finite(ops.logsumexp(losses))[:, None]
    log_prob = trellis.by_chain((peaks - log_z[:, None] + losses).clip(max=most), log_prob)
    labels = torch.as_tensor(labels).to(device)
    if (losses == -np.inf).any():
        chain_of_token = torch.from_numpy(layout.chain_of_token).to(device)
        labels = labels.masked_fill((log_prob == -torch.inf)[chain_of_token], UNKNOWN)
    return KBest(labels, log_prob)
