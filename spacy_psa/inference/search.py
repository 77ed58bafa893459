"""The best label sequence of those that an automaton accepts: A* over a linear chain.

Rules such as 'at most one A0' are about the whole sequence, so that Viterbi's algorithm cannot keep
them: it would need a table for each set of roles. Search visits only what promises well. Partial
sequences grow from the left, the most promising first; the promise is the score so far and that of
the best completion without rules, which Viterbi's recursion from the right knows for every label of
every token. It is never too low, so that the first complete sequence that comes up is the best one.
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
"""What an automaton remembers."""


class Automaton(ABC, Generic[State]):
    """Which label sequences are allowed, label by label."""

    @abstractmethod
    def start(self) -> State:
        """RETURNS (State): What is to be remembered before the first label."""

    @abstractmethod
    def allowed(self, state: State) -> NDArray[np.bool_]:
        """Say which labels may come next.

        state (State): What is remembered.
        RETURNS (NDArray): Shape: (L,).
        """

    @abstractmethod
    def next(self, state: State, label: int) -> State:
        """Say what to remember after a label.

        state (State): What was remembered before it.
        label (int): The label.
        RETURNS (State): As little as tells what may follow, so that partial sequences which are
            alike from now on have the same state.
        """

    @abstractmethod
    def accepts(self, state: State) -> bool:
        """Say whether a sequence may end.

        state (State): What is remembered after the last label.
        RETURNS (bool): Whether it may.
        """

    def accepts_all(self, labels: NDArray[np.int64]) -> bool:
        """Say whether a whole sequence is allowed.

        labels (NDArray): The labels. Shape: (n,).
        RETURNS (bool): Whether it is.
        """
        state = self.start()
        for label in labels.tolist():
            if not self.allowed(state)[label]:
                return False
            state = self.next(state, label)
        return self.accepts(state)


class _Chain(NamedTuple):
    """The scores of one chain, in float64.

    emissions (NDArray): Start and end are in the rows of the first and the last token. (n, L)
    moves (NDArray): The score of each label after each. (n, L, L), or (1, L, L) for all tokens.
    completion (NDArray): The best score of what follows each label of each token. (n, L)
    """

    emissions: NDArray[np.float64]
    moves: NDArray[np.float64]
    completion: NDArray[np.float64]

    def into(self, t: int) -> NDArray[np.float64]:
        """The scores of labels of token t after those of the one before. (L, L)"""
        return self.moves[t % len(self.moves)]


def best_accepted(
    potentials: Potentials, automaton: Automaton[Any], *, max_steps: int = MAX_STEPS
) -> NDArray[np.int64] | None:
    """The best label sequence that is allowed.

    potentials (Potentials): The scores of one chain of one token at least.
    automaton (Automaton): What is allowed.
    max_steps (int): Partial sequences to visit at most.
    RETURNS (Optional[NDArray]): The labels, shape (n,); None if there is no sequence with a score
        above -inf, or none was found in `max_steps`.
    """
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
        push(family.sibling())
        t = family.token + 1
        state = automaton.next(family.state, label)
        # Of partial sequences that are alike from now on the best one comes up first.
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
    """The continuations of a partial sequence, of which one waits in the queue at a time."""

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

    def sibling(self) -> _Family:
        return self._replace(place=self.place + 1)

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
    moves = tensors.get("transitions", np.zeros((n_labels, n_labels)))[None]
    if "pairwise" in tensors:
        moves = moves + tensors["pairwise"]
    completion = np.zeros_like(emissions)
    chain = _Chain(emissions, moves, completion)
    for t in range(len(emissions) - 1, 0, -1):
        completion[t - 1] = (chain.into(t) + (emissions[t] + completion[t])).max(axis=1)
    return chain
