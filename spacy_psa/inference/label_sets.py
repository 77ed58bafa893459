"""Ambiguous annotation: labels known only to be in a set (Tsuboi et al. 2008)."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from .chain_scores import UNKNOWN, log_ratio
from .constraints import Constraints, with_copies
from .linear_chain import LinearChain


def log_prob_of_sets(
    chain: LinearChain,
    labels: Tensor,
    sets: Mapping[int, Sequence[int]],
    constraints: Constraints | None = None,
) -> Tensor:
    """The log of the total probability of all label sequences that agree with an annotation in
    which some tokens have a set of labels. Differentiable.

    With constraints, a sequence agrees only if its transitions between adjacent tokens with sets
    are allowed. For the sets {B-A, B-B} and {E-A, E-B}, which stand for a span labeled A or B,
    BIOES leaves B-A E-A and B-B E-B. All other transitions remain as in `chain`: these constraints
    affect neither known nor unknown labels, nor the distribution itself.

    This slows down only the sum within the sets. There, the labels in sets are duplicated, with the
    same scores, and only tokens with sets may have the copies. Constraints can then forbid
    transitions between copies alone, without per-token scores.

    chain (LinearChain): The distribution.
    labels (Tensor): *Shape:* (N,). The labels of tokens without sets; -1 for unknown labels.
    sets (Mapping[int, Sequence[int]]): The labels in each set, by token.
    constraints (Optional[Constraints]): Which labels may follow each other in adjacent sets. Not
        needed if `chain` already has these constraints.
    RETURNS (Tensor): *Shape:* (C,). -inf, with zero gradient, if no sequence agrees.
    RAISES (ValueError): If the labels do not match the potentials.

    Source: Tsuboi et al. (2008), 'Training Conditional Random Fields Using Incomplete Annotations',
    for ambiguous annotation.
    """
    labels = chain._check_labels(labels)
    n_labels = chain.potentials.n_labels
    allowed = (labels == UNKNOWN).unsqueeze(1).repeat(1, n_labels)
    allowed.scatter_(1, labels.clamp(min=0).unsqueeze(1), True)
    tokens = sorted(sets)
    of_sets = torch.zeros(len(tokens), n_labels, dtype=torch.bool)
    for row, token in enumerate(tokens):
        of_sets[row, list(sets[token])] = True
    of_sets = of_sets.to(allowed.device)
    allowed[tokens] = of_sets
    if constraints is None or not any(token + 1 in sets for token in tokens):
        return chain.log_prob_of(allowed)
    copied = of_sets.any(dim=0).nonzero().squeeze(1)
    copies = allowed.new_zeros(len(labels), len(copied))
    copies[tokens] = of_sets[:, copied]
    allowed[tokens] = False
    n, m = n_labels, n_labels + len(copied)
    transitions = torch.ones(m, m, dtype=torch.bool)
    transitions[n:, n:] = constraints.transitions[copied.cpu()][:, copied.cpu()]
    anywhere = torch.ones(m, dtype=torch.bool)
    doubled = with_copies(
        chain.potentials,
        torch.cat([torch.arange(n, device=copied.device), copied]),
        Constraints(transitions, anywhere, anywhere),
    )
    doubled = doubled.within(torch.cat([allowed, copies], dim=1))
    # The copies' transitions turn a softmax into a chain
    backend = (LinearChain(doubled) if chain.potentials.is_independent else chain)._backend
    return log_ratio(backend.log_partition(doubled), chain.log_partition)
