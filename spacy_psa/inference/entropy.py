"""The entropy of distributions over label sequences, in nats."""

import torch
from torch import Tensor

from .chain_scores import working_dtype
from .engines.array_ops import Array
from .engines.trellis import Trellis
from .potentials import Potentials


def chain_entropy(trellis: Trellis, potentials: Potentials) -> Tensor:
    """The entropy of each chain's label sequences.

    trellis (Trellis): The trellis of the potentials.
    potentials (Potentials): The scores.
    RETURNS (Tensor): *Shape:* (C,). At least 0; 0 for an empty chain and for one without a possible
        sequence. Differentiable if the trellis is.
    """
    dtype, device = working_dtype(potentials), potentials.device
    entropies = torch.zeros(len(potentials.lengths), dtype=dtype, device=device)
    # Potentials that no token uses get a zero gradient, not none
    for tensor in potentials.tensors().values():
        entropies = entropies + tensor.flatten()[:0].sum()
    if not potentials.n_tokens:
        return entropies
    return trellis.by_chain(path_entropy(trellis), entropies).clamp(min=0.0)


def path_entropy(trellis: Trellis) -> Array:
    """The entropy −Σ_y p(y) log p(y) of the paths of each chain.

    Given a label, the labels before it are independent of those after it. The entropy of the path
    up to label j at t is therefore the entropy of the previous label i plus the mean entropy of the
    path up to i (Hernando, Crespi and Cybenko 2005, "Efficient computation of the hidden Markov
    model entropy for a given observation sequence"):

        H_t(j) = Σ_i q_ij · (H_{t−1}(i) − log q_ij),    q_ij = p(y_{t−1} = i | y_t = j, x_1 … x_t)

    The entropy of the whole path is the same sum over the last label. It needs only the forward
    messages, not the marginals.

    trellis (Trellis): The trellis of at least one token.
    RETURNS (Array): *Shape:* (counts[0],). From the longest chain to the shortest.
    """
    forward = trellis.forward
    entropies = [trellis.ops.zeros(*forward[0].shape)]
    for t in range(1, len(forward)):
        n = len(forward[t])
        entropies.append(
            trellis.transition_scores.entropy(forward[t - 1][:n], entropies[-1][:n], t)
        )
    ends = trellis.ends(forward) + trellis.end
    return trellis.ops.mixture_entropy(ends, trellis.ends(entropies))
