"""Linear-chain distributions over label sequences: everything that follows the network's scores."""

from .constraints import Constraints
from .costs import cost_augmented, error_costs
from .engines.backends import Backend, ExpectedCounts
from .linear_chain import BACKENDS, UNKNOWN, LinearChain
from .nbest import KBest
from .potentials import Potentials

__all__ = [
    "BACKENDS",
    "UNKNOWN",
    "Backend",
    "Constraints",
    "ExpectedCounts",
    "KBest",
    "LinearChain",
    "Potentials",
    "cost_augmented",
    "error_costs",
]
