"""The entropy of distributions over label sequences, −Σ_y p(y) log p(y), in nats.

Given a label, the labels before it are independent of those after it. The entropy of the path up to
label j at t is therefore the entropy of the previous label i plus the mean entropy of the path up
to i (Hernando, Crespi and Cybenko 2005, "Efficient computation of the hidden Markov model entropy
for a given observation sequence"):

    H_t(j) = Σ_i q_ij · (H_{t−1}(i) − log q_ij),    q_ij = p(y_{t−1} = i | y_t = j, x_1 … x_t)

The entropy of the whole path is the same sum over the last label. It needs only the forward
messages, not the marginals.
"""

import torch
from torch import Tensor

from .engines.autodiff import unused_zero
from .engines.trellis import Trellis, lossy, matmul, may_be_lossy, peak
from .potentials import Potentials


def chain_entropy(potentials: Potentials) -> Tensor:
    """The entropy of each chain's label sequences (C,), at least 0; 0 for an empty chain and for
    one without a possible sequence. Differentiable any number of times."""
    entropies = unused_zero(potentials).expand(len(potentials.lengths))
    if not potentials.n_tokens:
        return entropies
    trellis = Trellis(potentials)
    of_labels = [torch.zeros_like(trellis.forward[0])]
    for t, message in enumerate(trellis.forward[1:], start=1):
        n = len(message)
        of_labels.append(
            through(trellis.forward[t - 1][:n], trellis.transitions(t), of_labels[-1][:n])
        )
    ends = trellis.ends(trellis.forward) + trellis.end
    of_chains = mixture_entropy(ends, trellis.ends(of_labels))
    return trellis.by_chain(of_chains, entropies).clamp(min=0.0)


def mixture_entropy(scores: Tensor, entropies: Tensor) -> Tensor:
    """Σ_i q_i · (entropies_i − log q_i) over the last axis, for q ∝ exp(scores); 0 if no i is
    possible."""
    gaps = scores - peak(scores, dim=-1)
    weights = gaps.exp()
    total = weights.sum(dim=-1)
    total = total.masked_fill(total == 0.0, 1.0)
    return total.log() + (weights * (entropies - _finite(gaps))).sum(dim=-1) / total


def through(scores: Tensor, transitions: Tensor, entropies: Tensor) -> Tensor:
    """H_t (n, L) from the forward messages (n, L), ψ_t and H_{t−1} (n, L). By products of matrices,
    unless these lose terms: with q_ij ∝ exp(a_i) · exp(b_ij), −log q_ij is a sum, too."""
    a, b = scores - peak(scores, dim=1), transitions - peak(transitions, dim=-2)
    left, right = a.exp(), b.exp()
    sums = matmul(left, right)
    if may_be_lossy(sums) and bool(lossy(sums, scores, transitions).any()):
        return mixture_entropy(scores.unsqueeze(1) + transitions.mT, entropies.unsqueeze(1))
    rest = matmul(left * (entropies - _finite(a)), right) - matmul(left, right * _finite(b))
    some = sums.masked_fill(sums == 0.0, 1.0)
    return some.log() + rest / some


def _finite(logs: Tensor) -> Tensor:
    """The logarithms of weights without -inf: entries of weight 0 add nothing."""
    return logs.masked_fill(logs == -torch.inf, 0.0)
