"""Matrices with room for more rows: few numbers of rows, and no copies where there is room."""

from __future__ import annotations

import pytest
import torch

from spacy_psa.acceleration.roomy import roomy, rounded_down, rounded_up, with_room


def test_numbers_of_rows_are_rounded_to_a_few() -> None:
    few = {rounded_up(n) for n in range(1, 8193)}
    assert len(few) == 32 + 5 * 16
    for n in range(1, 8193):
        assert n <= rounded_up(n) <= n + max(7, n // 16)
        assert n - max(7, n // 16) <= rounded_down(n) <= n
        assert rounded_down(n) in {0, *few}


@pytest.mark.parametrize("n_rows", [0, 1, 8, 9, 250, 1000])
def test_memory_extends_to_the_rounded_number_of_rows(n_rows: int) -> None:
    x = roomy(torch.ones(1), (n_rows, 5)).fill_(7.0)
    assert x.shape == (n_rows, 5)
    assert not x._is_view()
    extended = with_room(x)
    assert extended.shape == (rounded_up(n_rows), 5)
    assert extended.data_ptr() == x.data_ptr()
    assert torch.equal(extended[:n_rows], x)
    assert not extended[n_rows:].any()


@pytest.mark.parametrize(
    "x",
    [
        torch.ones(9, 5),
        torch.ones(5, 9).t(),
        torch.ones(20, 5)[3:12],
        torch.ones(16, 6)[:9, :5],
        roomy(torch.ones(1), (10, 5)).fill_(1.0)[1:],
    ],
)
def test_other_matrices_are_copied(x: torch.Tensor) -> None:
    extended = with_room(x)
    assert extended.shape == (16, 5)
    assert extended.data_ptr() != x.data_ptr()
    assert torch.equal(extended[:9], x)
    assert not extended[9:].any()


def test_only_matrices_in_float32_get_room() -> None:
    for like, shape in ((torch.ones(1).double(), (9, 5)), (torch.ones(1), (3, 3, 5))):
        x = roomy(like, shape)
        assert x.shape == shape
        assert x.dtype == like.dtype
        assert x.untyped_storage().nbytes() == x.numel() * x.element_size()
