"""Small operations on the scores of chains that all backends share."""

import torch
from torch import Tensor

from ..errors import Errors
from .layout import time_major
from .potentials import Potentials

UNKNOWN = -1  # the label of a token that is not annotated


def working_dtype(potentials: Potentials) -> torch.dtype:
    """The type in which log-scores are computed and returned.

    potentials (Potentials): The potentials.
    RETURNS (torch.dtype): float64 on the CPU. Elsewhere, where float64 may be slow or missing, the
        type of the emissions, but at least float32.
    """
    if potentials.device.type == "cpu":
        return torch.float64
    return torch.promote_types(potentials.emissions.dtype, torch.float32)


def check_labels(potentials: Potentials, labels: Tensor) -> Tensor:
    """Make sure that labels belong to chains.

    potentials (Potentials): The chains.
    labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1, or -1 for an unknown label.
    RETURNS (Tensor): *Shape:* (N,). int64, on the device of the potentials.
    RAISES (ValueError): If they do not.
    """
    n_tokens, n_labels = potentials.n_tokens, potentials.n_labels
    problem = None
    if tuple(labels.shape) != (n_tokens,):
        problem = f"their shape is {tuple(labels.shape)} instead of {(n_tokens,)}"
    elif labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        problem = f"they are {labels.dtype}, not integers"
    elif n_tokens and not -1 <= int(labels.min()) <= int(labels.max()) < n_labels:
        problem = f"they go from {int(labels.min())} to {int(labels.max())}, instead of from "
        problem += f"-1 (unknown) to {n_labels - 1}"
    if problem is not None:
        raise ValueError(Errors.P003.format(problem=problem))
    return labels.to(device=potentials.device, dtype=torch.long)


def sum_by_chain(values: Tensor, potentials: Potentials) -> Tensor:
    """Add up what belongs to the tokens of each chain.

    values (Tensor): *Shape:* (N,)
    potentials (Potentials): The chains.
    RETURNS (Tensor): *Shape:* (C,)
    """
    chains = torch.from_numpy(time_major(potentials.lengths).chain_of_token)
    totals = values.new_zeros(len(potentials.lengths))
    return totals.index_add(0, chains.to(values.device), values)


def path_score(potentials: Potentials, labels: Tensor) -> Tensor:
    """The log-score of one label sequence for each chain. Differentiable.

    potentials (Potentials): The scores.
    labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1.
    RETURNS (Tensor): *Shape:* (C,)
    """
    layout, dtype = time_major(potentials.lengths), working_dtype(potentials)

    def labels_at(tokens: Tensor) -> Tensor:
        return labels[tokens.to(labels.device)]

    values = potentials.emissions.gather(1, labels.unsqueeze(1)).squeeze(1).to(dtype)
    score = sum_by_chain(values, potentials)
    chains = torch.from_numpy(layout.chains).to(labels.device)
    inner = torch.from_numpy(layout.inner_tokens)
    chain_of_step = torch.from_numpy(layout.chain_of_token)[inner].to(labels.device)
    if potentials.transitions is not None:
        steps = potentials.transitions[labels_at(inner - 1), labels_at(inner)].to(dtype)
        score = score.index_add(0, chain_of_step, steps)
    if potentials.pairwise is not None:
        at = (inner.to(labels.device), labels_at(inner - 1), labels_at(inner))
        score = score.index_add(0, chain_of_step, potentials.pairwise[at].to(dtype))
    if potentials.start is not None:
        first = labels_at(torch.from_numpy(layout.first_tokens))
        score = score.index_add(0, chains, potentials.start[first].to(dtype))
    if potentials.end is not None:
        last = labels_at(torch.from_numpy(layout.last_tokens))
        score = score.index_add(0, chains, potentials.end[last].to(dtype))
    return score


def log_ratio(part: Tensor, whole: Tensor) -> Tensor:
    """log(part / whole), with the gradient zero where the part is empty.

    part (Tensor): *Shape:* (C,). The log of a sum over some label sequences.
    whole (Tensor): *Shape:* (C,). The log of the sum over all of them.
    RETURNS (Tensor): *Shape:* (C,). At most 0, whatever the rounding of the two; -inf where the
        part is -inf, whatever the whole is.
    """
    impossible = part == -torch.inf
    # Not the difference and then a mask: -inf - -inf is NaN, and so would be its gradient
    part = part.masked_fill(impossible, 0.0)
    whole = whole.masked_fill(impossible, 0.0)
    return (part - whole).clamp(max=0.0).masked_fill(impossible, -torch.inf)
