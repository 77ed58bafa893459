"""Products are the same with PyTorch's threads, which NumPy's do not compete with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from spacy_psa.inference.engines.scaled import ScaledBackend
from spacy_psa.inference.engines.steps import FEW, product
from spacy_psa.inference.potentials import Potentials

SHAPES = [(0, 3, 2), (1, 1, 1), (5, 7, 3), (300, 45, 45), (40, 150, 120), (64, 200, 200)]


@pytest.fixture(params=[1, 2])
def n_threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The multiplications of each of NumPy's products of two matrices."""
    found: list[int] = []
    dot = np.dot

    def spy(a: Any, b: Any, out: Any = None) -> Any:
        if b.ndim == 2:
            found.append(a.shape[0] * b.size)
        return dot(a, b, out)

    monkeypatch.setattr(np, "dot", spy)
    return found


@pytest.mark.usefixtures("n_threads")
@pytest.mark.parametrize(("n", "k", "m"), SHAPES)
class TestProducts:
    def test_product(self, n: int, k: int, m: int) -> None:
        rng = np.random.default_rng(0)
        a, b = rng.normal(size=(n, k)), rng.normal(size=(k, m))
        expected = np.einsum("nk,km->nm", a, b)
        np.testing.assert_allclose(product(a, b), expected, atol=1e-9)
        out = np.full((n, m), np.nan)
        product(a, b, out)
        np.testing.assert_allclose(out, expected, atol=1e-9)
        a = np.ascontiguousarray(a.T).T
        np.testing.assert_allclose(product(a, b), expected, atol=1e-9)


@pytest.mark.parametrize("n_labels", [45, 200])
def test_numpy_computes_large_products_only_without_threads(
    n_threads: int, n_labels: int, sizes: list[int]
) -> None:
    lengths = [6] * 64
    generator = torch.Generator().manual_seed(0)
    emissions, transitions = (
        torch.randn(n, n_labels, generator=generator, requires_grad=True)
        for n in (sum(lengths), n_labels)
    )
    ends = torch.zeros(n_labels), torch.zeros(n_labels)
    labels = torch.randint(0, n_labels, (sum(lengths),), generator=generator)
    potentials = Potentials(emissions, lengths, transitions, *ends)
    ScaledBackend().log_prob(potentials, labels).sum().backward()
    assert (max(sizes, default=0) >= FEW) is (n_threads == 1)
