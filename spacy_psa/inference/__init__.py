"""Linear-chain distributions over label sequences: everything that follows the network's scores."""

from .chain_scores import UNKNOWN
from .constraints import Constraints
from .costs import cost_augmented, error_costs
from .edge_marginals import EdgeMarginals, cross_entropy, pair_marginals
from .engines.backends import ExpectedCounts
from .linear_chain import BACKENDS, LinearChain
from .nbest import KBest
from .potentials import Potentials

__all__ = [
    "BACKENDS",
    "UNKNOWN",
    "Constraints",
    "EdgeMarginals",
    "ExpectedCounts",
    "KBest",
    "LinearChain",
    "Potentials",
    "cost_augmented",
    "cross_entropy",
    "error_costs",
    "pair_marginals",
]
