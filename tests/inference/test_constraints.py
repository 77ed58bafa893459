import numpy as np
import pytest
import torch

from spacy_psa.inference import Constraints, LinearChain

from .brute_force import random_potentials

PAIRS = np.array([[True, False], [True, True]])
ALL = np.array([True, True])


def test_apply_forbids_exactly_what_is_not_allowed():
    potentials = random_potentials(2, (3,))
    constrained = Constraints(PAIRS, np.array([False, True]), ALL).apply(potentials)
    expected = potentials.transitions.clone()
    expected[0, 1] = -torch.inf
    assert torch.equal(constrained.transitions, expected)
    assert constrained.start.tolist() == [-torch.inf, potentials.start[1].item()]
    assert torch.equal(constrained.end, potentials.end)
    assert constrained.emissions is potentials.emissions


def test_apply_leaves_the_original_alone():
    potentials = random_potentials(2, (3,))
    Constraints(PAIRS, ALL, ALL).apply(potentials)
    assert torch.isfinite(potentials.transitions).all()


def test_missing_scores_count_as_zeros():
    potentials = random_potentials(2, (3,), fields=(), dtype=torch.float32)
    constrained = Constraints(PAIRS, ALL, ALL).apply(potentials)
    assert constrained.transitions.tolist() == [[0.0, -torch.inf], [0.0, 0.0]]
    assert constrained.transitions.dtype == torch.float32
    assert constrained.start.tolist() == [0.0, 0.0]


def test_tensors_and_arrays_are_the_same():
    tensors = Constraints(*(torch.from_numpy(a) for a in (PAIRS, ALL, ALL)))
    potentials = random_potentials(2, (3,))
    expected = LinearChain(potentials, constraints=Constraints(PAIRS, ALL, ALL)).log_partition
    assert torch.equal(LinearChain(potentials, constraints=tensors).log_partition, expected)


def test_decoding_obeys_constraints():
    potentials = random_potentials(2, (30, 20), scale=3.0)
    labels = LinearChain(potentials, constraints=Constraints(PAIRS, ALL, ALL)).argmax
    for part in labels.split((30, 20)):
        assert (0, 1) not in set(zip(part[:-1].tolist(), part[1:].tolist(), strict=True))


def test_gradient_reaches_allowed_places_only():
    potentials = random_potentials(2, (4, 2)).requires_grad_()
    chain = LinearChain(potentials, constraints=Constraints(PAIRS, ALL, ALL))
    chain.log_partition.sum().backward()
    assert (potentials.gradients()["transitions"] != 0).tolist() == PAIRS.tolist()


@pytest.mark.parametrize(
    "parts",
    [
        (PAIRS.astype(float), ALL, ALL),
        (PAIRS[:1], ALL, ALL),
        (PAIRS, ALL[:1], ALL),
        (PAIRS, ALL, ALL[:1]),
        (ALL, ALL, ALL),
    ],
    ids=["floats", "transitions", "start", "end", "axes"],
)
def test_parts_that_do_not_fit(parts):
    with pytest.raises(ValueError, match="P004"):
        Constraints(*parts)


def test_another_number_of_labels_than_the_potentials():
    with pytest.raises(ValueError, match="P004"):
        LinearChain(random_potentials(3, (2,)), constraints=Constraints(PAIRS, ALL, ALL))
