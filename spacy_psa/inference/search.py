"""A* search over a linear chain for the best label sequence that an automaton accepts.

Rules such as 'at most one A0' concern the whole sequence. The Viterbi algorithm cannot enforce
them: it would need a table for each set of roles. A* search expands partial sequences from left to
right, the most promising first. The promise is the score so far plus that of the best completion
without rules, which a Viterbi recursion from the right computes for every label of every token. It
never underestimates, so the first complete sequence to come up is the best one.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Hashable
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .potentials import Potentials

MAX_STEPS = 10_000


State = TypeVar("State", bound=Hashable)
"""The state of an automaton."""


class Automaton(ABC, Generic[State]):
    """An automaton that accepts the allowed label sequences."""

    @abstractmethod
    def start(self) -> State:
        """RETURNS (State): The initial state."""

    @abstractmethod
    def allowed(self, state: State) -> NDArray[np.bool_]:
        """Find the labels that may come next. *Shape:* (L,)."""

    @abstractmethod
    def next(self, state: State, label: int) -> State:
        """Move to the state after a label. It should hold only what determines the continuations,
        so that partial sequences with the same continuations share a state."""

    @abstractmethod
    def accepts(self, state: State) -> bool:
        """Check whether a sequence may end in a state."""

    def accepts_all(self, labels: NDArray[np.int64]) -> bool:
        """Check whether a whole sequence of labels (n,) is allowed."""
        state = self.start()
        for label in labels.tolist():
            if not self.allowed(state)[label]:
                return False
            state = self.next(state, label)
        return self.accepts(state)


class _Chain(NamedTuple):
    """The scores of one chain: emissions (n, L), with start and end in the first and last row;
    transition scores (n, L, L), or (1, L, L) for all tokens; and the best score of a completion
    after each label of each token (n, L)."""

    emissions: NDArray[np.float64]
    transition_scores: NDArray[np.float64]
    completion: NDArray[np.float64]

    def into(self, t: int) -> NDArray[np.float64]:
        """The scores of transitions from token t - 1 to token t. (L, L)"""
        return self.transition_scores[t % len(self.transition_scores)]


def best_accepted(
    potentials: Potentials, automaton: Automaton[Any], *, max_steps: int = MAX_STEPS
) -> NDArray[np.int64] | None:
    """Find the best label sequence (n,) of one chain that an automaton accepts; None if no accepted
    sequence has a score above -inf, or none was found in `max_steps`."""
    chain = _chain_of(potentials)
    n_tokens = len(chain.emissions)
    order = count()
    queue: list[tuple[float, int, _Family]] = []

    def push(family: _Family) -> None:
        if family.place < len(family.labels):
            promise = family.promises[family.labels[family.place]]
            heapq.heappush(queue, (-promise, next(order), family))

    first = chain.emissions[0]
    push(_Family.make(-1, None, automaton, automaton.start(), first, chain.completion[0]))
    seen = set()
    for _ in range(max_steps):
        if not queue:
            return None
        _, _, family = heapq.heappop(queue)
        label = int(family.labels[family.place])
        push(family._replace(place=family.place + 1))  # its next best label
        t = family.token + 1
        state = automaton.next(family.state, label)
        # Of partial sequences with the same continuations, the best one comes up first
        if (t, label, state) in seen:
            continue
        seen.add((t, label, state))
        if t + 1 == n_tokens:
            if automaton.accepts(state):
                return family.path(label)
            continue
        scores = family.scores[label] + chain.into(t + 1)[label] + chain.emissions[t + 1]
        completion = chain.completion[t + 1]
        push(_Family.make(t, (family, label), automaton, state, scores, completion))
    return None


class _Family(NamedTuple):
    """The continuations of a partial sequence, of which only one at a time is in the queue."""

    token: int
    parent: tuple[_Family, int] | None
    state: Hashable
    scores: NDArray[np.float64]
    promises: NDArray[np.float64]
    labels: NDArray[np.int64]
    place: int

    @classmethod
    def make(
        cls,
        token: int,
        parent: tuple[_Family, int] | None,
        automaton: Automaton[Any],
        state: Hashable,
        scores: NDArray[np.float64],
        completion: NDArray[np.float64],
    ) -> _Family:
        promises = np.where(automaton.allowed(state), scores + completion, -np.inf)
        labels = np.argsort(-promises, kind="stable")
        labels = labels[: np.count_nonzero(promises > -np.inf)]
        return cls(token, parent, state, scores, promises, labels, 0)

    def path(self, label: int) -> NDArray[np.int64]:
        labels = [label]
        parent = self.parent
        while parent is not None:
            family, before = parent
            labels.append(before)
            parent = family.parent
        return np.array(labels[::-1], dtype=np.int64)


def _chain_of(potentials: Potentials) -> _Chain:
    tensors = {
        name: tensor.detach().cpu().double().numpy()
        for name, tensor in potentials.tensors().items()
    }
    emissions = tensors["emissions"].copy()
    emissions[0] += tensors.get("start", 0.0)
    emissions[-1] += tensors.get("end", 0.0)
    n_labels = emissions.shape[1]
    transition_scores = tensors.get("transitions", np.zeros((n_labels, n_labels)))[None]
    if "pairwise" in tensors:
        transition_scores = transition_scores + tensors["pairwise"]
    completion = np.zeros_like(emissions)
    chain = _Chain(emissions, transition_scores, completion)
    for t in range(len(emissions) - 1, 0, -1):
        completion[t - 1] = (chain.into(t) + (emissions[t] + completion[t])).max(axis=1)
    return chain
