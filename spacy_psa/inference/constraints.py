"""Hard constraints on label sequences, for example those of a tag scheme such as BIOES."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..errors import Errors
from .potentials import Potentials


@dataclass(frozen=True, init=False)
class Constraints:
    """Which labels may follow each other, begin a chain and end it. True means allowed.

    transitions (Union[np.ndarray, Tensor]): *Shape:* (L, L). [i, j]: may label j follow label i?
    start (Union[np.ndarray, Tensor]): *Shape:* (L,). May a chain begin with this label?
    end (Union[np.ndarray, Tensor]): *Shape:* (L,). May a chain end with this label?
    RAISES (ValueError): If one of them is not boolean, or if their shapes do not match.
    """

    transitions: Tensor
    start: Tensor
    end: Tensor

    def __init__(
        self,
        transitions: np.ndarray | Tensor,
        start: np.ndarray | Tensor,
        end: np.ndarray | Tensor,
    ) -> None:
        given = {"transitions": transitions, "start": start, "end": end}
        for name, value in given.items():
            allowed = torch.as_tensor(value)
            if allowed.dtype != torch.bool:
                problem = f"{name} is {allowed.dtype}, not boolean"
                raise ValueError(Errors.P004.format(problem=problem))
            object.__setattr__(self, name, allowed)
        n_labels = self.n_labels
        shapes = {"transitions": (n_labels, n_labels), "start": (n_labels,), "end": (n_labels,)}
        for name, shape in shapes.items():
            actual = tuple(getattr(self, name).shape)
            if actual != shape:
                problem = f"{name} has shape {actual}, not {shape}"
                raise ValueError(Errors.P004.format(problem=problem))

    @property
    def n_labels(self) -> int:
        """RETURNS (int): The number of labels, L."""
        return self.start.numel()

    def apply(self, potentials: Potentials) -> Potentials:
        """Set the score of everything that is not allowed to -inf. No gradient flows there.

        potentials (Potentials): The scores. Missing transitions, start and end count as zeros.
        RETURNS (Potentials): A copy with transitions, start and end.
        RAISES (ValueError): If the number of labels differs.
        """
        if potentials.n_labels != self.n_labels:
            problem = f"they are for {self.n_labels} labels, the potentials for "
            problem += f"{potentials.n_labels}"
            raise ValueError(Errors.P004.format(problem=problem))
        constrained = {}
        for name in ("transitions", "start", "end"):
            allowed = getattr(self, name).to(potentials.device)
            scores = getattr(potentials, name)
            if scores is None:
                scores = potentials.emissions.new_zeros(allowed.shape)
            constrained[name] = torch.where(allowed, scores, -torch.inf)
        # Not `dataclasses.replace`, which for a single sentence takes as long as all of the above
        emissions, lengths, pairwise = potentials.emissions, potentials.lengths, potentials.pairwise
        return Potentials(emissions, lengths, **constrained, pairwise=pairwise)


def with_copies(potentials: Potentials, origins: Tensor, constraints: Constraints) -> Potentials:
    """Replace labels by M copies with the same scores, each of a label in `origins` (M,), which
    constraints can tell apart. If only some tokens may have a copy (see `Potentials.within`), its
    constraints apply to these tokens alone. This takes no memory for each token and pair of labels,
    unlike `pairwise`."""
    origins = origins.to(potentials.device)
    copied = {
        # Each axis of labels: the last one, and in scores of transitions the one before
        name: scores[..., origins, :][..., origins]
        if name in ("transitions", "pairwise")
        else scores[..., origins]
        for name, scores in potentials.tensors().items()
    }
    return constraints.apply(Potentials(lengths=potentials.lengths, **copied))
