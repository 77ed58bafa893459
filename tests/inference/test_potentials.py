import numpy as np
import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials

from .brute_force import random_potentials


@pytest.mark.parametrize(
    "changes,complaint",
    [
        ({"emissions": torch.zeros(5)}, "emissions has shape"),
        ({"emissions": torch.zeros(5, 0)}, "emissions has shape"),
        ({"emissions": torch.zeros(5, 3, dtype=torch.long)}, "emissions is torch.int64"),
        ({"emissions": np.zeros((5, 3))}, "not a torch tensor"),
        ({"lengths": (2, 2)}, "add up to 4, but there are 5"),
        ({"lengths": (6, -1)}, "negative length"),
        ({"lengths": (2.5, 2.5)}, "sequence of integers"),
        ({"lengths": 5}, "sequence of integers"),
        ({"lengths": ("2", "x")}, "sequence of integers"),
        ({"lengths": (2, float("nan"))}, "sequence of integers"),
        ({"lengths": (2, float("inf"))}, "sequence of integers"),
        ({"transitions": torch.zeros(3, 2)}, "transitions has shape"),
        ({"start": torch.zeros(2)}, "start has shape"),
        ({"pairwise": torch.zeros(5, 3)}, "pairwise has shape"),
        ({"pairwise": torch.zeros(4, 3, 3)}, "pairwise has shape"),
        ({"end": torch.zeros(3, 1)}, "end has shape"),
        ({"end": torch.zeros(3, device="meta")}, "end is on meta"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parts_that_do_not_fit_are_named(changes, complaint):
    parts = {"emissions": torch.zeros(5, 3), "lengths": (2, 3), **changes}
    with pytest.raises(ValueError, match=complaint) as error:
        Potentials(**parts)
    assert "P001" in str(error.value)


@pytest.mark.parametrize("lengths", [[2, 3], np.array([2, 3]), torch.tensor([2, 3])])
def test_lengths_may_be_any_sequence_of_integers(lengths):
    assert Potentials(torch.zeros(5, 3), lengths).lengths == (2, 3)


def test_sizes():
    potentials = random_potentials(3, (2, 0, 4))
    assert (potentials.n_labels, potentials.n_tokens) == (3, 6)
    assert potentials.device == torch.device("cpu")


@pytest.mark.parametrize("fields", [(), ("transitions",), ("start", "end"), ("pairwise",)])
def test_tensors_are_those_that_are_there(fields):
    potentials = random_potentials(3, (2,), fields=fields)
    assert list(potentials.tensors()) == ["emissions", *fields]
    assert potentials.is_independent == (not fields)


def test_fields_are_in_the_order_of_their_names():
    potentials = random_potentials(3, (2, 1), fields=("transitions", "end"))
    expected = (potentials.emissions, potentials.transitions, None, potentials.end, None)
    assert all(a is b for a, b in zip(potentials.fields(), expected, strict=True))


def test_map_changes_what_is_there():
    potentials = random_potentials(3, (2, 1), fields=("transitions", "end"))
    doubled = potentials.map(lambda tensor: 2 * tensor)
    assert doubled.lengths == (2, 1) and doubled.start is None and doubled.pairwise is None
    for name, tensor in potentials.tensors().items():
        assert torch.equal(getattr(doubled, name), 2 * tensor)


def test_chains_are_selected_in_any_order_and_number():
    p = random_potentials(2, (2, 0, 1), fields=("transitions", "pairwise"))
    assert torch.equal(p.select([2, 0, 2]).emissions, p.emissions[[2, 0, 1, 2]])
    assert torch.equal(p.select([2]).pairwise, p.pairwise[2:])
    none = p.select([])
    assert none.lengths == () and none.emissions.shape == (0, 2)


def test_detach():
    leaf = random_potentials(3, (2,)).requires_grad_()
    assert leaf.requires_grad
    assert not leaf.detach().requires_grad


def test_requires_grad_returns_leaves_that_collect_gradients():
    weight = torch.ones((), dtype=torch.float64, requires_grad=True)
    original = random_potentials(3, (2, 1))
    scaled = Potentials(original.emissions * weight, (2, 1), original.transitions)
    leaf = scaled.requires_grad_()
    LinearChain(leaf).log_partition.sum().backward()
    assert weight.grad is None
    assert leaf.gradients()["emissions"].sum() == pytest.approx(3.0)
    assert leaf.gradients()["transitions"].sum() == pytest.approx(1.0)


def test_gradients_are_zero_where_nothing_was_collected():
    leaf = random_potentials(3, (2, 1)).requires_grad_()
    assert all(not gradient.any() for gradient in leaf.gradients().values())
