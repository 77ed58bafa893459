"""White space in the sentences of predicates: no argument begins or ends with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...annotation.frame_tags import space_copies
from ...annotation.schemes import OUTSIDE
from ...inference import Potentials
from ...inference.constraints import with_copies


class RoleChains(NamedTuple):
    """The scores of some of the predicates.

    chains (List[int]): Which predicates these are.
    potentials (Potentials): Their scores, one chain each.
    tags (List[str]): The tags that the label IDs stand for. Several may stand for the same.
    """

    chains: list[int]
    potentials: Potentials
    tags: list[str]


def without_space(
    potentials: Potentials, tags: Sequence[str], spaces: Sequence[NDArray[np.bool_]]
) -> Iterator[RoleChains]:
    """Rule out arguments that begin or end with white space. Predicates without white space in
    their sentence keep their scores.

    YIELDS (RoleChains): The predicates without white space, then those with it.
    """
    with_space = [chain for chain, of_chain in enumerate(spaces) if of_chain.any()]
    rest = sorted({*range(len(spaces))}.difference(with_space))
    if not with_space:
        yield RoleChains(rest, potentials, list(tags))
        return
    if rest:
        yield RoleChains(rest, potentials.select(rest), list(tags))
    copied, constraints = space_copies(tags)
    is_copy = torch.arange(constraints.n_labels) >= len(tags)
    is_space = torch.from_numpy(np.concatenate([spaces[chain] for chain in with_space]))
    possible = is_space[:, None] == is_copy
    possible[:, tags.index(OUTSIDE)] = True
    origins = torch.tensor([*range(len(tags)), *copied])
    scores = with_copies(potentials.select(with_space), origins, constraints).within(possible)
    yield RoleChains(with_space, scores, [tags[i] for i in origins.tolist()])
