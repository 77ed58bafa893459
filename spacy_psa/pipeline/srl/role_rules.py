"""Rules about the roles of a predicate, and decoding that obeys them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...annotation.frame_tags import read_roles
from ...annotation.schemes import SCHEMES, Span, split_tag
from ...errors import check_counts
from ...inference import Potentials
from ...inference.search import MAX_STEPS, Automaton, best_accepted
from .decoding import RoleDecoding, ViterbiDecoding, bio_constraints

CORE_ROLES = ("A0", "A1", "A2", "A3", "A4", "A5", "AA")
CORE_ROLES_2012 = ("ARG0", "ARG1", "ARG2", "ARG3", "ARG4", "ARG5", "ARGA")


@dataclass(frozen=True)
class RoleRules:
    """Constraints on the combinations of arguments that a predicate may have.

    unique (bool): Each core role at most once, not counting its `C-` pieces.
    continuation (bool): `C-X` only after an X.
    reference (bool): `R-X` only if there is an X, before or after it.
    core (FrozenSet[str]): The core roles.

    Source: He et al. (2017), 'Deep Semantic Role Labeling: What Works and What's Next', section
    2.2; Punyakanok et al. (2008).
    """

    unique: bool
    continuation: bool
    reference: bool
    core: frozenset[str]

    def needs(self, role: str) -> str | None:
        """The role that a role requires: before it (C-) or anywhere (R-)."""
        prefix, _, base = role.partition("-")
        if (prefix == "C" and self.continuation) or (prefix == "R" and self.reference):
            # Roles named C or R are ordinary roles, and so is C- without a role
            return base or None
        return None

    def repaired(self, arguments: Sequence[Span], scores: Sequence[float]) -> list[Span]:
        """Remove arguments that break the rules: all but the best-scoring argument of each core
        role, and then continuations and references of roles that are missing."""
        best: dict[str, int] = {}
        for i, (_, _, role) in enumerate(arguments):
            if self.unique and role in self.core and scores[i] > scores[best.setdefault(role, i)]:
                best[role] = i
        kept = [a for i, a in enumerate(arguments) if best.get(a[2], i) == i]
        before = len(kept) + 1
        while len(kept) < before:
            # References to pieces, and pieces of references, may lose their support one by one.
            before = len(kept)
            kept = [a for a in kept if self._is_supported(a, kept)]
        return kept

    def _is_supported(self, argument: Span, arguments: Sequence[Span]) -> bool:
        start, _, role = argument
        base = self.needs(role)
        if base is None:
            return True
        is_piece = role.startswith("C-")
        return any(r == base and (not is_piece or s < start) for s, _, r in arguments)


class RoleAutomaton(Automaton[tuple[frozenset[str], frozenset[str]]]):
    """An automaton that accepts the BIO sequences that obey the rules."""

    def __init__(self, tags: tuple[str, ...], rules: RoleRules) -> None:
        self.rules = rules
        self.begins = {}
        for i, tag in enumerate(tags):
            prefix, role = split_tag(tag)
            if prefix == "B":
                self.begins[i] = role
        needed = {rules.needs(role) for role in self.begins.values()}
        # Other roles need not be part of the state.
        self.remembered = frozenset(
            role
            for role in self.begins.values()
            if role in needed or (rules.unique and role in rules.core)
        )
        self._masks: dict[frozenset[str], NDArray[np.bool_]] = {}
        self.n_tags = len(tags)

    def start(self) -> tuple[frozenset[str], frozenset[str]]:
        return frozenset(), frozenset()

    def allowed(self, state: tuple[frozenset[str], frozenset[str]]) -> NDArray[np.bool_]:
        present, _ = state
        mask = self._masks.get(present)
        if mask is None:
            mask = np.ones(self.n_tags, dtype=bool)
            for i, role in self.begins.items():
                is_twice = self.rules.unique and role in self.rules.core and role in present
                needed = self.rules.needs(role) if role.startswith("C-") else None
                mask[i] = not is_twice and (needed is None or needed in present)
            self._masks[present] = mask
        return mask

    def next(
        self, state: tuple[frozenset[str], frozenset[str]], label: int
    ) -> tuple[frozenset[str], frozenset[str]]:
        role = self.begins.get(label)
        if role is None:
            return state
        present, missing = state
        if role in self.remembered:
            present, missing = present | {role}, missing - {role}
        needed = self.rules.needs(role) if role.startswith("R-") else None
        if needed is not None and needed not in present:
            missing = missing | {needed}
        return present, missing

    def accepts(self, state: tuple[frozenset[str], frozenset[str]]) -> bool:
        _, missing = state
        return not missing


_automaton = lru_cache(maxsize=16)(RoleAutomaton)


class ConstrainedDecoding(RoleDecoding):
    """The best well-formed sequence that obeys the rules.

    The search is exact: if the Viterbi sequence obeys the rules, it is used; otherwise A* search
    finds the best sequence that does. If the search needs more than `max_steps`, arguments that
    break the rules are removed from the Viterbi sequence instead (`RoleRules.repaired`). The result
    obeys the rules, but may not be the best sequence.

    rules (RoleRules): The rules.
    max_steps (int): Maximum number of partial sequences that a search visits.
    """

    def __init__(self, rules: RoleRules, max_steps: int) -> None:
        self.rules, self.max_steps = rules, max_steps

    def best(self, potentials: Potentials, tags: Sequence[str]) -> Tensor:
        labels = ViterbiDecoding().best(potentials, tags).cpu().numpy()
        automaton = _automaton(tuple(tags), self.rules)
        parts = np.split(labels, np.cumsum(potentials.lengths)[:-1])
        for i, found in enumerate(parts):
            if automaton.accepts_all(found):
                continue
            chain = potentials.select([i])
            well_formed = bio_constraints(tuple(tags)).apply(chain)
            best = best_accepted(well_formed, automaton, max_steps=self.max_steps)
            parts[i] = self._repair(chain, tags, found) if best is None else best
        return torch.from_numpy(np.concatenate(parts))

    def _repair(
        self, chain: Potentials, tags: Sequence[str], labels: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        log_probs = torch.log_softmax(chain.emissions.detach().double(), dim=1).cpu().numpy()
        gains = log_probs[np.arange(len(labels)), labels] - log_probs[:, tags.index("O")]
        arguments = read_roles([tags[i] for i in labels])
        scores = [float(gains[start:end].sum()) for start, end, _ in arguments]
        kept = SCHEMES["BIO"].encode(self.rules.repaired(arguments, scores), len(labels))
        ids = {tag: i for i, tag in enumerate(tags)}
        return np.array([ids[tag] for tag in kept], dtype=np.int64)


def create_constrained_decoding(
    unique: bool = True,
    continuation: bool = True,
    reference: bool = True,
    core: Collection[str] = (*CORE_ROLES, *CORE_ROLES_2012),
    max_steps: int = MAX_STEPS,
) -> RoleDecoding:
    """`spacy_psa.ConstrainedDecoding.v1`: enforce rules about the roles of a predicate.

    unique (bool): Each core role at most once.
    continuation (bool): `C-X` only after an X.
    reference (bool): `R-X` only if there is an X.
    core (Collection[str]): The core roles.
    max_steps (int): Maximum number of partial sequences that the search visits for a predicate.
        Beyond that, arguments that break the rules are removed.
    RETURNS (RoleDecoding): The decoding.
    RAISES (ValueError): If `max_steps` is less than 1.
    """
    check_counts(max_steps=max_steps)
    rules = RoleRules(unique, continuation, reference, frozenset(core))
    return ConstrainedDecoding(rules, max_steps)
