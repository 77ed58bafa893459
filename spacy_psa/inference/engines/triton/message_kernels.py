"""Triton kernels that traverse linear chains token by token, with one program for each direction
of a chain.

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
)


@triton.jit
def _pass_messages(
    emissions,
    transitions,
    pairwise,
    begin,
    end,
    messages,
    total_of_chain,
    first,
    size,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    REVERSE: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    labels = tl.arange(0, BLOCK)
    real = labels < n_labels
    kind = messages.dtype.element_ty
    row = first
    if REVERSE:
        row = first + size - 1
    total = tl.full((), 0.0, tl.float64)
    message = load_row(begin, 0, labels, n_labels, kind)
    if not REVERSE:
        own, peak = load_emissions(emissions, row, labels, n_labels, kind)
        message += own
        total += peak.to(tl.float64)
    tl.store(messages + row * n_labels + labels, message, mask=real)
    for _ in range(1, size):
        tl.debug_barrier()  # makes the writes of all threads visible to each
        before = load_row(messages, row, labels, n_labels, kind)
        # Pairwise scores of two tokens are stored at the later one, whose emission is added here
        token = row
        if not REVERSE:
            token = row + 1
        own, peak = load_emissions(emissions, token, labels, n_labels, kind)
        if REVERSE:
            before += own
            row -= 1
        else:
            row += 1
        shift = peak_of(before)
        before -= shift
        total += shift.to(tl.float64) + peak.to(tl.float64)
        for left in range(0, n_labels, TILE):
            targets = left + tl.arange(0, TILE)
            ways = load_candidate_scores(
                before,
                transitions,
                pairwise,
                token,
                labels,
                targets,
                n_labels,
                HAS_PAIRWISE,
                REVERSE,
                kind,
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
        tl.store(total_of_chain, total + shift.to(tl.float64) + rest.to(tl.float64))


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

    Lafferty et al. (2001), section 3. Writes `forward` and `backward` (N, L), and log Z of each
    chain in float64.
    """
    chain = tl.program_id(0)
    first = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    if tl.program_id(1) == 0:
        _pass_messages(
            emissions,
            transitions,
            pairwise,
            start,
            end,
            forward,
            log_z + chain,
            first,
            size,
            n_labels,
            HAS_PAIRWISE,
            False,
            BLOCK,
            TILE,
        )
    else:
        _pass_messages(
            emissions,
            transitions,
            pairwise,
            end,
            start,
            backward,
            log_z + chain,
            first,
            size,
            n_labels,
            HAS_PAIRWISE,
            True,
            BLOCK,
            TILE,
        )


@triton.jit
def _pass_tangents(
    emissions,
    transitions,
    pairwise,
    messages,
    moved,
    tangents,
    first,
    size,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    REVERSE: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    labels = tl.arange(0, BLOCK)
    real = labels < n_labels
    kind = messages.dtype.element_ty
    row = first
    if REVERSE:
        row = first + size - 1
    at_labels = row * n_labels + labels
    tl.store(tangents + at_labels, tl.load(moved + at_labels, mask=real, other=0.0), mask=real)
    for _ in range(1, size):
        tl.debug_barrier()
        before = load_row(messages, row, labels, n_labels, kind)
        tangent = tl.load(tangents + row * n_labels + labels, mask=real, other=0.0)
        token = row
        if REVERSE:
            own, _peak = load_emissions(emissions, row, labels, n_labels, kind)
            before += own
            row -= 1
        else:
            row += 1
            token = row
        for left in range(0, n_labels, TILE):
            targets = left + tl.arange(0, TILE)
            ways = load_candidate_scores(
                before,
                transitions,
                pairwise,
                token,
                labels,
                targets,
                n_labels,
                HAS_PAIRWISE,
                REVERSE,
                kind,
            )
            mean = tl.sum(shares_of(ways) * tangent[:, None], axis=0)
            at = row * n_labels + targets
            inside = targets < n_labels
            mean += tl.load(moved + at, mask=inside, other=0.0)
            tl.store(tangents + at, mean, mask=inside)


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
    if tl.program_id(1) == 0:
        _pass_tangents(
            emissions,
            transitions,
            pairwise,
            forward,
            moved,
            forward_tangents,
            first,
            size,
            n_labels,
            HAS_PAIRWISE,
            False,
            BLOCK,
            TILE,
        )
    else:
        _pass_tangents(
            emissions,
            transitions,
            pairwise,
            backward,
            moved,
            backward_tangents,
            first,
            size,
            n_labels,
            HAS_PAIRWISE,
            True,
            BLOCK,
            TILE,
        )
