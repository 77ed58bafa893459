"""A Triton kernel for the entropies of linear chains, with one program for each chain."""

import triton
import triton.language as tl

from .chain_functions import load_candidate_scores, load_row, shares_of, shares_of_row


@triton.jit
def _mixture_entropy(shares, entropies):
    """Σ q · (H − log q) over the first axis."""
    logs = tl.log(tl.where(shares > 0.0, shares, 1.0))
    return tl.sum(tl.where(shares > 0.0, shares * (entropies - logs), 0.0), axis=0)


@triton.jit
def entropies_kernel(
    transitions,
    pairwise,
    end,
    forward,
    firsts,
    sizes,
    entropies,
    entropy_of_chain,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    """Compute the entropy of a chain's label sequences from its forward messages. Grid: (chains,).

    Hernando et al. (2005); see `inference.entropy`. Writes `entropies` (N, L), the entropies of the
    paths up to each label, and `entropy_of_chain` (chains,).
    """
    chain = tl.program_id(0)
    row = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    labels = tl.arange(0, BLOCK)
    real = labels < n_labels
    kind = forward.dtype.element_ty
    tl.store(entropies + row * n_labels + labels, tl.zeros((BLOCK,), kind), mask=real)
    for _ in range(1, size):
        tl.debug_barrier()
        before = load_row(forward, row, labels, n_labels, kind)
        entropy = tl.load(entropies + row * n_labels + labels, mask=real, other=0.0)
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
                kind,
            )
            mixed = _mixture_entropy(shares_of(ways), entropy[:, None])
            tl.store(entropies + row * n_labels + targets, mixed, mask=targets < n_labels)
    tl.debug_barrier()
    last = load_row(forward, row, labels, n_labels, kind)
    last += load_row(end, 0, labels, n_labels, kind)
    entropy = tl.load(entropies + row * n_labels + labels, mask=real, other=0.0)
    tl.store(entropy_of_chain + chain, _mixture_entropy(shares_of_row(last), entropy))
