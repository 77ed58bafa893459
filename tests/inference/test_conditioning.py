"""Potentials conditioned on label sets, and at other temperatures."""

import numpy as np
import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials

from .brute_force import BruteForce, random_potentials
from .test_nbest import FIELDS, assert_k_best, with_forbidden

LENGTHS = (3, 0, 1, 4)
all_fields = pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")


@pytest.fixture
def allowed() -> torch.Tensor:
    sets = torch.rand(8, 3, generator=torch.Generator().manual_seed(1)) < 0.6
    sets[:, 1] = True
    sets[4] = torch.tensor([True, False, False])  # a known label
    return sets


@all_fields
def test_all_queries_are_about_the_sequences_within(fields, allowed):
    potentials = random_potentials(3, LENGTHS, fields=fields)
    # By Bayes: the same distribution without the sequences outside, renormalized
    brute = BruteForce(potentials)
    inside = allowed.numpy()
    rows = np.split(inside, np.cumsum(LENGTHS)[:-1])
    for n, (paths, scores) in enumerate(brute.chains):
        keep = rows[n][np.arange(paths.shape[1]), paths].all(axis=1)
        brute.chains[n] = (paths, np.where(keep, scores, -np.inf))
    within = potentials.within(allowed)
    chain = LinearChain(within)
    np.testing.assert_allclose(chain.marginals.numpy(), brute.marginals, atol=1e-10)
    assert chain.argmax.tolist() == brute.argmax.tolist()
    assert_k_best(chain.topk(4), within, 4)
    share = (chain.log_partition - LinearChain(potentials).log_partition).numpy()
    np.testing.assert_allclose(LinearChain(potentials).log_prob_of(allowed).numpy(), share)
    samples = chain.sample(20, generator=np.random.default_rng(0))
    assert bool(allowed.gather(1, samples).all())


def test_no_gradient_flows_to_what_is_forbidden(allowed):
    leaf = random_potentials(3, LENGTHS).requires_grad_()
    LinearChain(leaf.within(allowed)).log_partition.sum().backward()
    assert not leaf.emissions.grad[~allowed].any()


@pytest.mark.parametrize("allowed", [torch.ones(8, 3), torch.ones(7, 3, dtype=torch.bool)])
def test_sets_that_do_not_fit_are_refused(allowed):
    with pytest.raises(ValueError, match="P003"):
        random_potentials(3, LENGTHS).within(allowed)


@all_fields
@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0, torch.tensor(2.0), torch.tensor([0.5])])
def test_temperature_raises_all_probabilities_to_a_power(fields, temperature):
    potentials = with_forbidden(random_potentials(3, LENGTHS, fields=fields, seed=3), 0.1, 3)
    tempered = BruteForce(potentials.tempered(temperature))
    for (_, scores), (_, actual) in zip(
        BruteForce(potentials).chains, tempered.chains, strict=True
    ):
        np.testing.assert_allclose(actual, scores / float(temperature), rtol=1e-12, atol=1e-12)


def test_temperature_can_be_learned_where_labels_are_forbidden():
    potentials = with_forbidden(random_potentials(3, (5, 3), seed=1), 0.2, 1)
    labels = LinearChain(potentials).argmax

    def log_prob(temperature, emissions):
        scores = Potentials(emissions.masked_fill(forbidden, -torch.inf), (5, 3), *shared)
        return LinearChain(scores.tempered(temperature)).log_prob(labels)

    forbidden = potentials.emissions == -torch.inf
    shared = [potentials.transitions, potentials.start, potentials.end]
    inputs = (
        torch.tensor([1.7], dtype=torch.float64),
        potentials.emissions.masked_fill(forbidden, 0),
    )
    assert bool((log_prob(*inputs) > -torch.inf).all())
    assert torch.autograd.gradcheck(log_prob, tuple(t.requires_grad_() for t in inputs))


@pytest.mark.parametrize(
    "temperature", [0.0, -1.0, float("nan"), float("inf"), torch.tensor([1.0, 2.0])]
)
def test_temperatures_that_are_none_are_refused(temperature):
    with pytest.raises(ValueError, match="P019"):
        random_potentials(3, (2,)).tempered(temperature)
