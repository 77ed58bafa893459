"""Exact sampling of label sequences: forward filtering, backward sampling.

The last label is drawn from its marginal distribution, and each label before it from its
distribution given the next label, which follows from the forward messages:

    p(y_t | y_{t+1}, …, y_n) ∝ exp(forward_t(y_t) + ψ_{t+1}(y_t, y_{t+1}))

(Scott 2002, "Bayesian methods for hidden Markov models: recursive computing in the 21st century").
The samples are independent of each other.
"""

import numpy as np
import torch
from torch import Tensor

from .chain_scores import UNKNOWN
from .engines.trellis import Trellis

Generator = torch.Generator | np.random.Generator


def uniform_numbers(
    n_tokens: int, n_samples: int, device: torch.device, generator: Generator | None
) -> Tensor:
    """Draw the random numbers (N, n_samples) that samples are made of, in [0, 1), in float64. By
    default, from PyTorch's global generator for the device."""
    shape = (n_tokens, n_samples)
    if isinstance(generator, np.random.Generator):
        return torch.from_numpy(generator.random(shape))
    if generator is not None:
        device = generator.device
    elif device.type != "cuda":
        device = torch.device("cpu")  # other devices may not support float64
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=device).cpu()


def sampled_paths(trellis: Trellis, uniform: Tensor) -> Tensor:
    """Draw label sequences as a function of random numbers (N, n) in [0, 1): each label is the
    first at which the cumulative distribution, given the labels after it, exceeds the token's
    number. Labels are -1 in chains without a possible sequence."""
    forward, numbers = trellis.forward, trellis.by_step(uniform)
    ends = trellis.ends(forward) + trellis.end
    impossible = (ends == -torch.inf).all(dim=1, keepdim=True)
    labels = draw(ends.unsqueeze(1), trellis.ends(list(numbers)))
    paths = [labels[: len(forward[-1])]]
    for t in range(len(forward) - 1, 0, -1):
        n = len(forward[t])
        scores = trellis.before(forward[t - 1][:n], labels[:n], t)
        labels = torch.cat([draw(scores, numbers[t - 1][:n]), labels[n:]])
        paths.append(labels[: len(forward[t - 1])])
    drawn = trellis.by_token(paths[::-1])
    of_token = trellis.by_chain(impossible, impossible.new_zeros(trellis.layout.n_chains, 1))
    return drawn.masked_fill(of_token[torch.from_numpy(trellis.layout.chain_of_token)], UNKNOWN)


def draw(scores: Tensor, uniform: Tensor) -> Tensor:
    """Sample from distributions ∝ exp(scores) (n, m, L) or (n, 1, L), by inverting the cumulative
    distribution at numbers (n, m). An arbitrary label if none is possible."""
    peak = scores.amax(dim=2, keepdim=True)
    cumulative = (scores - peak.masked_fill(peak == -torch.inf, 0.0)).exp().cumsum(dim=2)
    # The largest number that generators return is 1 - 2^-53; times any total, it is less
    target = uniform * cumulative[:, :, -1]
    labels = (cumulative <= target.unsqueeze(2)).sum(dim=2)
    return labels.clamp(max=scores.shape[2] - 1)
