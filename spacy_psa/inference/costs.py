"""Cost-augmented training: softmax-margin (Gimpel and Smith 2010).

Training maximizes the log-probability of the annotation among competitors whose scores are raised
by their costs:

    score(gold) − log Σ_y exp(score(y) + cost(gold, y))

The annotation must therefore outscore a costly error by a larger margin ("Softmax-margin CRFs:
training log-linear models with cost functions", NAACL). Here, the cost is a sum over tokens. It can
be added to the emissions, and the augmented distribution supports the same queries as any other:

    LinearChain(cost_augmented(potentials, labels, costs)).log_prob(labels)

Use costs in training only. Predict with the original potentials.
"""

from dataclasses import replace

import torch
from torch import Tensor

from ..errors import Errors
from .chain_scores import UNKNOWN, check_labels
from .potentials import Potentials


def cost_augmented(potentials: Potentials, labels: Tensor, costs: Tensor) -> Potentials:
    """Add to the emission of each label the cost of predicting it.

    potentials (Potentials): The scores.
    labels (Tensor): *Shape:* (N,). The annotation. An unknown label (-1) adds no costs.
    costs (Tensor): *Shape:* (L, L). [i, j] is the cost of label j if label i is correct, in nats.
        Zeros on the diagonal. A negative number is a discount.
    RETURNS (Potentials): A copy. Differentiable, also with respect to the costs.
    RAISES (ValueError): If the labels or the costs do not match the potentials.
    """
    labels = check_labels(potentials, labels)
    _check_costs(costs, potentials.n_labels)
    of_token = costs.to(potentials.emissions)[labels.clamp(min=0)]
    of_token = of_token.masked_fill((labels == UNKNOWN).unsqueeze(1), 0.0)
    return replace(potentials, emissions=potentials.emissions + of_token)


def error_costs(missed: Tensor | None = None, invented: Tensor | None = None) -> Tensor:
    """Derive costs from label weights.

    The weights multiply the odds of any other label j against the correct label i:

        cost(i, j) = log missed[i] + log invented[j] for i ≠ j, and cost(i, i) = 0

    For independent labels, the loss of a token becomes log(1 + missed[i] · Σ_j invented[j] ·
    odds_j). Unlikely errors therefore count in proportion to their weights, as in a weighted
    cross-entropy. Weights above 1 raise the recall (`missed`) or the precision (`invented`) of a
    label; weights of 1 change nothing.

    missed (Optional[Tensor]): *Shape:* (L,). Positive. The weight of false negatives of each label.
    invented (Optional[Tensor]): *Shape:* (L,). Positive. The weight of its false positives.
    RETURNS (Tensor): *Shape:* (L, L). Costs for `cost_augmented`.
    RAISES (ValueError): If there are no weights, or they are not positive or differ in length.
    """
    both = {"missed": missed, "invented": invented}
    given = {name: weights for name, weights in both.items() if weights is not None}
    problem = None if given else "there are none"
    for name, weights in given.items():
        if weights.dim() != 1 or not bool(((weights > 0) & weights.isfinite()).all()):
            problem = f"'{name}' is {weights.tolist()}"
    if len({len(weights) for weights in given.values() if weights.dim()}) > 1:
        problem = "the weights for missed and for spurious labels differ in number"
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
        problem = f"their shape is {tuple(costs.shape)}, not {(n_labels, n_labels)}"
    elif not bool(costs.isfinite().all()):
        problem = "not all of them are finite"
    elif bool(costs.diagonal().any()):
        problem = f"correct predictions have a cost: the diagonal is {costs.diagonal().tolist()}"
    if problem is not None:
        raise ValueError(Errors.P017.format(problem=problem))
