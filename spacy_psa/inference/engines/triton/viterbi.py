"""The Viterbi algorithm on a GPU, with one program for each chain.

Scores are added in float64 and in the same order as on the CPU, so that ties are broken in the same
way.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from .chains import Chains, ChainScores, options_of
from .functions import load_candidate_scores, load_row
from .launching import on_device


@triton.jit
def viterbi_kernel(
    emissions,
    transitions,
    pairwise,
    start,
    end,
    firsts,
    sizes,
    best,
    path,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    """Find the best labels of a chain (Viterbi 1967) without backpointers: when tracing back, the
    best predecessor is recomputed for one label per token. Grid: (chains,).

    Writes `best` (N, L), the score of the best path to each label, and `path` (N,).
    """
    chain = tl.program_id(0)
    first = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    labels = tl.arange(0, BLOCK)
    real = labels < n_labels
    scores = load_row(emissions, first, labels, n_labels, tl.float64)
    scores += load_row(start, 0, labels, n_labels, tl.float64)
    tl.store(best + first * n_labels + labels, scores, mask=real)
    row = first
    for _ in range(1, size):
        tl.debug_barrier()  # makes the writes of all threads visible to each
        before = load_row(best, row, labels, n_labels, tl.float64)
        row += 1
        own = pairwise + row * n_labels * n_labels
        for left in range(0, n_labels, TILE):
            targets = left + tl.arange(0, TILE)
            ways = load_candidate_scores(
                before, transitions, own, labels, targets, n_labels, HAS_PAIRWISE, False
            )
            reached = load_row(emissions, row, targets, n_labels, tl.float64)
            reached += tl.max(ways, axis=0)
            tl.store(best + row * n_labels + targets, reached, mask=targets < n_labels)
    tl.debug_barrier()
    scores = load_row(best, row, labels, n_labels, tl.float64)
    scores += load_row(end, 0, labels, n_labels, tl.float64)
    # With NaN, the index could be out of range
    label = tl.minimum(tl.argmax(scores, axis=0), n_labels - 1)
    tl.store(path + row, label)
    for _ in range(1, size):
        own = pairwise + row * n_labels * n_labels
        row -= 1
        places = labels * n_labels + label
        ways = load_row(best, row, labels, n_labels, tl.float64)
        ways += tl.load(transitions + places, mask=real, other=0.0).to(tl.float64)
        if HAS_PAIRWISE:
            ways += tl.load(own + places, mask=real, other=0.0).to(tl.float64)
        label = tl.minimum(tl.argmax(ways, axis=0), n_labels - 1)
        tl.store(path + row, label)


def best_paths(scores: ChainScores, chains: Chains) -> tuple[Tensor, Tensor]:
    """Find the best label sequences: the labels (N,), int64, and the score of the best path to each
    label of each token (N, L), float64."""
    emissions = scores.emissions
    n_labels = emissions.shape[1]
    best = torch.empty_like(emissions, dtype=torch.float64)
    path = emissions.new_empty(len(emissions), dtype=torch.long)
    with on_device(emissions):
        viterbi_kernel[(len(chains.sizes),)](
            emissions,
            scores.transitions,
            emissions if scores.pairwise is None else scores.pairwise,
            scores.start,
            scores.end,
            chains.firsts,
            chains.sizes,
            best,
            path,
            n_labels,
            **options_of(scores),
        )
    return path, best
