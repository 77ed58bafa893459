"""The search for the best accepted sequence, against trying all sequences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.inference.search import Automaton, best_accepted

N_LABELS = 3
FIELDS = {
    "transitions": (N_LABELS, N_LABELS),
    "start": (N_LABELS,),
    "end": (N_LABELS,),
}


class AtMostOnce(Automaton):
    """Label 1 occurs at most once, and label 2 only if label 1 occurs, too."""

    def start(self):
        return False, False

    def allowed(self, state):
        return np.array([True, not state[0], True])

    def next(self, state, label):
        return state[0] or label == 1, state[1] or label == 2

    def accepts(self, state):
        return state[0] or not state[1]


def potentials(n_tokens: int, seed: int, fields: tuple[str, ...], pairwise: bool) -> Potentials:
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 2

    tensors = {name: random(*FIELDS[name]) for name in fields}
    if pairwise:
        tensors["pairwise"] = random(n_tokens, N_LABELS, N_LABELS)
    return Potentials(random(n_tokens, N_LABELS), (n_tokens,), **tensors)


@settings(max_examples=60, deadline=None)
@given(
    n_tokens=st.integers(1, 5),
    seed=st.integers(0, 10_000),
    fields=st.sampled_from([(), ("transitions",), ("transitions", "start", "end"), ("end",)]),
    pairwise=st.booleans(),
)
def test_the_best_accepted_sequence_is_found(n_tokens, seed, fields, pairwise):
    chain = potentials(n_tokens, seed, fields, pairwise)
    automaton = AtMostOnce()

    def score(labels):
        return float(LinearChain(chain).score(torch.tensor(labels)))

    accepted = [
        labels
        for labels in product(range(N_LABELS), repeat=n_tokens)
        if labels.count(1) <= 1 and (1 in labels or 2 not in labels)
    ]
    assert all(automaton.accepts_all(np.array(labels)) for labels in accepted)
    assert score(best_accepted(chain, automaton)) == pytest.approx(max(map(score, accepted)))


def test_accepted_sequences_are_told_from_others():
    automaton = AtMostOnce()
    assert automaton.accepts_all(np.array([0, 2, 1]))
    assert not automaton.accepts_all(np.array([1, 0, 1]))
    assert not automaton.accepts_all(np.array([0, 2]))


def test_impossible_sequences_are_not_found():
    emissions = torch.tensor([[-torch.inf, 0.0, -torch.inf]] * 2)
    assert best_accepted(Potentials(emissions, (2,)), AtMostOnce()) is None


def test_the_search_ends_after_its_steps():
    chain = potentials(5, 0, (), pairwise=False)
    assert best_accepted(chain, AtMostOnce(), max_steps=2) is None
