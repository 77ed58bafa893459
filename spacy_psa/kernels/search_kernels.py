"""Triton kernels for the best label sequences of linear chains, with one program for each chain.

Scores are added in float64 and in the same order as on the CPU, so that ties are broken in the same
way.
"""

import triton
import triton.language as tl

from .chain_functions import load_candidate_scores, load_row, peak_of

# The lowest finite number stands for impossible candidates; -inf for those not to be considered
LOWEST: tl.constexpr = tl.constexpr(-1.7976931348623157e308)


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
        for left in range(0, n_labels, TILE):
            targets = left + tl.arange(0, TILE)
            ways = load_candidate_scores(
                before,
                transitions,
                pairwise,
                row,
                labels,
                targets,
                n_labels,
                HAS_PAIRWISE,
                False,
                tl.float64,
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


@triton.jit
def _keep_best(
    scores,
    allowed,
    numbers,
    kept,
    losses,
    row,
    k,
    n_labels,
    PLACES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the k largest of (PLACES, BLOCK) scores and their numbers, in the order of the numbers.
    Among equal scores, those with lower numbers win.
    """
    # Not tl.maximum, which returns NaN for NaN in some releases of the interpreter
    rest = tl.where(allowed, tl.where(scores > LOWEST, scores, LOWEST), float("-inf"))
    taken = numbers < -1  # false for all
    for _ in range(k):
        largest = tl.max(tl.max(rest, axis=1), axis=0)
        number = tl.min(tl.min(tl.where(rest == largest, numbers, 1 << 30), axis=1), axis=0)
        taken = taken | (numbers == number)
        rest = tl.where(numbers == number, float("-inf"), rest)
    # How many have been taken before each, in its own row and in those above
    counts = taken.to(tl.int32)
    in_row = tl.sum(counts, axis=1)
    above = tl.cumsum(in_row, axis=0) - in_row
    place = above[:, None] + tl.cumsum(counts, axis=1) - 1
    inside = taken & (place < k)
    tl.store(kept + row * k + place, numbers, mask=inside)
    tl.store(losses + row * k + place, scores, mask=inside)


@triton.jit(do_not_specialize=["k"])
def k_best_kernel(
    transitions,
    pairwise,
    end,
    best,
    firsts,
    sizes,
    kept,
    losses,
    order,
    paths,
    peaks,
    ranked,
    k,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    PLACES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Find the k best paths of a chain, from its end to its beginning; see `inference.nbest`. Grid:
    (chains,).

    Reads `best` from `viterbi_kernel`. Writes intermediate results: for each token the partial
    paths that are kept, `kept` (N, k), as label + L · (place of the continuation), and their
    differences from the best score, `losses` (N, k); and an `order` (chains, k). The results are
    `paths` (N, k), the best score `peaks` (chains,), and the differences of the paths from it,
    `ranked` (chains, k).
    """
    chain = tl.program_id(0)
    first = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    labels = tl.arange(0, BLOCK)
    places = tl.arange(0, PLACES)
    real = labels < n_labels
    is_kept = places < k
    numbers = tl.where(real[None, :], places[:, None] * n_labels + labels[None, :], -1)
    row = first + size - 1
    ends = load_row(best, row, labels, n_labels, tl.float64)
    ends += load_row(end, 0, labels, n_labels, tl.float64)
    peak = peak_of(ends)
    tl.store(peaks + chain, peak)
    # Places beyond the first are empty; they are used if there are fewer labels than k
    scores = tl.where((places == 0)[:, None], (ends - peak)[None, :], float("-inf"))
    allowed = real[None, :] & (numbers < tl.maximum(k, n_labels))
    _keep_best(scores, allowed, numbers, kept, losses, row, k, n_labels, PLACES, BLOCK)
    for _ in range(1, size):
        tl.debug_barrier()  # makes the writes of all threads visible to each
        number = tl.load(kept + row * k + places, mask=is_kept, other=0)
        loss = tl.load(losses + row * k + places, mask=is_kept, other=float("-inf"))
        inside = is_kept[:, None] & real[None, :]
        at = labels[None, :] * n_labels + (number % n_labels)[:, None]
        before = load_row(best, row - 1, labels, n_labels, tl.float64)
        scores = tl.load(transitions + at, mask=inside, other=0.0).to(tl.float64) + before[None, :]
        if HAS_PAIRWISE:
            own = pairwise + row * n_labels * n_labels
            scores += tl.load(own + at, mask=inside, other=0.0).to(tl.float64)
        # The loss of this step: zero for the best predecessor of each label
        scores -= tl.maximum(tl.max(scores, axis=1), LOWEST)[:, None]
        scores += loss[:, None]
        row -= 1
        _keep_best(scores, inside, numbers, kept, losses, row, k, n_labels, PLACES, BLOCK)
    tl.debug_barrier()
    loss = tl.load(losses + row * k + places, mask=is_kept, other=float("-inf"))
    earlier = (loss[None, :] == loss[:, None]) & (places[None, :] < places[:, None])
    ahead = ((loss[None, :] > loss[:, None]) | earlier) & is_kept[None, :]
    rank = tl.sum(ahead.to(tl.int32), axis=1)
    tl.store(order + chain * k + rank, places, mask=is_kept)
    tl.store(ranked + chain * k + rank, loss, mask=is_kept)
    tl.debug_barrier()
    place = tl.load(order + chain * k + places, mask=is_kept, other=0)
    for _ in range(0, size):
        number = tl.load(kept + row * k + place, mask=is_kept, other=0)
        tl.store(paths + row * k + places, (number % n_labels).to(tl.int64), mask=is_kept)
        place = number // n_labels
        row += 1
