"""What the tags of `psa_srl` express: the arguments of a predicate, by their roles, none of which
begins or ends with white space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...annotation.frame_tags import check_arguments, role_constraints, role_tags, space_copies
from ...annotation.propositions import PREDICATE_LABEL, get_frames
from ...annotation.schemes import OUTSIDE
from ...inference import Constraints, Potentials
from ...inference.constraints import with_copies


class Roles:
    """The roles of arguments, and V for predicates. Each has the tags B and I. The methods have the
    names that those of a `Target` have."""

    name = "roles"
    sets = None
    has_spans = True

    def tags(self, labels: Sequence[str]) -> list[str]:
        """See `Target`."""
        return role_tags(labels)

    def constraints(self, tags: Sequence[str]) -> Constraints:
        """See `Target`."""
        return role_constraints(tags)

    def labels_of(self, doc: Doc) -> Iterable[str]:
        """See `Target`."""
        for frame in get_frames(doc):
            yield from {PREDICATE_LABEL, *(role for _, _, role in frame.arguments)}

    def check(self, doc: Doc) -> None:
        """See `Target`."""
        check_arguments(doc)

    def label_problem(self, label: str) -> str | None:
        """See `Target`."""
        return None if label else "it is empty, which means 'not annotated'"

    def normal_form(self, label: str) -> str:
        """See `Target`."""
        return label


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
    their sentence keep their scores, and come first."""
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
