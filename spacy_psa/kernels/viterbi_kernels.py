"""A Triton kernel for the best label sequences of linear chains: one launch for a batch."""

import triton
import triton.language as tl


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
    """The best labels of one chain (Viterbi 1967), without backpointers: on the way back, the best
    predecessor is found again for one label a token. Grid: (chains,).

    Scores are added up in float64, and in the order of the other ways, so that all break ties
    alike. Writes `best` (N, L), the score of the best way to each label, and `path` (N,).
    """
    chain = tl.program_id(0)
    first = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    labels = tl.arange(0, BLOCK)
    real = labels < n_labels
    at = first * n_labels + labels
    scores = tl.load(emissions + at, mask=real, other=float("-inf")).to(tl.float64)
    scores += tl.load(start + labels, mask=real, other=0.0).to(tl.float64)
    tl.store(best + at, scores, mask=real)
    row = first
    for _ in range(1, size):
        tl.debug_barrier()  # what all threads have written is there for each
        before = tl.load(best + row * n_labels + labels, mask=real, other=float("-inf"))
        row += 1
        own = pairwise + row * n_labels * n_labels
        for begin in range(0, n_labels, TILE):
            targets = begin + tl.arange(0, TILE)
            is_target = targets < n_labels
            inside = real[:, None] & is_target[None, :]
            places = labels[:, None] * n_labels + targets[None, :]
            ways = tl.load(transitions + places, mask=inside, other=0.0).to(tl.float64)
            ways += before[:, None]
            if HAS_PAIRWISE:
                ways += tl.load(own + places, mask=inside, other=0.0).to(tl.float64)
            here = row * n_labels + targets
            reached = tl.load(emissions + here, mask=is_target, other=0.0).to(tl.float64)
            tl.store(best + here, reached + tl.max(ways, axis=0), mask=is_target)
    tl.debug_barrier()
    scores = tl.load(best + row * n_labels + labels, mask=real, other=float("-inf"))
    scores += tl.load(end + labels, mask=real, other=0.0).to(tl.float64)
    # NaN must not lead out of the labels
    label = tl.minimum(tl.argmax(scores, axis=0), n_labels - 1)
    tl.store(path + row, label)
    for _ in range(1, size):
        own = pairwise + row * n_labels * n_labels
        row -= 1
        places = labels * n_labels + label
        ways = tl.load(best + row * n_labels + labels, mask=real, other=float("-inf"))
        ways += tl.load(transitions + places, mask=real, other=0.0).to(tl.float64)
        if HAS_PAIRWISE:
            ways += tl.load(own + places, mask=real, other=0.0).to(tl.float64)
        label = tl.minimum(tl.argmax(ways, axis=0), n_labels - 1)
        tl.store(path + row, label)
