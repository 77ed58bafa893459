"""Rows for new labels, in tensors and in potentials."""

from __future__ import annotations

import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.models.growth import _enlarged, padded


def test_a_new_row_is_the_mean_of_the_others() -> None:
    weight = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    grown = _enlarged("weight", weight, (4, 2), 4)
    assert grown.tolist() == [[1, 2], [3, 6], [2, 4], [2, 4]]


def test_rows_and_columns_grow() -> None:
    transitions = torch.tensor([[0.0, 2.0], [4.0, 10.0]])
    grown = _enlarged("transitions", transitions, (3, 3), 3)
    assert grown.tolist() == [[0, 2, 1], [4, 10, 7], [2, 6, 4]]


def test_pairs_of_labels_keep_their_rows() -> None:
    pairs = torch.tensor([[0.0], [2.0], [4.0], [10.0]])
    grown = _enlarged("pair.weight", pairs, (9, 1), 3)
    assert grown.flatten().tolist() == [0, 2, 1, 4, 10, 7, 2, 6, 4]


def test_gradients_and_moments_begin_at_zero() -> None:
    grown = _enlarged("start", torch.ones(2), (4,), 4, with_zeros=True)
    assert grown.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("size", [7, 10])
def test_other_sizes_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match=r"P317.*'weight'.*\(6, 2\)"):
        _enlarged("weight", torch.zeros(6, 2), (size, 2), 4)


def potentials(kind: str, n_labels: int = 3) -> Potentials:
    torch.manual_seed(0)
    shapes = {
        "softmax": {},
        "CRF": {"transitions": (n_labels, n_labels), "start": (n_labels,), "end": (n_labels,)},
        "pairwise": {"pairwise": (5, n_labels, n_labels)},
    }[kind]
    scores = {name: torch.randn(shape) for name, shape in shapes.items()}
    return Potentials(torch.randn(5, n_labels), (2, 3), **scores)


@pytest.mark.parametrize("kind", ["softmax", "CRF", "pairwise"])
@pytest.mark.parametrize("backend", ["scaled", "logspace", "scan"])
def test_labels_without_rows_have_no_probability(kind: str, backend: str) -> None:
    before = potentials(kind)
    chain, wider = (LinearChain(p, backend=backend) for p in (before, padded(before, 5)))
    assert wider.potentials.n_labels == 5
    # But for rounding: matrices of other sizes are multiplied in another order on some processors
    torch.testing.assert_close(wider.marginals[:, :3], chain.marginals, rtol=1e-6, atol=0)
    assert not wider.marginals[:, 3:].any()
    torch.testing.assert_close(wider.log_partition, chain.log_partition, rtol=1e-14, atol=0)
    torch.testing.assert_close(wider.entropy, chain.entropy)
    assert wider.argmax.tolist() == chain.argmax.tolist()
    assert wider.topk(3).labels.tolist() == chain.topk(3).labels.tolist()


def test_scores_of_all_labels_stay_as_they_are() -> None:
    before = potentials("CRF")
    assert padded(before, 3) is before
