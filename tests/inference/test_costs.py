"""Softmax-margin, against enumeration."""

import numpy as np
import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.inference.costs import cost_augmented, error_costs

from .brute_force import BruteForce, random_potentials, split
from .test_nbest import FIELDS

LENGTHS = (3, 0, 1, 4)
all_fields = pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")


def drawn_costs(n_labels: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(4)
    costs = torch.rand(n_labels, n_labels, generator=generator, dtype=torch.float64) * 3
    return costs.fill_diagonal_(0.0)


@all_fields
def test_log_prob_is_that_of_softmax_margin(fields):
    potentials = random_potentials(3, LENGTHS, fields=fields)
    labels, costs = torch.tensor([0, 2, 1, 1, 0, 0, 2, 1]), drawn_costs(3)
    log_prob = LinearChain(cost_augmented(potentials, labels, costs)).log_prob(labels)
    expected = []
    score = LinearChain(potentials).score(labels).numpy()
    golds = split(labels.numpy(), potentials)
    for (paths, scores), gold, own in zip(BruteForce(potentials).chains, golds, score, strict=True):
        of_paths = np.array([sum(costs[i, j] for i, j in zip(gold, p, strict=True)) for p in paths])
        expected.append(own - np.logaddexp.reduce(scores + of_paths))
    np.testing.assert_allclose(log_prob.numpy(), expected, atol=1e-10)


def test_unknown_labels_cost_nothing():
    potentials = random_potentials(3, (4,))
    labels = torch.tensor([-1, 2, -1, 0])
    augmented = cost_augmented(potentials, labels, drawn_costs(3))
    unknown = labels < 0
    assert torch.equal(augmented.emissions[unknown], potentials.emissions[unknown])
    assert torch.equal(augmented.emissions[1], potentials.emissions[1] + drawn_costs(3)[2])


def test_gradients_reach_scores_and_costs():
    potentials = random_potentials(3, (4, 2))
    labels = torch.tensor([0, 2, 1, -1, 0, 2])
    mask = 1 - torch.eye(3, dtype=torch.float64)

    def log_prob(emissions, transitions, costs):
        scores = Potentials(emissions, (4, 2), transitions)
        return LinearChain(cost_augmented(scores, labels, costs * mask)).log_prob(labels)

    inputs = (potentials.emissions, potentials.transitions, drawn_costs(3))
    assert torch.autograd.gradcheck(log_prob, tuple(t.requires_grad_() for t in inputs))


def test_forbidden_labels_stay_forbidden():
    emissions = torch.tensor([[0.0, -torch.inf]])
    augmented = cost_augmented(Potentials(emissions, (1,)), torch.tensor([0]), drawn_costs(2))
    assert augmented.emissions.tolist() == [[0.0, -torch.inf]]


def test_weights_multiply_the_odds_of_errors():
    potentials = random_potentials(3, (1,), fields=())
    missed = torch.tensor([1.0, 5.0, 2.0], dtype=torch.float64)
    invented = torch.tensor([4.0, 1.0, 0.5], dtype=torch.float64)
    odds = (potentials.emissions[0] - potentials.emissions[0, 1]).exp()
    for given, weights in [
        ({"missed": missed}, [5.0, 5.0]),
        ({"invented": invented}, [4.0, 0.5]),
        ({"missed": missed, "invented": invented}, [20.0, 2.5]),
    ]:
        augmented = cost_augmented(potentials, torch.tensor([1]), error_costs(**given))
        loss = -LinearChain(augmented).log_prob(torch.tensor([1])).item()
        expected = np.log(1 + weights[0] * odds[0] + weights[1] * odds[2])
        assert loss == pytest.approx(float(expected))


def test_weights_of_one_change_nothing():
    assert not error_costs(torch.ones(4)).any()


@pytest.mark.parametrize(
    "given,complaint",
    [
        ({}, "there are none"),
        ({"missed": torch.tensor([1.0, 0.0])}, "missed"),
        ({"invented": torch.tensor([1.0, torch.nan])}, "invented"),
        ({"invented": torch.ones(2, 2)}, "invented"),
        ({"missed": torch.ones(2), "invented": torch.ones(3)}, "differ in number"),
    ],
)
def test_weights_that_make_no_costs_are_refused(given, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        error_costs(**given)
    assert "P018" in str(error.value)


@pytest.mark.parametrize(
    "costs,complaint",
    [
        (torch.zeros(2, 3), "shape"),
        (torch.eye(3), "diagonal"),
        (torch.full((3, 3), torch.inf), "finite"),
    ],
)
def test_costs_that_do_not_fit_are_refused(costs, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        cost_augmented(random_potentials(3, (2,)), torch.tensor([0, 1]), costs)
    assert "P017" in str(error.value)


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="P003"):
        cost_augmented(random_potentials(3, (2,)), torch.tensor([0, 3]), drawn_costs(3))
