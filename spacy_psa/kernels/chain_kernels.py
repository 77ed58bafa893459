"""Triton kernels for sums over the label sequences of linear chains: one launch for a batch.

Everything is in the log domain, in the type of the buffers: float32, or float64 where the emissions
are. Programs read from global memory what they themselves have written there, after a barrier: what
a label needs of all others does not fit into the registers of one thread.

A *message* of a token has a number for each label: the log of the sum over all paths that come from
one side and end in this label, the token's emission included. It is relative to the maximum of the
message before it (`shift`), such that it stays small however long the chain is.
"""

import triton
import triton.language as tl


@triton.jit
def _log_sums(scores):
    """log Σ exp over the first axis: -inf where there is nothing but -inf."""
    peaks = tl.max(scores, axis=0)
    peaks = tl.where(peaks == float("-inf"), 0.0, peaks)
    return peaks + tl.log(tl.sum(tl.exp(scores - peaks[None, :]), axis=0))


@triton.jit
def _shares(scores):
    """Softmax over the first axis: zeros where there is nothing but -inf."""
    peaks = tl.max(scores, axis=0)
    peaks = tl.where(peaks == float("-inf"), 0.0, peaks)
    shares = tl.exp(scores - peaks[None, :])
    total = tl.sum(shares, axis=0)
    return shares / tl.where(total == 0.0, 1.0, total)[None, :]


@triton.jit
def _peak(values):
    """The maximum, or 0 where there is nothing but -inf: what to subtract before exp."""
    peak = tl.max(values, axis=0)
    return tl.where(peak == float("-inf"), 0.0, peak)


@triton.jit
def _moves(
    transitions,
    pairwise,
    token,
    sources,
    targets,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    REVERSE: tl.constexpr,
    TYPE: tl.constexpr,
):
    """Scores of moving between labels of `token` and of the token before it: (sources, targets).

    Targets are labels of `token`; in reverse, of the one before it.
    """
    if REVERSE:
        places = targets[None, :] * n_labels + sources[:, None]
    else:
        places = sources[:, None] * n_labels + targets[None, :]
    inside = (sources < n_labels)[:, None] & (targets < n_labels)[None, :]
    scores = tl.load(transitions + places, mask=inside, other=float("-inf")).to(TYPE)
    if HAS_PAIRWISE:
        own = pairwise + token * n_labels * n_labels
        scores += tl.load(own + places, mask=inside, other=0.0).to(TYPE)
    return scores


