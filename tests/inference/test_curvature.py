"""The gradient of the marginals, computed by the scaled backend."""

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import Constraints, LinearChain, Potentials

from .brute_force import BruteForce, random_potentials

LENGTHS = (3, 0, 1, 4, 2)
FIELDS = [
    ("transitions", "start", "end"),
    ("transitions",),
    ("start", "end"),
    ("transitions", "start", "end", "pairwise"),
    ("pairwise",),
]

all_fields = pytest.mark.parametrize("fields", FIELDS, ids="+".join)


def random_direction(potentials: Potentials, seed: int = 9) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = potentials.emissions.shape
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def gradients(
    potentials: Potentials, direction: torch.Tensor, backend: str = "scaled"
) -> dict[str, torch.Tensor]:
    leaf = potentials.requires_grad_()
    (LinearChain(leaf, backend=backend).marginals.double() * direction).sum().backward()
    return leaf.gradients()


@all_fields
def test_gradient_is_a_covariance(fields):
    potentials = random_potentials(3, LENGTHS, fields=fields)
    direction = random_direction(potentials)
    expected = BruteForce(potentials).curvature(direction.numpy())
    for name, gradient in gradients(potentials, direction).items():
        np.testing.assert_allclose(gradient, expected[name], atol=1e-12, err_msg=name)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=5),
    n_labels=st.integers(1, 20),
    fields=st.sampled_from(FIELDS),
)
def test_like_the_derivative_by_autograd(lengths, n_labels, fields):
    potentials = random_potentials(n_labels, lengths, fields=fields, scale=3.0)
    direction = random_direction(potentials)
    expected = gradients(potentials, direction, "logspace")
    for name, gradient in gradients(potentials, direction).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-9, atol=1e-10)


def test_numbers_added_to_all_labels_of_a_token_change_nothing():
    potentials = random_potentials(3, LENGTHS)
    direction = random_direction(potentials)
    shifted = direction + torch.arange(float(potentials.n_tokens)).unsqueeze(1) * 100
    expected = gradients(potentials, direction)
    for name, gradient in gradients(potentials, shifted).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-9, atol=1e-10)


def test_types_of_the_potentials():
    potentials = random_potentials(3, LENGTHS, dtype=torch.float32)
    leaf = potentials.requires_grad_()
    marginals = LinearChain(leaf, backend="scaled").marginals
    marginals.square().sum().backward()
    assert marginals.dtype == torch.float32
    assert {gradient.dtype for gradient in leaf.gradients().values()} == {torch.float32}


def test_forbidden_transitions_get_no_gradient():
    potentials = random_potentials(3, (6, 4, 1))
    allowed = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    every = np.ones(3, dtype=bool)
    constraints = Constraints(allowed, every, every)
    leaf = potentials.requires_grad_()
    LinearChain(leaf, constraints=constraints).marginals.square().sum().backward()
    expected = BruteForce(constraints.apply(potentials))
    wanted = expected.curvature(2 * expected.marginals)
    for name, gradient in leaf.gradients().items():
        np.testing.assert_allclose(gradient, wanted[name], atol=1e-12, err_msg=name)
    assert (leaf.gradients()["transitions"] != 0).numpy().tolist() == allowed.tolist()


def test_impossible_chain_leaves_its_batch_mates_alone():
    potentials = random_potentials(3, (2, 3))
    direction = random_direction(potentials)
    potentials.emissions[1] = -torch.inf
    found = gradients(potentials, direction)
    alone = Potentials(
        potentials.emissions[2:], (3,), potentials.transitions, potentials.start, potentials.end
    )
    expected = gradients(alone, direction[2:])
    assert not found["emissions"][:2].any()
    assert torch.allclose(found["emissions"][2:], expected["emissions"], atol=1e-12)
    for name in ("transitions", "start", "end"):
        assert torch.allclose(found[name], expected[name], atol=1e-12)


def test_chains_that_leave_the_exp_domain_and_others_in_one_batch():
    # The first chain's only path to label 1 is 5000 nats behind: it needs the log domain
    potentials = random_potentials(2, (4, 3))
    potentials.emissions[:4] = torch.tensor([[0.0, -5000], [0, -5000], [-5000, 0], [0.5, 0]])
    potentials.transitions[0, 1] = potentials.transitions[1, 0] = -1e4
    direction = random_direction(potentials)
    expected = BruteForce(potentials).curvature(direction.numpy())
    for name, gradient in gradients(potentials, direction).items():
        np.testing.assert_allclose(gradient, expected[name], atol=1e-9, err_msg=name)


def test_long_chains():
    potentials = random_potentials(4, (2000,))
    direction = random_direction(potentials)
    expected = gradients(potentials, direction, "logspace")
    for name, gradient in gradients(potentials, direction).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("what", ["log_partition", "marginals"])
def test_memory_is_linear_in_tokens_times_labels(what):
    n_labels, n_tokens = 60, 1500
    potentials = random_potentials(n_labels, (500, 1000)).requires_grad_()
    tracemalloc.start()
    getattr(LinearChain(potentials, backend="scaled"), what).square().sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # (N, L, L) would take 60 * n_tokens * n_labels * 8
    assert peak < 20 * n_tokens * n_labels * 8
