"""What computes sums over label sequences, and the ways to choose from."""

from typing import NamedTuple, Protocol

from torch import Tensor

from ..errors import Errors, suggestion
from .potentials import Potentials


class ExpectedCounts(NamedTuple):
    """How often each thing is expected to happen, summed over the chains."""

    transitions: Tensor  # (L, L): label j right after label i
    start: Tensor  # (L,): a chain begins with the label
    end: Tensor  # (L,): a chain ends with the label


class Backend(Protocol):
    """Sums over all label sequences of each chain.

    Log-scores come back in `scores.working_dtype`, gradients in the types of the potentials.
    A chain without a possible sequence has log_partition -inf and the gradient zero.
    """

    def log_partition(self, potentials: Potentials) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). log Z of each chain. Differentiable."""
        ...

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). The log-probability of complete label sequences (N,);
        -inf, with the gradient zero, where they are impossible. Differentiable.
        """
        ...

    def marginals(self, potentials: Potentials) -> Tensor:
        """RETURNS (Tensor): *Shape:* (N, L). Each token's label probabilities, in the type of the
        emissions. Differentiable.
        """
        ...

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        """RETURNS (ExpectedCounts): Expected transitions, first and last labels. No gradient."""
        ...


def get_backend(name: str, backends: dict[str, Backend]) -> Backend:
    """Look up a backend.

    name (str): The name.
    backends (Dict[str, Backend]): The known ones.
    RETURNS (Backend): The backend.
    RAISES (ValueError): If there is none of this name.
    """
    if name not in backends:
        nearest, options = suggestion(name, backends), ", ".join(sorted(backends))
        raise ValueError(Errors.P002.format(name=name, suggestion=nearest, options=options))
    return backends[name]
