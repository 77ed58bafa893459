"""Compute the probabilities of predicted frames and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from ...inference import LinearChain, Potentials
from .decoding import bio_constraints
from .frames import FramePrediction

# Number of tokens whose partition functions are computed at once
MAX_TOKENS = 1 << 15


def span_probabilities(
    potentials: Potentials,
    tags: Sequence[str],
    predictions: Sequence[FramePrediction],
    starts: Sequence[int],
) -> list[FramePrediction]:
    """Compute the probabilities of frames and arguments, one frame for each chain.

    They are exact under the model's distribution over well-formed BIO sequences. The probability of
    an argument is the total probability of all sequences that contain it,

        P(y_s = B-r, y_{s+1} = … = y_{e−1} = I-r, y_e ≠ I-r),

    and the probability of a frame is that of exactly its arguments and no others.
    """
    # Scores shared by all chains, such as transitions, are parameters; no gradient is needed here.
    potentials = potentials.detach()
    ids = {tag: i for i, tag in enumerate(tags)}
    chains: list[int] = []
    labels: list[tuple[NDArray[np.int64], tuple[int, int] | None]] = []
    for chain, (prediction, start) in enumerate(zip(predictions, starts, strict=True)):
        length = potentials.lengths[chain]
        arguments = prediction.frame.arguments
        whole = np.full(length, ids["O"])
        for first, last, role in arguments:
            whole[first - start] = ids[f"B-{role}"]
            whole[first - start + 1 : last - start] = ids[f"I-{role}"]
        chains.append(chain)
        labels.append((whole, None))
        for first, last, role in arguments:
            known = np.full(length, -1)
            known[first - start : last - start] = whole[first - start : last - start]
            chains.append(chain)
            labels.append((known, (last - start, ids[f"I-{role}"])))
    found = iter(_probabilities(potentials, tags, chains, labels))
    return [
        replace(
            prediction,
            probability=next(found),
            probabilities=[next(found) for _ in prediction.frame.arguments],
        )
        for prediction in predictions
    ]


def _probabilities(
    potentials: Potentials,
    tags: Sequence[str],
    chains: Sequence[int],
    labels: Sequence[tuple[NDArray[np.int64], tuple[int, int] | None]],
) -> list[float]:
    """Compute the probabilities that labels are as given (-1: any), and that one token does not
    have an excluded label."""
    constraints = bio_constraints(tuple(tags))
    found: list[float] = []
    first = 0
    while first < len(chains):
        last, n_tokens = first, 0
        while last < len(chains) and (last == first or n_tokens < MAX_TOKENS):
            n_tokens += potentials.lengths[chains[last]]
            last += 1
        part = potentials.select(chains[first:last])
        distribution = LinearChain(part, constraints=constraints)
        allowed = _allowed(labels[first:last], tags).to(potentials.device)
        found += distribution.log_prob_of(allowed).exp().tolist()
        first = last
    return found


def _allowed(
    labels: Sequence[tuple[NDArray[np.int64], tuple[int, int] | None]], tags: Sequence[str]
) -> torch.Tensor:
    names = np.array(tags)
    # Several labels may stand for the same tag
    is_same = names[:, None] == names
    known = np.concatenate([chain for chain, _ in labels])
    allowed = is_same[known] | (known == -1)[:, None]
    offset = 0
    for chain, excluded in labels:
        if excluded is not None and excluded[0] < len(chain):
            allowed[offset + excluded[0], is_same[excluded[1]]] = False
        offset += len(chain)
    return torch.from_numpy(allowed)
