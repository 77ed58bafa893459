"""Triton kernels for sums over label sequences: messages along a chain, with one program for each
direction, and probabilities from messages, for all tokens in parallel.

All computation is in the log domain, in the type of the buffers: float32 or float64. After a
barrier, a program reads what it has written to global memory: what a label needs of all others does
not fit into the registers of a thread.

A message has a number for each label of a token. In the forward message, it is the log-sum over all
paths that end in this label, including its emission; in the backward message, over all paths that
continue from it, excluding its emission. Messages are relative to the maximum of the previous
message and emissions relative to the maximum of their token, so numbers stay small regardless of
the chain's length and of anything that all labels of a token have in common.
"""

import triton
import triton.language as tl

from .functions import (
    load_candidate_scores,
    load_emissions,
    load_row,
    log_sums,
    peak_of,
    shares_of,
    shares_of_row,
)


@triton.jit
def messages_kernel(
    emissions,
    transitions,
    pairwise,
    start,
    end,
    firsts,
    sizes,
    forward,
    backward,
    log_z,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    """Compute the messages of a chain in one direction. Grid: (chains, 1), or (chains, 2) for both.

    Writes `forward` and `backward` (N, L), and log Z of each chain in float64. For a chain of n
    tokens (Lafferty et al. 2001, section 3, relative to maxima):

        forward_1(j)      = start(j) + e_1(j)
        forward_t(j)      = e_t(j) + log Σ_i exp(forward_{t−1}(i) − f_{t−1} + ψ_t(i, j))
        backward_n(i)     = end(i)
        backward_{t−1}(i) = log Σ_j exp(ψ_t(i, j) + e_t(j) + backward_t(j) − b_t)
        log Z             = log Σ_j exp(forward_n(j) + end(j)) + Σ_{t<n} f_t + Σ_t x_t

    with ψ_t = transitions + pairwise_t (L, L), e_t = emissions_t − x_t (L,), and the maxima
    x_t = max_j emissions_t(j), f_t = max_i forward_t(i), and b_t = max_j (e_t(j) + backward_t(j)).
    Each step sums over all labels (BLOCK,) of one token, for TILE labels of the next at a time.
    """
    chain = tl.program_id(0)
    first = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    labels = tl.arange(0, BLOCK)
    real = labels < n_labels
    kind = forward.dtype.element_ty
    for REVERSE in tl.static_range(2):
        if tl.program_id(1) == REVERSE:
            messages = backward if REVERSE else forward
            row = first + size - 1 if REVERSE else first
            total = tl.full((), 0.0, tl.float64)
            message = load_row(end if REVERSE else start, 0, labels, n_labels, kind)
            if not REVERSE:
                own, peak = load_emissions(emissions, row, labels, n_labels, kind)
                message += own
                total += peak.to(tl.float64)
            tl.store(messages + row * n_labels + labels, message, mask=real)
            for _ in range(1, size):
                tl.debug_barrier()  # makes the writes of all threads visible to each
                before = load_row(messages, row, labels, n_labels, kind)
                # Pairwise scores of two tokens are stored at the later one, whose emission is added
                token = row if REVERSE else row + 1
                row = row - 1 if REVERSE else row + 1
                own, peak = load_emissions(emissions, token, labels, n_labels, kind)
                if REVERSE:
                    before += own
                shift = peak_of(before)
                before -= shift
                total += shift.to(tl.float64) + peak.to(tl.float64)
                pairs = pairwise + token * n_labels * n_labels
                for left in range(0, n_labels, TILE):
                    targets = left + tl.arange(0, TILE)
                    ways = load_candidate_scores(
                        before, transitions, pairs, labels, targets, n_labels, HAS_PAIRWISE, REVERSE
                    )
                    reached = log_sums(ways)
                    if not REVERSE:
                        reached += load_row(emissions, row, targets, n_labels, kind) - peak
                    tl.store(messages + row * n_labels + targets, reached, mask=targets < n_labels)
            if not REVERSE:
                tl.debug_barrier()
                last = load_row(messages, row, labels, n_labels, kind)
                last += load_row(end, 0, labels, n_labels, kind)
                shift = peak_of(last)
                rest = tl.log(tl.sum(tl.exp(last - shift), axis=0))
                tl.store(log_z + chain, total + shift.to(tl.float64) + rest.to(tl.float64))


@triton.jit
def tangents_kernel(
    emissions,
    transitions,
    pairwise,
    forward,
    backward,
    moved,
    firsts,
    sizes,
    forward_tangents,
    backward_tangents,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    """Compute the tangents of a chain's messages, given the tangents of its emissions. Grid:
    (chains, 2).

    Since a message is a log-sum, its tangent is the mean of the tangents before it, weighted by
    their shares in the sum. The tangent of the token's own emission is added in both directions.
    """
    chain = tl.program_id(0)
    first = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    labels = tl.arange(0, BLOCK)
    real = labels < n_labels
    kind = forward.dtype.element_ty
    for REVERSE in tl.static_range(2):
        if tl.program_id(1) == REVERSE:
            messages = backward if REVERSE else forward
            tangents = backward_tangents if REVERSE else forward_tangents
            row = first + size - 1 if REVERSE else first
            at_labels = row * n_labels + labels
            own_move = tl.load(moved + at_labels, mask=real, other=0.0)
            tl.store(tangents + at_labels, own_move, mask=real)
            for _ in range(1, size):
                tl.debug_barrier()
                before = load_row(messages, row, labels, n_labels, kind)
                tangent = tl.load(tangents + row * n_labels + labels, mask=real, other=0.0)
                token = row if REVERSE else row + 1
                if REVERSE:
                    own, _peak = load_emissions(emissions, row, labels, n_labels, kind)
                    before += own
                row = row - 1 if REVERSE else row + 1
                pairs = pairwise + token * n_labels * n_labels
                for left in range(0, n_labels, TILE):
                    targets = left + tl.arange(0, TILE)
                    ways = load_candidate_scores(
                        before, transitions, pairs, labels, targets, n_labels, HAS_PAIRWISE, REVERSE
                    )
                    mean = tl.sum(shares_of(ways) * tangent[:, None], axis=0)
                    at = row * n_labels + targets
                    inside = targets < n_labels
                    mean += tl.load(moved + at, mask=inside, other=0.0)
                    tl.store(tangents + at, mean, mask=inside)


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
        own = pairwise + token * n_labels * n_labels
        ways = load_candidate_scores(
            before, transitions, own, sources, targets, n_labels, HAS_PAIRWISE, False
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
