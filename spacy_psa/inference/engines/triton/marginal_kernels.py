"""Triton kernels that compute probabilities from messages, for all tokens in parallel."""

import triton
import triton.language as tl

from .functions import load_candidate_scores, load_row, shares_of, shares_of_row


@triton.jit
def marginals_kernel(forward, backward, marginals, n_labels, BLOCK: tl.constexpr):
    """Compute the marginal probabilities of a token. Grid: (tokens,).

    Writes `marginals` (N, L), with zeros if no sequence is possible.
    """
    row = tl.program_id(0).to(tl.int64)
    labels = tl.arange(0, BLOCK)
    kind = forward.dtype.element_ty
    paths = load_row(forward, row, labels, n_labels, kind)
    paths += load_row(backward, row, labels, n_labels, kind)
    at = row * n_labels + labels
    tl.store(marginals + at, shares_of_row(paths), mask=labels < n_labels)


@triton.jit(do_not_specialize=["n_tokens", "per_stretch"])
def pairs_kernel(
    transitions,
    pairwise,
    forward,
    marginals,
    weights,
    left,
    right,
    tokens,
    sums,
    by_token,
    n_tokens,
    per_stretch,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    HAS_SIDES: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    """Compute the probabilities of pairs of adjacent labels, summed over a stretch of tokens. Grid:
    (stretches, tiles of labels).

    p(i, j) is the marginal of label j times the share of the previous label i in j's forward
    message. (The alternative, subtracting log Z from the score of all paths through both, has
    rounding errors, of more than log 2 if scores are huge.) The probabilities of each token are
    multiplied by its weight and, with HAS_SIDES, by left[t - 1, i] + right[t, j]. Writes `sums`
    (stretches, L, L) and, with HAS_PAIRWISE, each token's values `by_token` (N, L, L).
    """
    stretch = tl.program_id(0).to(tl.int64)
    sources = tl.arange(0, BLOCK)
    targets = tl.program_id(1) * TILE + tl.arange(0, TILE)
    kind = forward.dtype.element_ty
    is_source = sources < n_labels
    is_target = targets < n_labels
    inside = is_source[:, None] & is_target[None, :]
    places = sources[:, None] * n_labels + targets[None, :]
    total = tl.zeros((BLOCK, TILE), kind)
    for step in range(stretch * per_stretch, tl.minimum((stretch + 1) * per_stretch, n_tokens)):
        token = tl.load(tokens + step)
        before = load_row(forward, token - 1, sources, n_labels, kind)
        ways = load_candidate_scores(
            before,
            transitions,
            pairwise,
            token,
            sources,
            targets,
            n_labels,
            HAS_PAIRWISE,
            False,
            kind,
        )
        ahead = token * n_labels + targets
        weight = tl.load(marginals + ahead, mask=is_target, other=0.0) * tl.load(weights + token)
        pairs = shares_of(ways) * weight[None, :]
        if HAS_SIDES:
            behind = (token - 1) * n_labels + sources
            one = tl.load(left + behind, mask=is_source, other=0.0)
            other = tl.load(right + ahead, mask=is_target, other=0.0)
            pairs *= one[:, None] + other[None, :]
        if HAS_PAIRWISE:
            tl.store(by_token + token * n_labels * n_labels + places, pairs, mask=inside)
        total += pairs
    tl.store(sums + stretch * n_labels * n_labels + places, total, mask=inside)
