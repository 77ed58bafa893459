"""Temperature fitting, against enumeration and a fine grid."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.calibration.temperature import HIGHEST, LOWEST, LabeledBatch, fit_temperature
from spacy_psa.inference import Constraints, LinearChain, Potentials

from ..inference.brute_force import BruteForce, random_potentials

LENGTHS = (3, 0, 2, 4, 1, 3)
FIELDS = [(), ("transitions",), ("transitions", "start", "end", "pairwise")]


def gold_of(potentials: Potentials, *, temperature: float = 1.0, seed: int = 0) -> torch.Tensor:
    """Labels sampled from the model at a temperature, at which it is perfectly calibrated."""
    generator = torch.Generator().manual_seed(seed)
    chain = LinearChain(potentials.tempered(temperature))
    return chain.sample(1, generator=generator).squeeze(1)


def enumerated_nll(batch: LabeledBatch, temperature: float) -> float:
    """The mean NLL of chains with a known label, by enumeration of label sequences."""
    potentials = batch.potentials
    tensors = {name: tensor / temperature for name, tensor in potentials.tensors().items()}
    if batch.bias is not None:
        tensors["emissions"] = tensors["emissions"] + batch.bias
    log_probs = BruteForce(Potentials(lengths=potentials.lengths, **tensors)).log_prob(
        batch.labels.numpy()
    )
    parts = torch.split(batch.labels, list(potentials.lengths))
    known = [bool((part >= 0).any()) for part in parts]
    return float(-log_probs[np.array(known) & np.isfinite(log_probs)].mean())


def assert_best_of_grid(batch: LabeledBatch, found: float) -> None:
    """Check that no temperature on a grid is better."""
    grid = np.exp(np.linspace(np.log(LOWEST), np.log(HIGHEST), 60))
    least = min(enumerated_nll(batch, temperature) for temperature in grid)
    assert enumerated_nll(batch, found) <= least + 1e-9


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
def test_no_temperature_of_a_grid_is_better(fields):
    potentials = random_potentials(3, LENGTHS, fields=fields, scale=2.0)
    batch = LabeledBatch(potentials, gold_of(potentials, temperature=2.0))
    fit = fit_temperature([batch])
    assert_best_of_grid(batch, fit.temperature)
    assert fit.nll_before == pytest.approx(enumerated_nll(batch, 1.0))
    assert fit.nll_after == pytest.approx(enumerated_nll(batch, fit.temperature))
    assert fit.nll_after < fit.nll_before


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    scale=st.sampled_from([0.1, 2.0, 30.0]),
    temperature=st.sampled_from([0.3, 1.0, 4.0]),
    initial=st.sampled_from([0.1, 1.0, 15.0]),
)
def test_no_temperature_of_a_grid_is_better_wherever_it_starts(seed, scale, temperature, initial):
    potentials = random_potentials(2, (3, 2, 3), seed=seed, scale=scale)
    batch = LabeledBatch(potentials, gold_of(potentials, temperature=temperature, seed=seed))
    fit = fit_temperature([batch], initial=initial)
    assert LOWEST <= fit.temperature <= HIGHEST
    assert_best_of_grid(batch, fit.temperature)


def test_factor_multiplies_the_temperature():
    potentials = random_potentials(3, [6] * 30)
    labels = gold_of(potentials, temperature=1.5)
    fit = fit_temperature([(potentials, labels)])
    sharpened = fit_temperature([(potentials.tempered(0.25), labels)])
    assert sharpened.temperature == pytest.approx(4.0 * fit.temperature, rel=1e-4)


def test_batches_are_taken_together():
    potentials = random_potentials(3, [4] * 6)
    labels = gold_of(potentials, temperature=2.0)
    whole = fit_temperature([(potentials, labels)])
    parts = [
        (
            replace(potentials, emissions=potentials.emissions[first:last], lengths=lengths),
            labels[first:last],
        )
        for first, last, lengths in ((0, 8, (4, 4)), (8, 24, (4,) * 4))
    ]
    assert fit_temperature(iter(parts)).temperature == pytest.approx(whole.temperature, rel=1e-6)


def test_unknown_labels_are_summed_over():
    potentials = random_potentials(3, LENGTHS, scale=2.0)
    labels = gold_of(potentials, temperature=1.5)
    labels[[1, 4, 7]] = -1
    batch = LabeledBatch(potentials, labels)
    fit = fit_temperature([batch])
    assert_best_of_grid(batch, fit.temperature)
    assert fit.nll_after == pytest.approx(enumerated_nll(batch, fit.temperature))


def test_chains_without_known_labels_are_left_out_and_counted():
    potentials = random_potentials(3, [4] * 5)
    labels = gold_of(potentials, temperature=2.0)
    labels[4:8] = -1
    rest = torch.cat([potentials.emissions[:4], potentials.emissions[8:]])
    without = replace(potentials, emissions=rest, lengths=(4,) * 4)
    expected = fit_temperature([(without, torch.cat([labels[:4], labels[8:]]))])
    fit = fit_temperature([(potentials, labels)])
    assert (fit.n_chains, fit.n_unknown, fit.n_impossible) == (4, 1, 0)
    assert fit.temperature == pytest.approx(expected.temperature, rel=1e-6)
    assert fit.nll_after == pytest.approx(expected.nll_after)


def test_impossible_chains_are_left_out_and_counted():
    constraints = Constraints(
        torch.tensor([[True, False], [True, True]]), torch.ones(2).bool(), torch.ones(2).bool()
    )
    potentials = random_potentials(2, (3, 3, 3, 3))
    labels = torch.tensor([1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0])  # the second has 0 → 1
    fit = fit_temperature([(potentials, labels)], constraints=constraints)
    assert (fit.n_chains, fit.n_unknown, fit.n_impossible) == (3, 0, 1)
    batch = LabeledBatch(constraints.apply(potentials), labels)
    assert_best_of_grid(batch, fit.temperature)
    assert fit.nll_before == pytest.approx(enumerated_nll(batch, 1.0))


def test_bias_is_not_tempered():
    potentials = random_potentials(3, LENGTHS, scale=2.0)
    bias = torch.zeros_like(potentials.emissions)
    bias[0, 1], bias[4, 2] = 3.0, -2.0
    bias[6, 0] = -torch.inf
    labels = gold_of(potentials, temperature=2.0)
    labels[6] = 1
    batch = LabeledBatch(potentials, labels, bias)
    fit = fit_temperature([batch])
    assert_best_of_grid(batch, fit.temperature)
    assert fit.nll_after == pytest.approx(enumerated_nll(batch, fit.temperature))
    tempered = potentials.tempered(2.0)
    assert torch.equal(batch.at(2.0).emissions, tempered.emissions + bias)


def test_what_a_bias_forbids_is_impossible():
    potentials = random_potentials(2, (2, 2))
    bias = torch.zeros_like(potentials.emissions)
    bias[0, 0] = -torch.inf
    fit = fit_temperature([LabeledBatch(potentials, torch.tensor([0, 1, 0, 1]), bias)])
    assert (fit.n_chains, fit.n_impossible) == (1, 1)


def test_sets_of_labels_are_summed_over():
    potentials = random_potentials(3, (3, 2), scale=2.0)
    labels = torch.tensor([0, -1, 2, -1, -1])
    sets = {1: [0, 2], 3: [1, 2]}
    fit = fit_temperature([LabeledBatch(potentials, labels, sets=sets)])
    allowed = torch.zeros(5, 3, dtype=torch.bool)
    for token, options in {0: [0], 1: [0, 2], 2: [2], 3: [1, 2], 4: [0, 1, 2]}.items():
        allowed[token, options] = True
    tempered = potentials.tempered(fit.temperature)
    expected = -BruteForce(tempered).log_prob_of(allowed.numpy()).mean()
    assert fit.n_chains == 2
    assert fit.nll_after == pytest.approx(expected)


def test_model_without_mistakes_gets_the_lowest_temperature():
    potentials = random_potentials(3, LENGTHS)
    fit = fit_temperature([(potentials, LinearChain(potentials).argmax)])
    assert fit.temperature == LOWEST
    assert fit.at_bound


def test_model_that_is_always_wrong_gets_the_highest_temperature():
    potentials = random_potentials(3, LENGTHS)
    opposite = replace(potentials, **{n: -t for n, t in potentials.tensors().items()})
    fit = fit_temperature([(potentials, LinearChain(opposite).argmax)])
    assert fit.temperature == HIGHEST
    assert fit.at_bound


def test_uniform_distribution_is_left_as_it_is():
    fit = fit_temperature([(Potentials(torch.zeros(4, 3), (4,)), torch.tensor([0, 1, 2, 0]))])
    assert fit.temperature == 1.0
    assert fit.nll_after == pytest.approx(4 * np.log(3))


def test_float32_finds_what_float64_finds():
    potentials = random_potentials(3, [5] * 20)
    labels = gold_of(potentials, temperature=2.0)
    narrow = replace(potentials, **{n: t.float() for n, t in potentials.tensors().items()})
    found = [fit_temperature([(p, labels)]).temperature for p in (potentials, narrow)]
    assert found[1] == pytest.approx(found[0], rel=1e-5)


def test_steps_are_told():
    potentials = random_potentials(3, [5] * 20)
    steps: list[tuple[float, float]] = []
    fit = fit_temperature(
        [(potentials, gold_of(potentials, temperature=2.0))],
        on_step=lambda temperature, nll: steps.append((temperature, nll)),
    )
    assert steps[0] == (1.0, fit.nll_before)
    assert (fit.temperature, fit.nll_after) in steps
    assert min(nll for _, nll in steps) == fit.nll_after


@pytest.mark.parametrize("labels", [[-1, -1, -1], [0, 1, -1]], ids=["unknown", "impossible"])
def test_nothing_to_fit_to_is_an_error(labels):
    potentials = Potentials(torch.zeros(3, 2), (3,), torch.tensor([[0.0, -torch.inf], [0.0, 0.0]]))
    with pytest.raises(ValueError, match=r"\[P344\].* of 1 label sequences"):
        fit_temperature([(potentials, torch.tensor(labels))])


def test_no_batches_are_an_error():
    with pytest.raises(ValueError, match=r"\[P344\]"):
        fit_temperature([])


@pytest.mark.parametrize("initial", [0.0, -1.0, float("inf"), float("nan")])
def test_initial_temperature_has_to_be_one(initial):
    with pytest.raises(ValueError, match=r"\[P019\]"):
        fit_temperature([(Potentials(torch.zeros(1, 2), (1,)), torch.tensor([0]))], initial=initial)


def test_labels_have_to_fit():
    with pytest.raises(ValueError, match=r"\[P003\]"):
        fit_temperature([(Potentials(torch.zeros(2, 2), (2,)), torch.tensor([0, 2]))])
