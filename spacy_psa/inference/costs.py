"""Costs of errors in training: softmax-margin (Gimpel and Smith 2010).

What is maximised is the log-probability of the annotation among competitors whose scores are raised
by what it would cost to choose them:

    score(gold) − log Σ_y exp(score(y) + cost(gold, y))

So a costly error has to be outscored by a larger margin ("Softmax-margin CRFs: training log-linear
models with cost functions", NAACL). The cost is a sum over tokens here. So it can be added to the
emissions, and all that can be asked of a distribution can be asked of the augmented one:

    LinearChain(cost_augmented(potentials, labels, costs)).log_prob(labels)

It is for training only. In prediction, potentials are used as they are.
"""

from dataclasses import replace

import torch
from torch import Tensor

from ..errors import Errors
from .potentials import Potentials
from .scores import UNKNOWN, check_labels


def cost_augmented(potentials: Potentials, labels: Tensor, costs: Tensor) -> Potentials:
    """Add to the emission of each label what it would cost to choose it.

    potentials (Potentials): The scores.
    labels (Tensor): *Shape:* (N,). The annotation. At an unknown label (-1) nothing costs anything.
    costs (Tensor): *Shape:* (L, L). [i, j] is the cost of label j where label i is right, in nats.
        Zeros on the diagonal. A negative number would be a discount.
    RETURNS (Potentials): A copy. Differentiable, also in the costs.
    RAISES (ValueError): If the labels do not fit the potentials, or the costs do not.
    """
    labels = check_labels(potentials, labels)
    _check_costs(costs, potentials.n_labels)
    of_token = costs.to(potentials.emissions)[labels.clamp(min=0)]
    of_token = of_token.masked_fill((labels == UNKNOWN).unsqueeze(1), 0.0)
    return replace(potentials, emissions=potentials.emissions + of_token)


def error_costs(missed: Tensor | None = None, invented: Tensor | None = None) -> Tensor:
    """Costs that follow from weights of labels.

    In place of the right label i, any other j has its odds against i multiplied by the weights:

        cost(i, j) = log missed[i] + log invented[j] for i ≠ j, and cost(i, i) = 0

    For independent labels, the loss of a token becomes log(1 + missed[i] · Σ_j invented[j] ·
    odds_j). So where errors are unlikely, they count in proportion to their weights, just as in a
    weighted cross-entropy. Weights above 1 in `missed` raise the recall of a label, in `invented`
    its precision; those of 1 change nothing.

    missed (Optional[Tensor]): *Shape:* (L,). Positive. The weight of missing a label that is right.
    invented (Optional[Tensor]): *Shape:* (L,). Positive. The weight of choosing one that is wrong.
    RETURNS (Tensor): *Shape:* (L, L). Costs for `cost_augmented`.
    RAISES (ValueError): If there are no weights, or they are not positive or do not fit together.
    """
    both = {"missed": missed, "invented": invented}
    given = {name: weights for name, weights in both.items() if weights is not None}
    problem = None if given else "there are none"
    for name, weights in given.items():
        if weights.dim() != 1 or not bool(((weights > 0) & weights.isfinite()).all()):
            problem = f"'{name}' is {weights.tolist()}"
    if len({len(weights) for weights in given.values() if weights.dim()}) > 1:
        problem = "there are not as many of missing as of inventing a label"
    if problem is not None:
        raise ValueError(Errors.P018.format(problem=problem))
    some = next(iter(given.values()))
    n_labels = len(some)
    costs = some.new_zeros(n_labels, n_labels)
    if missed is not None:
        costs = costs + missed.log().unsqueeze(1)
    if invented is not None:
        costs = costs + invented.log().unsqueeze(0)
    return costs * (1 - torch.eye(n_labels).to(costs))


def _check_costs(costs: Tensor, n_labels: int) -> None:
    problem = None
    if tuple(costs.shape) != (n_labels, n_labels):
        problem = f"their shape is {tuple(costs.shape)} instead of {(n_labels, n_labels)}"
    elif not bool(costs.isfinite().all()):
        problem = "not all of them are finite"
    elif bool(costs.diagonal().any()):
        problem = f"being right costs something: the diagonal is {costs.diagonal().tolist()}"
    if problem is not None:
        raise ValueError(Errors.P017.format(problem=problem))
