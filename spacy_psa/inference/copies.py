"""Copies of labels, which let constraints depend on the token."""

from torch import Tensor

from .constraints import Constraints
from .potentials import Potentials


def with_copies(potentials: Potentials, origins: Tensor, constraints: Constraints) -> Potentials:
    """Replace labels by copies with the same scores, which constraints can tell apart. If only
    some tokens may have a copy (see `Potentials.within`), its constraints apply to these tokens
    alone. This takes no memory for each token and pair of labels, unlike `pairwise`.

    potentials (Potentials): The scores for L labels.
    origins (Tensor): The label that each of the M new ones is a copy of. *Shape:* (M,), integers.
    constraints (Constraints): Constraints on the M new labels.
    RETURNS (Potentials): The scores for the new labels.
    """
    origins = origins.to(potentials.device)
    copied = {
        # Each axis of labels: the last one, and in scores of transitions the one before
        name: scores[..., origins, :][..., origins]
        if name in ("transitions", "pairwise")
        else scores[..., origins]
        for name, scores in potentials.tensors().items()
    }
    return constraints.apply(Potentials(lengths=potentials.lengths, **copied))
