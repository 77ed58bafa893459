"""The interface of backends, which compute sums over label sequences, and their lookup."""

from typing import NamedTuple, Protocol

from torch import Tensor

from ...errors import check_choice
from ..potentials import Potentials


class ExpectedCounts(NamedTuple):
    """Expected counts, summed over the chains.

    transitions (Tensor): *Shape:* (L, L). [i, j]: how often label j is right after label i.
    start (Tensor): *Shape:* (L,). How many chains begin with each label.
    end (Tensor): *Shape:* (L,). How many chains end with each label.
    """

    transitions: Tensor
    start: Tensor
    end: Tensor


class Backend(Protocol):
    """Sums over all label sequences of each chain.

    Log-scores are returned in `chain_scores.working_dtype`, gradients in the dtypes of the
    potentials. A chain without a possible sequence has log_partition -inf and zero gradient.
    """

    def log_partition(self, potentials: Potentials) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). log Z of each chain. Differentiable."""
        ...

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). The log-probability of complete label sequences (N,);
        -inf, with zero gradient, if they are impossible. Differentiable.
        """
        ...

    def marginals(self, potentials: Potentials) -> Tensor:
        """RETURNS (Tensor): *Shape:* (N, L). Each token's label probabilities, in the dtype of the
        emissions. Differentiable.
        """
        ...

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        """RETURNS (ExpectedCounts): Expected transitions, first labels and last labels. No
        gradient.
        """
        ...


# The names of backends that there were once
ALIASES = {"scan": "logspace"}


def get_backend(name: str, backends: dict[str, Backend]) -> Backend:
    """Look up a backend by its name or an alias."""
    name = ALIASES.get(name, name)
    check_choice("inference backend", name, sorted(backends))
    return backends[name]
