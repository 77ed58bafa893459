"""Marginals of the best label sequences."""

from __future__ import annotations

import pytest
import torch

from benchmarks.best_sequences import best_edges
from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.inference.edge_marginals import START, pair_marginals


def test_all_sequences_have_the_exact_marginals() -> None:
    torch.manual_seed(0)
    chain = LinearChain(Potentials(torch.randn(5, 3), (2, 3), torch.randn(3, 3)))
    exact = pair_marginals(chain)
    every = best_edges(chain, 27)
    dense = []
    for edges in (exact, every):
        found = torch.zeros(5, 4, 3)
        found[edges.token, edges.before - START, edges.after] = edges.probability
        dense.append(found)
    assert torch.allclose(dense[0], dense[1], atol=1e-6)


def test_the_best_sequence_is_certain() -> None:
    torch.manual_seed(0)
    chain = LinearChain(Potentials(torch.randn(5, 3), (2, 3), torch.randn(3, 3)))
    edges = best_edges(chain, 1)
    assert edges.after.tolist() == chain.argmax.tolist()
    assert edges.probability.tolist() == [1.0] * 5
    for k in (2, 4):
        two = best_edges(chain, k)
        total = torch.zeros(5).index_add(0, two.token, two.probability)
        assert total.tolist() == pytest.approx([1.0] * 5)
