"""The entropy of distributions over label sequences, against enumeration."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import LinearChain, Potentials

from .brute_force import BruteForce, random_potentials
from .test_nbest import FIELDS, with_forbidden


def enumerated_entropy(potentials: Potentials) -> np.ndarray:
    """−Σ p log p, sequence by sequence."""
    brute, entropies = BruteForce(potentials), []
    for (_, scores), log_z in zip(brute.chains, brute.log_partition, strict=True):
        logs = scores[scores > -np.inf] - log_z
        entropies.append(-(np.exp(logs) * logs).sum())
    return np.array(entropies)


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
@pytest.mark.parametrize("n_labels,lengths", [(3, (4, 0, 2, 1, 5)), (1, (3, 0, 1)), (5, (1, 2))])
def test_equals_enumeration(fields, n_labels, lengths):
    potentials = random_potentials(n_labels, lengths, fields=fields)
    entropy = LinearChain(potentials).entropy
    np.testing.assert_allclose(entropy.numpy(), enumerated_entropy(potentials), atol=1e-10)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(0, 4), max_size=4),
    n_labels=st.integers(1, 4),
    seed=st.integers(0, 1000),
    fields=st.sampled_from(FIELDS),
    forbidden=st.sampled_from([0.0, 0.3, 0.7]),
    scale=st.sampled_from([0.1, 3.0, 200.0]),
)
def test_equals_enumeration_with_forbidden_labels(
    lengths, n_labels, seed, fields, forbidden, scale
):
    potentials = random_potentials(n_labels, lengths, seed=seed, fields=fields, scale=scale)
    potentials = with_forbidden(potentials, forbidden, seed)
    entropy = LinearChain(potentials).entropy
    np.testing.assert_allclose(entropy.numpy(), enumerated_entropy(potentials), atol=1e-9)


def test_all_sequences_alike():
    potentials = Potentials(torch.zeros(7, 4), (3, 4, 0), torch.zeros(4, 4))
    expected = torch.tensor([3.0, 4.0, 0.0], dtype=torch.float64) * np.log(4)
    assert torch.allclose(LinearChain(potentials).entropy, expected)


def test_certain_and_impossible_chains_have_none():
    certain = torch.full((3, 2), -torch.inf)
    certain[:, 0] = 5.0
    emissions = torch.cat([certain, torch.full((2, 2), -torch.inf)])
    entropy = LinearChain(Potentials(emissions, (3, 2), torch.zeros(2, 2))).entropy
    assert entropy.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
def test_gradients(fields):
    potentials = random_potentials(3, (3, 1, 0, 4), fields=fields)
    names = list(potentials.tensors())

    def entropy(*tensors):
        fields = dict(zip(names, tensors, strict=True))
        return LinearChain(Potentials(lengths=potentials.lengths, **fields)).entropy

    tensors = tuple(potentials.requires_grad_().tensors().values())
    assert torch.autograd.gradcheck(entropy, tensors)


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
def test_second_derivatives(fields):
    potentials = random_potentials(2, (2, 1, 3), fields=fields)
    names = list(potentials.tensors())

    def entropy(*tensors):
        fields = dict(zip(names, tensors, strict=True))
        return LinearChain(Potentials(lengths=potentials.lengths, **fields)).entropy.sum()

    tensors = tuple(potentials.requires_grad_().tensors().values())
    assert torch.autograd.gradgradcheck(entropy, tensors)


def test_gradients_where_only_logarithms_have_the_range():
    # Label 0 is by far the best, but a dead end; the exponentials of the rest underflow in float64
    emissions = torch.tensor([[0.0, -900.0, -901.0], [0.0, 1.0, 2.0], [0.5, 0.0, 1.0]]).double()
    transitions = torch.zeros(3, 3, dtype=torch.float64)
    transitions[0] = -torch.inf
    leaf = Potentials(emissions, (3,), transitions).requires_grad_()
    LinearChain(leaf).entropy.sum().backward()
    shifted = emissions.clone()
    shifted[0, 1:] += 900.0  # the same shift for all possible sequences
    near = Potentials(shifted, (3,), transitions).requires_grad_()
    LinearChain(near).entropy.sum().backward()
    assert torch.allclose(leaf.emissions.grad, near.emissions.grad, atol=1e-9)
    assert torch.allclose(leaf.transitions.grad, near.transitions.grad, atol=1e-9)
    assert float(near.emissions.grad.abs().max()) > 0.01


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
@pytest.mark.parametrize("forbidden", [0.3, 1.0])
def test_gradients_are_finite_where_scores_are_not(fields, forbidden):
    potentials = with_forbidden(random_potentials(3, (3, 1, 0, 4), fields=fields), forbidden, 1)
    leaf = potentials.requires_grad_()
    LinearChain(leaf).entropy.sum().backward()
    for name, gradient in leaf.gradients().items():
        assert bool(gradient.isfinite().all())
        assert not gradient[potentials.tensors()[name] == -torch.inf].any()


def test_batch_without_tokens_has_gradients_of_zero():
    leaf = random_potentials(3, (0, 0)).requires_grad_()
    entropy = LinearChain(leaf).entropy
    entropy.sum().backward()
    assert entropy.tolist() == [0.0, 0.0]
    assert not leaf.gradients()["transitions"].any()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=6),
    n_labels=st.integers(1, 6),
    seed=st.integers(0, 1000),
)
def test_is_log_z_minus_the_expected_score(lengths, n_labels, seed):
    potentials = random_potentials(n_labels, lengths, seed=seed)
    chain = LinearChain(potentials)
    counts = chain.expected_counts()
    expected = chain.log_partition.sum() - (chain.marginals * potentials.emissions).sum()
    for name, count in counts._asdict().items():
        expected = expected - (count * getattr(potentials, name)).sum()
    assert chain.entropy.sum().item() == pytest.approx(expected.item(), abs=1e-8)
