"""The probabilities of partial label sequences, against enumeration."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import LinearChain, Potentials

from .brute_force import BruteForce, random_potentials
from .test_nbest import FIELDS, with_forbidden

all_fields = pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")


def all_spans(lengths) -> list[tuple[int, int]]:
    spans, offset = [], 0
    for length in lengths:
        places = range(offset, offset + length + 1)
        spans += [(start, stop) for start in places for stop in places if start <= stop]
        offset += length
    return spans


def drawn_sets(spans, n_labels: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(sum(b - a for a, b in spans), n_labels, generator=generator) < 0.6


def enumerated(potentials: Potentials, spans, allowed: torch.Tensor) -> list[float]:
    """One constrained sum over all sequences for each query; 0 in an impossible chain."""
    brute, results, offset = BruteForce(potentials), [], 0
    chain_of_token = np.repeat(np.arange(len(potentials.lengths)), potentials.lengths)
    for start, stop in spans:
        sets = np.ones((potentials.n_tokens, potentials.n_labels), dtype=bool)
        sets[start:stop] = allowed[offset : offset + stop - start].numpy()
        offset += stop - start
        if start == stop:
            results.append(1.0)
        elif brute.log_partition[chain_of_token[start]] == -np.inf:
            results.append(0.0)
        else:
            results.append(float(np.exp(brute.log_prob_of(sets)[chain_of_token[start]])))
    return results


@pytest.mark.filterwarnings("ignore:invalid value")  # -inf - -inf of impossible chains
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(0, 4), max_size=4),
    n_labels=st.integers(1, 3),
    seed=st.integers(0, 1000),
    fields=st.sampled_from(FIELDS),
    forbidden=st.sampled_from([0.0, 0.2, 0.6]),
    scale=st.sampled_from([1.5, 30.0]),
)
def test_equals_enumeration(lengths, n_labels, seed, fields, forbidden, scale):
    potentials = random_potentials(n_labels, lengths, seed=seed, fields=fields, scale=scale)
    potentials = with_forbidden(potentials, forbidden, seed)
    spans = all_spans(lengths)
    allowed = drawn_sets(spans, n_labels, seed)
    probabilities = LinearChain(potentials).span_probs(spans, allowed)
    expected = enumerated(potentials, spans, allowed)
    np.testing.assert_allclose(probabilities.numpy(), expected, rtol=1e-7, atol=1e-11)


@all_fields
def test_single_labels_have_their_marginal_probabilities(fields):
    potentials = random_potentials(4, (9, 0, 3), fields=fields)
    chain = LinearChain(potentials)
    spans = np.stack([np.repeat(np.arange(12), 4), np.repeat(np.arange(12), 4) + 1], axis=1)
    allowed = torch.eye(4, dtype=torch.bool).repeat(12, 1)
    assert torch.allclose(
        chain.span_probs(spans, allowed), chain.marginals.flatten(), rtol=1e-9, atol=1e-14
    )


def test_whole_chains_are_as_likely_as_their_sets():
    potentials = random_potentials(5, (20, 7, 31), dtype=torch.float32)
    chain = LinearChain(potentials)
    allowed = torch.rand(58, 5, generator=torch.Generator().manual_seed(0)) < 0.9
    probabilities = chain.span_probs(torch.tensor([[0, 20], [20, 27], [27, 58]]), allowed)
    assert torch.allclose(probabilities, chain.log_prob_of(allowed).exp(), rtol=1e-9)


def test_whatever_is_allowed_everywhere_is_certain():
    potentials = random_potentials(4, (6, 3), scale=50.0)
    spans = all_spans((6, 3))
    allowed = torch.ones(sum(b - a for a, b in spans), 4, dtype=torch.bool)
    probabilities = LinearChain(potentials).span_probs(spans, allowed)
    assert bool((probabilities <= 1.0).all())
    assert torch.allclose(probabilities, torch.ones(len(spans), dtype=torch.float64))


def test_tiny_probabilities_are_numbers_between_zero_and_one():
    emissions = torch.zeros(6, 2, dtype=torch.float64)
    emissions[:, 1] = -400.0  # label 1 at all tokens has the probability e^-2400
    potentials = Potentials(emissions, (6,), torch.tensor([[0.0, -torch.inf], [0.0, 0.0]]).double())
    spans = [(0, 1), (0, 2), (0, 6), (2, 3)]
    allowed = torch.tensor([[False, True]]).repeat(10, 1)
    probabilities = LinearChain(potentials).span_probs(spans, allowed)
    assert bool(((probabilities >= 0) & (probabilities < 1e-170)).all())
    assert probabilities[0].log() == pytest.approx(-400.0)


def test_empty_sets_are_impossible():
    potentials = random_potentials(3, (4,))
    allowed = torch.ones(5, 3, dtype=torch.bool)
    allowed[1] = False
    probabilities = LinearChain(potentials).span_probs([(0, 3), (1, 3)], allowed)
    assert probabilities.tolist() == [0.0, pytest.approx(1.0)]


@pytest.mark.parametrize("lengths", [(3, 2), (0,), ()])
def test_no_questions(lengths):
    chain = LinearChain(random_potentials(3, lengths))
    assert chain.span_probs([], torch.ones(0, 3, dtype=torch.bool)).shape == (0,)


@pytest.mark.parametrize(
    "spans,n_rows,code",
    [
        ([(0, 4)], 4, "P016"),  # into the next chain
        ([(-1, 1)], 2, "P016"),
        ([(2, 1)], 0, "P016"),
        ([(4, 6)], 2, "P016"),
        ([(7, 7)], 0, "P016"),
        ([(0.0, 1.0)], 1, "P016"),
        ([0, 1], 1, "P016"),
        ([(0, 2)], 3, "P015"),
    ],
)
def test_what_does_not_fit_is_refused(spans, n_rows, code):
    chain = LinearChain(random_potentials(3, (3, 0, 2)))
    with pytest.raises(ValueError, match=code):
        chain.span_probs(spans, torch.ones(n_rows, 3, dtype=torch.bool))


def test_sets_have_to_be_booleans():
    with pytest.raises(ValueError, match="P015"):
        LinearChain(random_potentials(3, (2,))).span_probs([(0, 1)], torch.ones(1, 3))
