"""A Triton kernel that samples label sequences of linear chains."""

import triton
import triton.language as tl

from .chain_functions import load_row, peak_of


@triton.jit
def _draw(scores, uniform, n_labels):
    """Draw labels (samples,) with probabilities ∝ exp of scores (labels, samples), by inverting the
    cumulative distribution. If no label is possible, return any.
    """
    shares = tl.exp(scores - peak_of(scores)[None, :])
    cumulative = tl.cumsum(shares, axis=0)
    beyond = cumulative > (uniform * tl.max(cumulative, axis=0))[None, :]
    # Rounded sums must not select an impossible label
    found = (beyond & (shares > 0.0)).to(tl.int32)
    label = tl.where(tl.max(found, axis=0) > 0, tl.argmax(found, axis=0), tl.argmax(shares, axis=0))
    return tl.minimum(label, n_labels - 1)


@triton.jit(do_not_specialize=["n_samples", "n_blocks"])
def samples_kernel(
    transitions,
    pairwise,
    end,
    forward,
    uniform,
    firsts,
    sizes,
    labels_drawn,
    n_samples,
    n_blocks,
    n_labels,
    HAS_PAIRWISE: tl.constexpr,
    BLOCK: tl.constexpr,
    SAMPLES: tl.constexpr,
):
    """Sample label sequences of a chain, from its end to its beginning, given its forward messages
    and random numbers (N, samples), uniform in [0, 1). See `inference.sampling`. Grid: (chains ·
    blocks of samples,). Writes `labels_drawn` (N, samples).
    """
    chain = tl.program_id(0) // n_blocks
    first = tl.load(firsts + chain)
    size = tl.load(sizes + chain)
    labels = tl.arange(0, BLOCK)
    samples = (tl.program_id(0) % n_blocks) * SAMPLES + tl.arange(0, SAMPLES)
    is_sample = samples < n_samples
    inside = (labels < n_labels)[:, None] & is_sample[None, :]
    kind = forward.dtype.element_ty
    row = first + size - 1
    last = load_row(forward, row, labels, n_labels, kind)
    last += load_row(end, 0, labels, n_labels, kind)
    number = tl.load(uniform + row * n_samples + samples, mask=is_sample, other=0.0)
    label = _draw(last[:, None] + tl.zeros((BLOCK, SAMPLES), kind), number, n_labels)
    tl.store(labels_drawn + row * n_samples + samples, label.to(tl.int64), mask=is_sample)
    for _ in range(1, size):
        at = labels[:, None] * n_labels + label[None, :]
        scores = tl.load(transitions + at, mask=inside, other=float("-inf")).to(kind)
        if HAS_PAIRWISE:
            own = pairwise + row * n_labels * n_labels
            scores += tl.load(own + at, mask=inside, other=0.0).to(kind)
        row -= 1
        scores += load_row(forward, row, labels, n_labels, kind)[:, None]
        number = tl.load(uniform + row * n_samples + samples, mask=is_sample, other=0.0)
        label = _draw(scores, number, n_labels)
        tl.store(labels_drawn + row * n_samples + samples, label.to(tl.int64), mask=is_sample)
