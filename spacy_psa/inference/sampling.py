"""Exact sampling of label sequences: forward filtering, backward sampling.

The last label is drawn from its marginal distribution, and each label before it from its
distribution given the next label, which follows from the forward messages:

    p(y_t | y_{t+1}, …, y_n) ∝ exp(forward[t, y_t] + transitions[y_t, y_{t+1}])

(Scott 2002, "Bayesian methods for hidden Markov models: recursive computing in the 21st century").
The samples are independent of each other.
"""

import numpy as np
import torch
from torch import Tensor

from .chain_scores import UNKNOWN
from .engines.array_ops import Array
from .engines.trellis import Trellis
from .potentials import Potentials

Generator = torch.Generator | np.random.Generator


def draw_labels(
    trellis: Trellis, potentials: Potentials, n_samples: int, generator: Generator | None
) -> Tensor:
    """Draw label sequences.

    trellis (Trellis): The trellis of the potentials.
    potentials (Potentials): The scores.
    n_samples (int): The number of sequences per chain.
    generator (Optional[Union[torch.Generator, np.random.Generator]]): The source of randomness.
        Defaults to PyTorch's global generator for the device of the potentials.
    RETURNS (Tensor): *Shape:* (N, n_samples). -1 in chains without a possible sequence.
    """
    device, layout = potentials.device, trellis.layout
    uniform = _uniform(layout.n_tokens, n_samples, device, generator)
    if not layout.n_tokens:
        return torch.empty_like(uniform, dtype=torch.long)
    labels = torch.as_tensor(sampled_paths(trellis, trellis.ops.from_tensor(uniform))).to(device)
    nowhere = torch.zeros(layout.n_chains, dtype=torch.bool, device=device)
    impossible = trellis.by_chain(trellis.log_partition == -torch.inf, nowhere)
    chain_of_token = torch.from_numpy(layout.chain_of_token).to(device)
    return labels.masked_fill(impossible[chain_of_token].unsqueeze(1), UNKNOWN)


def sampled_paths(trellis: Trellis, uniform: Array) -> Array:
    """Draw label sequences as a function of random numbers: each label is the first at which the
    cumulative distribution, given the labels after it, exceeds the token's number.

    trellis (Trellis): The trellis of at least one token.
    uniform (Array): *Shape:* (N, n). Uniform in [0, 1).
    RETURNS (Array): *Shape:* (N, n). Labels; meaningless for a chain without a possible sequence.
    """
    ops, forward, numbers = trellis.ops, trellis.forward, trellis.by_step(uniform)
    ends = trellis.ends(forward) + trellis.end
    labels = ops.draw(ends[:, None, :], trellis.ends(numbers))
    paths = [labels[: len(forward[-1])]]
    for t in range(len(forward) - 1, 0, -1):
        n = len(forward[t])
        scores = trellis.transition_scores.before(forward[t - 1][:n], labels[:n], t)
        drawn = ops.draw(scores, numbers[t - 1][:n])
        labels = ops.concatenate([drawn, labels[n:]])
        paths.append(labels[: len(forward[t - 1])])
    return trellis.by_token(paths[::-1])


def _uniform(
    n_tokens: int, n_samples: int, device: torch.device, generator: Generator | None
) -> Tensor:
    shape = (n_tokens, n_samples)
    if isinstance(generator, np.random.Generator):
        return torch.from_numpy(generator.random(shape))
    if generator is not None:
        device = generator.device
    elif device.type != "cuda":
        device = torch.device("cpu")  # other devices may not support float64
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=device)
