"""Operations on the scores of chains that all backends share."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..errors import Errors
from .layout import MAX_CACHED_TOKENS, time_major
from .potentials import Potentials

UNKNOWN = -1
"""The label of a token without annotation: any label is possible."""


def working_dtype(potentials: Potentials) -> torch.dtype:
    """The dtype in which log-scores are computed and returned: float64 on the CPU. On other
    devices, where float64 may be slow or missing, that of the emissions, but at least float32."""
    if potentials.device.type == "cpu":
        return torch.float64
    return torch.promote_types(potentials.emissions.dtype, torch.float32)


def without_inference_mode(tensor: Tensor) -> Tensor:
    """The tensor itself or, if it was created in inference mode, a copy that autograd can use. Call
    this outside of inference mode.
    """
    return tensor.detach().clone() if tensor.is_inference() else tensor


def check_labels(potentials: Potentials, labels: Tensor) -> Tensor:
    """Labels (N,), from 0 to L - 1 or -1 for an unknown label, as int64 on the device of the
    potentials."""
    n_tokens, n_labels = potentials.n_tokens, potentials.n_labels
    problem = None
    if not isinstance(labels, Tensor):
        problem = f"they are a {type(labels).__name__}, not a torch tensor"
    elif tuple(labels.shape) != (n_tokens,):
        problem = f"their shape is {tuple(labels.shape)}, not {(n_tokens,)}"
    elif labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        problem = f"they are {labels.dtype}, not integers"
    elif n_tokens and not -1 <= int(labels.min()) <= int(labels.max()) < n_labels:
        problem = f"they range from {int(labels.min())} to {int(labels.max())}, not from "
        problem += f"-1 (unknown) to {n_labels - 1}"
    if problem is not None:
        raise ValueError(Errors.P003.format(problem=problem))
    return labels.to(device=potentials.device, dtype=torch.long)


def as_sets(labels: Tensor, n_labels: int) -> Tensor:
    """Labels (N,) as sets (N, L), in booleans: an unknown label is any label."""
    sets = (labels == UNKNOWN).unsqueeze(1).repeat(1, n_labels)
    return sets.scatter_(1, labels.clamp(min=0).unsqueeze(1), True)


class Places(NamedTuple):
    """The positions of chains, as index tensors on some device."""

    chain_of_token: Tensor  # (N,)
    inner: Tensor  # the tokens with a predecessor
    chain_of_inner: Tensor
    chains: Tensor  # the nonempty chains, from the longest to the shortest
    first: Tensor  # the first token of each of these
    last: Tensor  # the last token of each of these
    sizes: Tensor  # the number of tokens of each of these


def chain_indices(lengths: tuple[int, ...], device: torch.device) -> Places:
    """Copy the positions of chains to a device. Copies to a device other than the CPU synchronize
    with it and are cached, because each batch needs them several times."""
    if device.type == "cpu" or sum(lengths) > MAX_CACHED_TOKENS:
        return _places(lengths, device)
    return _cached_indices(lengths, device)


def _places(lengths: tuple[int, ...], device: torch.device) -> Places:
    layout = time_major(lengths)
    arrays = (
        layout.chain_of_token,
        layout.inner_tokens,
        layout.chain_of_token[layout.inner_tokens],
        layout.chains,
        layout.first_tokens,
        layout.last_tokens,
        layout.sizes[layout.chains],
    )
    if device.type == "cpu":
        return Places(*map(torch.from_numpy, arrays))
    # An even number of each: kernels are recompiled if the alignment of their arguments changes
    even = [np.append(array, 0) if array.size % 2 else array for array in arrays]
    with torch.inference_mode(False):  # training may reuse the cached tensors
        together = torch.from_numpy(np.concatenate(even)).to(device)  # a single transfer
        parts = together.split([array.size for array in even])
        return Places(*(part[: array.size] for part, array in zip(parts, arrays, strict=True)))


_cached_indices = lru_cache(maxsize=16)(_places)


def padded_indices(lengths: Tensor, n_positions: int) -> Places:
    """Compute the positions of padded chains where their lengths (C,) are, without reading these.
    Padding counts as part of its chain, except in `last` and `sizes`. Kernels need them in a row:
    of two positions, PyTorch's `flatten` would return every second number of another tensor."""
    chains = torch.arange(len(lengths), device=lengths.device)
    positions = torch.arange(n_positions, device=lengths.device).view(len(lengths), -1)
    chain_of = chains.unsqueeze(1).expand_as(positions)
    sizes = lengths.long().contiguous()
    first = positions[:, 0].contiguous()
    return Places(
        chain_of_token=chain_of.flatten(),
        inner=positions[:, 1:].contiguous().flatten(),
        chain_of_inner=chain_of[:, 1:].flatten(),
        chains=chains,
        first=first,
        last=first + sizes - 1,
        sizes=sizes,
    )


def sum_by_chain(values: Tensor, potentials: Potentials) -> Tensor:
    """Sum the values (N,) of the tokens of each chain (C,)."""
    chains = chain_indices(potentials.lengths, values.device).chain_of_token
    totals = values.new_zeros(len(potentials.lengths))
    return totals.index_add(0, chains, values)


def path_score(potentials: Potentials, labels: Tensor) -> Tensor:
    """The log-scores (C,) of label sequences (N,), from 0 to L - 1. Differentiable."""
    labels = without_inference_mode(labels)
    places, dtype = chain_indices(potentials.lengths, labels.device), working_dtype(potentials)
    values = potentials.emissions.gather(1, labels.unsqueeze(1)).squeeze(1).to(dtype)
    score = sum_by_chain(values, potentials)
    before, after = labels[places.inner - 1], labels[places.inner]
    if potentials.transitions is not None:
        steps = potentials.transitions[before, after].to(dtype)
        score = score.index_add(0, places.chain_of_inner, steps)
    if potentials.pairwise is not None:
        steps = potentials.pairwise[places.inner, before, after].to(dtype)
        score = score.index_add(0, places.chain_of_inner, steps)
    if potentials.start is not None:
        first = potentials.start[labels[places.first]].to(dtype)
        score = score.index_add(0, places.chains, first)
    if potentials.end is not None:
        last = potentials.end[labels[places.last]].to(dtype)
        score = score.index_add(0, places.chains, last)
    return score


def log_ratio(part: Tensor, whole: Tensor) -> Tensor:
    """log(part / whole) for logs (C,) of sums over some label sequences and over all of them. At
    most 0, regardless of rounding; -inf, with zero gradient, if the part is empty."""
    impossible = part == -torch.inf
    # Mask before subtracting: -inf - -inf is NaN, and its gradient would be NaN, too
    part = part.masked_fill(impossible, 0.0)
    whole = whole.masked_fill(impossible, 0.0)
    return (part - whole).clamp(max=0.0).masked_fill(impossible, -torch.inf)
