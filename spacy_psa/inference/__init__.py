"""The linear-chain distribution over label sequences: everything after the network's scores."""

from .backends import Backend, ExpectedCounts
from .constraints import Constraints
from .linear_chain import BACKENDS, UNKNOWN, LinearChain
from .potentials import Potentials

__all__ = [
    "BACKENDS",
    "UNKNOWN",
    "Backend",
    "Constraints",
    "ExpectedCounts",
    "LinearChain",
    "Potentials",
]
