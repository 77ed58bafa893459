"""How probable the arguments are that a model has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from ..inference import LinearChain, Potentials
from .decoding import bio_constraints
from .frames import FramePrediction

# Tokens of chains whose partition functions are found at a time
MAX_TOKENS = 1 << 15


def span_probabilities(
    potentials: Potentials,
    tags: Sequence[str],
    predictions: Sequence[Sequence[FramePrediction]],
    starts: Sequence[int],
) -> list[list[FramePrediction]]:
    """Find the probabilities of frames and arguments.

    They are exact, under the model's distribution over well-formed BIO sequences: the probability
    of an argument is that of all sequences which have it, whatever they have besides,

        P(y_s = B-r, y_{s+1} = … = y_{e−1} = I-r, y_e ≠ I-r),

    and that of a frame is the probability of all its arguments, and of no other ones.

    potentials (Potentials): The scores, of one chain for each predicate.
    tags (Sequence[str]): The tags.
    predictions (Sequence[Sequence[FramePrediction]]): For each document its frames.
    starts (Sequence[int]): For each frame the first token of its chain.
    RETURNS (List[List[FramePrediction]]): The frames with their probabilities.
    """
    # What decoders share with all chains are parameters, of which no gradient is wanted here.
    potentials = potentials.detach()
    ids = {tag: i for i, tag in enumerate(tags)}
    offsets = np.cumsum([0, *potentials.lengths])
    chains: list[int] = []
    labels: list[tuple[NDArray[np.int64], tuple[int, int] | None]] = []
    flat = [prediction for doc in predictions for prediction in doc]
    for chain, (prediction, start) in enumerate(zip(flat, starts, strict=True)):
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
    found = iter(_probabilities(potentials, tags, chains, labels, offsets))
    return [
        [
            replace(
                prediction,
                probability=next(found),
                probabilities=[next(found) for _ in prediction.frame.arguments],
            )
            for prediction in doc
        ]
        for doc in predictions
    ]


def _probabilities(
    potentials: Potentials,
    tags: Sequence[str],
    chains: Sequence[int],
    labels: Sequence[tuple[NDArray[np.int64], tuple[int, int] | None]],
    offsets: NDArray[np.int64],
) -> list[float]:
    """The probabilities that labels are as given (-1: any), and one of them not as given."""
    constraints = bio_constraints(tuple(tags))
    shared = {n: t for n, t in potentials.tensors().items() if n not in ("emissions", "pairwise")}
    found: list[float] = []
    first = 0
    while first < len(chains):
        last, n_tokens = first, 0
        while last < len(chains) and (last == first or n_tokens < MAX_TOKENS):
            n_tokens += potentials.lengths[chains[last]]
            last += 1
        part, known = chains[first:last], labels[first:last]
        rows = np.concatenate([np.arange(offsets[c], offsets[c + 1]) for c in part])
        index = torch.from_numpy(rows).to(potentials.device)
        fields = dict(shared)
        if potentials.pairwise is not None:
            fields["pairwise"] = potentials.pairwise[index]
        copies = Potentials(
            potentials.emissions[index], [potentials.lengths[c] for c in part], **fields
        )
        distribution = LinearChain(copies, constraints=constraints)
        allowed = _allowed(known, len(tags)).to(potentials.device)
        found += distribution.log_prob_of(allowed).exp().tolist()
        first = last
    return found


def _allowed(
    labels: Sequence[tuple[NDArray[np.int64], tuple[int, int] | None]], n_labels: int
) -> torch.Tensor:
    known = np.concatenate([chain for chain, _ in labels])
    allowed = np.repeat((known == -1)[:, None], n_labels, axis=1)
    fixed = np.flatnonzero(known != -1)
    allowed[fixed, known[fixed]] = True
    offset = 0
    for chain, excluded in labels:
        if excluded is not None and excluded[0] < len(chain):
            allowed[offset + excluded[0], excluded[1]] = False
        offset += len(chain)
    return torch.from_numpy(allowed)
