"""Trees of matrix multiplications: the order of the factors, and exactness in the log domain."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import LinearChain
from spacy_psa.inference.scan import ProductTree, log_bmm

from .brute_force import random_potentials

INF = float("inf")


def expand(lengths) -> tuple[ProductTree, dict[int, list[int]]]:
    """The tokens whose matrices are multiplied, in the order of the factors, by chain."""
    tree = ProductTree(tuple(lengths))
    level = [[token] for token in tree.order.tolist()]
    left_over = []
    for n_products, chains in tree.levels:
        assert len(level) == 2 * n_products + len(chains)
        left, right = level[:n_products], level[n_products : 2 * n_products]
        left_over.append(zip(chains.tolist(), level[2 * n_products :], strict=True))
        level = [a + b for a, b in zip(left, right, strict=True)]
    assert level == []
    products: dict[int, list[int]] = {}
    for rest in reversed(left_over):
        for chain, factors in rest:
            products.setdefault(int(tree.chains[chain]), []).extend(factors)
    return tree, products


@settings(max_examples=100, deadline=None, derandomize=True)
@given(lengths=st.lists(st.integers(0, 40), max_size=6))
def test_tree_multiplies_the_matrices_of_each_chain_once_and_in_order(lengths):
    tree, products = expand(lengths)
    first = np.cumsum(lengths) - lengths
    expected = {
        chain: list(range(int(begin) + 1, int(begin) + n))
        for chain, (begin, n) in enumerate(zip(first, lengths, strict=True))
        if n > 1
    }
    assert products == expected
    assert tree.first_tokens.tolist() == [b for b, n in zip(first, lengths, strict=True) if n]


@pytest.mark.parametrize("length,depth", [(2, 1), (3, 2), (5, 3), (1025, 11), (1024, 10)])
def test_depth_is_logarithmic(length, depth):
    assert len(ProductTree((length, 2, 0)).levels) == depth


def test_nothing_is_padded():
    tree = ProductTree((100, 3, 1, 0))
    assert tree.order.size == 99 + 2
    assert sum(n for n, _ in tree.levels) <= 99 + 2


def log_bmm_in_loops(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.empty((len(a), a.shape[1], b.shape[2]))
    for n, i, j in np.ndindex(*out.shape):
        out[n, i, j] = np.logaddexp.reduce([a[n, i, k] + b[n, k, j] for k in range(a.shape[2])])
    return out


@pytest.mark.parametrize("scale", [1.0, 30.0, 500.0, 1e5])
@pytest.mark.parametrize("forbidden", [0.0, 0.5, 1.0])
def test_log_products_against_loops(scale, forbidden):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 4, 5)) * scale, rng.normal(size=(2, 5, 3)) * scale
    for matrix in (a, b):
        matrix[rng.random(matrix.shape) < forbidden] = -INF
    out = log_bmm(torch.tensor(a), torch.tensor(b))
    np.testing.assert_allclose(out, log_bmm_in_loops(a, b), rtol=1e-12)


def test_sums_of_far_smaller_terms_than_the_rest_are_exact_in_float32():
    a = torch.tensor([[[0.0, -300.0], [-400.0, 0.0]]])
    b = torch.tensor([[[-700.0, 0.0], [0.0, -900.0]]])
    assert log_bmm(a, b).tolist() == [[[-300.0, 0.0], [0.0, -400.0]]]


@pytest.mark.parametrize("scale", [1.0, 200.0])
def test_log_products_can_be_differentiated_twice(scale):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(2, 3, 3, generator=generator, dtype=torch.float64) for _ in "ab")
    # Some entries are far below the others, and one row is forbidden
    a[:, 0, 0], b[:, 1, 2], b[1, 0] = -scale, -scale, -INF
    leaves = (a.requires_grad_(), b.requires_grad_())
    finite = [leaf.detach() != -INF for leaf in leaves]

    def function(*parts: torch.Tensor) -> torch.Tensor:
        filled = [
            torch.full(mask.shape, -INF, dtype=torch.float64).masked_scatter(mask, part)
            for mask, part in zip(finite, parts, strict=True)
        ]
        return log_bmm(*filled)

    parts = tuple(
        leaf.detach()[mask].requires_grad_() for leaf, mask in zip(leaves, finite, strict=True)
    )
    assert torch.autograd.gradcheck(function, parts)
    assert torch.autograd.gradgradcheck(function, parts)


def test_small_sums_in_small_pieces(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(3, 4, 4, generator=generator, dtype=torch.float64) * 1e4 for _ in "ab")
    expected = log_bmm(a, b)
    monkeypatch.setattr("spacy_psa.inference.scan.CHUNK", 9)
    assert torch.equal(log_bmm(a, b), expected)
    np.testing.assert_allclose(expected, log_bmm_in_loops(a.numpy(), b.numpy()), rtol=1e-12)


def test_mixed_precision_does_not_reach_the_products():
    potentials = random_potentials(4, (9, 3), dtype=torch.float32)
    expected = LinearChain(potentials, backend="scan").log_partition
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(LinearChain(potentials, backend="scan").log_partition, expected)


def test_third_derivative():
    potentials = random_potentials(2, (3, 2), fields=("transitions",))

    def gradient(emissions: torch.Tensor) -> torch.Tensor:
        chain = LinearChain(
            type(potentials)(emissions, (3, 2), potentials.transitions), backend="scan"
        )
        (found,) = torch.autograd.grad(chain.log_partition.sum(), emissions, create_graph=True)
        return found

    assert torch.autograd.gradgradcheck(gradient, (potentials.emissions.clone().requires_grad_(),))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("backend", ["scan", "logspace", "scaled"])
def test_cuda_equals_cpu(backend):
    fields = ("transitions", "start", "end", "pairwise")
    potentials = random_potentials(9, (12, 0, 7, 1, 30), dtype=torch.float32, fields=fields)
    potentials.transitions[2, :4] = -INF
    moved = {name: tensor.cuda() for name, tensor in potentials.tensors().items()}
    leaves = (
        potentials.requires_grad_(),
        type(potentials)(lengths=potentials.lengths, **moved).requires_grad_(),
    )
    for leaf in leaves:
        chain = LinearChain(leaf, backend=backend)
        (chain.marginals.square().sum() + chain.log_partition.sum()).backward()
    expected, found = (leaf.gradients() for leaf in leaves)
    for name, gradient in found.items():
        torch.testing.assert_close(gradient.cpu(), expected[name], rtol=1e-3, atol=1e-3)
