"""Random sampling of label sequences: the exact distribution of the procedure, and frequencies."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import Constraints, LinearChain, Potentials
from spacy_psa.inference.engines.trellis import Trellis
from spacy_psa.inference.sampling import draw, sampled_paths

from .brute_force import BruteForce, random_potentials
from .test_nbest import FIELDS, with_forbidden

all_fields = pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")


def conditionals(potentials: Potentials) -> dict[tuple[int, ...], np.ndarray]:
    """For one chain, map each suffix of a sequence to the distribution of the label before it, by
    enumeration. Impossible suffixes are left out.
    """
    ((paths, scores),) = BruteForce(potentials).chains
    n, found = paths.shape[1], {}
    for size in range(n):
        for ending in itertools.product(range(potentials.n_labels), repeat=size):
            agree = (paths[:, n - size :] == ending).all(axis=1)
            rest = np.exp(scores[agree] - scores.max())
            if rest.sum():
                labels = paths[agree, n - size - 1]
                found[ending] = np.bincount(labels, rest, potentials.n_labels) / rest.sum()
    return found


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    length=st.integers(1, 4),
    n_labels=st.integers(1, 3),
    seed=st.integers(0, 1000),
    fields=st.sampled_from(FIELDS),
    forbidden=st.sampled_from([0.0, 0.3]),
)
def test_numbers_are_turned_into_labels_by_the_conditional_distributions(
    length, n_labels, seed, fields, forbidden
):
    # A uniform number u gives label j if cdf(j - 1) <= u < cdf(j), so label j has exactly its
    # conditional probability, given the labels after it
    potentials = random_potentials(n_labels, (length,), seed=seed, fields=fields)
    potentials = with_forbidden(potentials, forbidden, seed)
    if BruteForce(potentials).max_score[0] == -np.inf:
        return
    uniform = torch.from_numpy(np.random.default_rng(seed).random((length, 50)))
    drawn = sampled_paths(Trellis(potentials), uniform).numpy()
    distributions = conditionals(potentials)
    for path, numbers in zip(drawn.T, uniform.numpy().T, strict=True):
        for at in range(length):
            cdf = distributions[tuple(path[at + 1 :])].cumsum()
            below = cdf[path[at] - 1] if path[at] else 0.0
            assert below - 1e-9 <= numbers[at] <= cdf[path[at]] + 1e-9


@all_fields
def test_frequencies_are_probabilities(fields):
    potentials = random_potentials(3, (2, 0, 1, 3), fields=fields, scale=1.0)
    n = 20_000
    samples = LinearChain(potentials).sample(n, generator=torch.Generator().manual_seed(1))
    for drawn, (paths, scores) in zip(
        samples.split(potentials.lengths), BruteForce(potentials).chains, strict=True
    ):
        expected = np.exp(scores - np.logaddexp.reduce(scores)) * n
        weights = 3 ** np.arange(len(drawn))[::-1]
        counts = np.bincount(weights @ drawn.numpy(), minlength=len(paths))
        chi_square = ((counts - expected) ** 2 / expected).sum()
        # With d degrees of freedom, mean d and variance 2d: the limit is 5 standard deviations up
        degrees = len(paths) - 1
        assert chi_square <= degrees + 5 * np.sqrt(2 * degrees)


def test_samples_of_a_sequence_and_of_different_chains_are_independent():
    potentials = Potentials(torch.zeros(4, 2), (2, 2), torch.zeros(2, 2))
    samples = LinearChain(potentials).sample(20_000, generator=np.random.default_rng(0)).double()
    correlation = torch.corrcoef(samples) - torch.eye(4)
    assert float(correlation.abs().max()) < 5 / np.sqrt(20_000)
    successive = torch.corrcoef(torch.stack([samples[0, 1:], samples[0, :-1]]))[0, 1]
    assert abs(float(successive)) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize(
    "seeded", [lambda seed: torch.Generator().manual_seed(seed), np.random.default_rng]
)
def test_generators_make_samples_reproducible(seeded):
    chain = LinearChain(random_potentials(5, (20, 3)))
    first = chain.sample(4, generator=seeded(7))
    assert torch.equal(first, chain.sample(4, generator=seeded(7)))
    assert not torch.equal(first, chain.sample(4, generator=seeded(8)))


def test_global_seed_counts_where_no_generator_is_given():
    chain = LinearChain(random_potentials(5, (20, 3)))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        first = chain.sample(4)
        torch.manual_seed(3)
        assert torch.equal(first, chain.sample(4))


def test_only_possible_sequences_are_drawn():
    potentials = random_potentials(3, (6, 2, 9), scale=6.0)
    allowed = torch.tensor([[True, False, True], [True, True, False], [False, True, True]])
    constraints = Constraints(allowed, torch.tensor([True, False, True]), torch.ones(3).bool())
    chain = LinearChain(potentials, constraints=constraints)
    for labels in chain.sample(50, generator=np.random.default_rng(0)).t():
        assert bool((chain.log_prob(labels) > -torch.inf).all())


def test_nothing_is_drawn_where_nothing_is_possible():
    emissions = torch.zeros(3, 2)
    emissions[1] = -torch.inf
    samples = LinearChain(Potentials(emissions, (2, 0, 1), torch.zeros(2, 2))).sample(3)
    assert samples[:2].tolist() == [[-1] * 3] * 2
    assert bool((samples[2] >= 0).all())


@pytest.mark.parametrize("lengths", [(), (0, 0)])
def test_batch_without_tokens(lengths):
    assert LinearChain(random_potentials(3, lengths)).sample(2).shape == (0, 2)


def test_draw_never_takes_what_is_impossible():
    scores = torch.tensor([[[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]]], dtype=torch.float64)
    largest = 1.0 - 2.0**-53
    uniform = torch.tensor([[0.0, 0.5 - 1e-12, 0.5 + 1e-12, largest]], dtype=torch.float64)
    for size in (0.0, 0.3, -700.0):
        drawn = draw(scores + size, uniform)
        assert drawn.tolist() == [[1, 1, 3, 3]]


def test_largest_random_number_is_small_enough_for_all_totals():
    scores = torch.randn(200, 1, 4, generator=torch.Generator().manual_seed(0)).double()
    scores[:, :, -1] = -torch.inf
    uniform = torch.full((200, 1), 1.0 - 2.0**-53, dtype=torch.float64)
    drawn = draw(scores, uniform)
    assert drawn.flatten().tolist() == [2] * 200


@pytest.mark.parametrize("n", [0, -3, 1.5])
def test_n_has_to_be_a_whole_number_above_zero(n):
    with pytest.raises(ValueError, match="P014"):
        LinearChain(random_potentials(3, (2,))).sample(n)