@triton.jit
def _pass_messages(
    emissions,
    transitions,
    pairwise,
    near,
    far,
    messages,
    totals,
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
    message = tl.load(emissions + row * n_labels + labels, mask=real, other=float("-inf")).to(kind)
    message += tl.load(near + labels, mask=real, other=0.0).to(kind)
    tl.store(messages + row * n_labels + labels, message, mask=real)
    shift = _peak(message)
    total = shift.to(tl.float64)
    for _ in range(1, size):
        tl.debug_barrier()  # what all threads have written is there for each
        before = tl.load(messages + row * n_labels + labels, mask=real, other=float("-inf"))
        token = row  # the moves between two tokens stand at the later one
        if REVERSE:
            row -= 1
        else:
            row += 1
            token = row
        highest = tl.full((TILE,), float("-inf"), kind)
        for begin in range(0, n_labels, TILE):
            targets = begin + tl.arange(0, TILE)
            moves = _moves(
                transitions, pairwise, token, labels, targets, n_labels, HAS_PAIRWISE, REVERSE, kind
            )
            at = row * n_labels + targets
            inside = targets < n_labels
            reached = _log_sums((before - shift)[:, None] + moves)
            reached += tl.load(emissions + at, mask=inside, other=float("-inf")).to(kind)
            tl.store(messages + at, reached, mask=inside)
            highest = tl.maximum(highest, reached)
        shift = _peak(highest)
        total += shift.to(tl.float64)
    if not REVERSE:
        tl.debug_barrier()
        last = tl.load(messages + row * n_labels + labels, mask=real, other=float("-inf")) - shift
        last += tl.load(far + labels, mask=real, other=0.0).to(kind)
        peak = _peak(last)
        rest = peak + tl.log(tl.sum(tl.exp(last - peak), axis=0))
        tl.store(totals, total + rest.to(tl.float64))


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
    """The messages of one chain, from one side. Grid: (chains, 1), or (chains, 2) for both sides.

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
def marginals_kernel(emissions, forward, backward, marginals, n_labels, BLOCK: tl.constexpr):
    """The marginal probabilities of one token. Grid: (tokens,).

    Writes `marginals` (N, L), zeros where nothing is possible.
    """
    row = tl.program_id(0).to(tl.int64)
    labels = tl.arange(0, BLOCK)
    real = labels < n_labels
    at = row * n_labels + labels
    before = tl.load(forward + at, mask=real, other=float("-inf"))
    after = tl.load(backward + at, mask=real, other=float("-inf"))
    own = tl.load(emissions + at, mask=real, other=0.0).to(before.dtype)
    possible = (before != float("-inf")) & (after != float("-inf"))
    # Both have the emission, of which -inf would leave NaN
    paths = tl.where(possible, before + after - own, float("-inf"))
    shares = tl.exp(paths - _peak(paths))
    total = tl.sum(shares, axis=0)
    tl.store(marginals + at, shares / tl.where(total == 0.0, 1.0, total), mask=real)


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
    """Probabilities of pairs of neighbouring labels, added up over a stretch of tokens. Grid:
    (tiles of labels, stretches).

    p(i, j) is the probability of label j, times the share that label i before has in its forward
    message. (The other way would be to subtract log Z from what leads through both, which is
    rounded, by more than log 2 if scores are huge.) Each token's are multiplied by its weight and,
    with HAS_SIDES, by left[t - 1, i] + right[t, j]. Writes `sums` (stretches, L, L) and, with
    HAS_PAIRWISE, those of each token (N, L, L).
    """
    sources = tl.arange(0, BLOCK)
    targets = tl.program_id(0) * TILE + tl.arange(0, TILE)
    stretch = tl.program_id(1).to(tl.int64)
    kind = forward.dtype.element_ty
    is_source = sources < n_labels
    is_target = targets < n_labels
    inside = is_source[:, None] & is_target[None, :]
    places = sources[:, None] * n_labels + targets[None, :]
    total = tl.zeros((BLOCK, TILE), kind)
    for step in range(stretch * per_stretch, tl.minimum((stretch + 1) * per_stretch, n_tokens)):
        token = tl.load(tokens + step)
        moves = _moves(
            transitions, pairwise, token, sources, targets, n_labels, HAS_PAIRWISE, False, kind
        )
        behind = (token - 1) * n_labels + sources
        ahead = token * n_labels + targets
        before = tl.load(forward + behind, mask=is_source, other=float("-inf"))
        probability = tl.load(marginals + ahead, mask=is_target, other=0.0)
        pairs = _shares(before[:, None] + moves) * (probability * tl.load(weights + token))[None, :]
        if HAS_SIDES:
            one = tl.load(left + behind, mask=is_source, other=0.0)
            other = tl.load(right + ahead, mask=is_target, other=0.0)
            pairs *= one[:, None] + other[None, :]
        if HAS_PAIRWISE:
            tl.store(by_token + token * n_labels * n_labels + places, pairs, mask=inside)
        total += pairs
    tl.store(sums + stretch * n_labels * n_labels + places, total, mask=inside)


@triton.jit
def _pass_tangents(
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
        at_labels = row * n_labels + labels
        before = tl.load(messages + at_labels, mask=real, other=float("-inf"))
        tangent = tl.load(tangents + at_labels, mask=real, other=0.0)
        token = row
        if REVERSE:
            row -= 1
        else:
            row += 1
            token = row
        for begin in range(0, n_labels, TILE):
            targets = begin + tl.arange(0, TILE)
            moves = _moves(
                transitions, pairwise, token, labels, targets, n_labels, HAS_PAIRWISE, REVERSE, kind
            )
            mean = tl.sum(_shares(before[:, None] + moves) * tangent[:, None], axis=0)
            at = row * n_labels + targets
            inside = targets < n_labels
            mean += tl.load(moved + at, mask=inside, other=0.0)
            tl.store(tangents + at, mean, mask=inside)


@triton.jit
def tangents_kernel(
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
    """How the messages of one chain change when its emissions move. Grid: (chains, 2).

    A message is a logarithm: its tangent is the mean of those before it, weighted by their shares
    in the sum, and the move of its own emission.
    """
    chain = tl.program_id(0)
    first = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    if tl.program_id(1) == 0:
        _pass_tangents(
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
