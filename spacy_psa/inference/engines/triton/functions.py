"""Device functions shared by the kernels for chains, inlined into each of them."""

import triton
import triton.language as tl


@triton.jit
def peak_of(values):
    """The maximum, or 0 if all values are -inf: the number to subtract before exp."""
    peak = tl.max(values, axis=0)
    return tl.where(peak == float("-inf"), 0.0, peak)


@triton.jit
def log_sums(scores):
    """log Σ exp over the first axis; -inf if all scores are -inf."""
    peaks = peak_of(scores)
    return peaks + tl.log(tl.sum(tl.exp(scores - peaks[None, :]), axis=0))


@triton.jit
def shares_of(scores):
    """Softmax over the first axis; zeros if all scores are -inf."""
    shares = tl.exp(scores - peak_of(scores)[None, :])
    total = tl.sum(shares, axis=0)
    return shares / tl.where(total == 0.0, 1.0, total)[None, :]


@triton.jit
def shares_of_row(scores):
    """Softmax of a vector; zeros if all scores are -inf."""
    shares = tl.exp(scores - peak_of(scores))
    total = tl.sum(shares, axis=0)
    return shares / tl.where(total == 0.0, 1.0, total)


@triton.jit
def load_row(rows, row, labels, n_labels, KIND: tl.constexpr):
    """Load a row (L,) of (N, L), with -inf beyond the labels."""
    at = row * n_labels + labels
    return tl.load(rows + at, mask=labels < n_labels, other=float("-inf")).to(KIND)


@triton.jit
def load_emissions(emissions, row, labels, n_labels, KIND: tl.constexpr):
    """Load the emissions of a token relative to their maximum, and the maximum."""
    own = load_row(emissions, row, labels, n_labels, KIND)
    peak = peak_of(own)
    return own - peak, peak


@triton.jit
def load_candidate_scores(
    before,
    transitions,
    pairwise,
    sources,
    targets,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    REVERSE: tl.constexpr,
):
    """Add transition scores to the scores `before` (sources,) of one side of a pair of tokens; the
    pairwise scores are those of the pair. Returns (sources, targets), summed in the same order as
    on the CPU. Targets are labels of the later token; in reverse, of the earlier one.
    """
    if REVERSE:
        places = targets[None, :] * n_labels + sources[:, None]
    else:
        places = sources[:, None] * n_labels + targets[None, :]
    inside = (sources < n_labels)[:, None] & (targets < n_labels)[None, :]
    scores = tl.load(transitions + places, mask=inside, other=float("-inf")).to(before.dtype)
    scores += before[:, None]
    if HAS_PAIRWISE:
        scores += tl.load(pairwise + places, mask=inside, other=0.0).to(before.dtype)
    return scores
