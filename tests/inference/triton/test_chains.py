"""Kernels for sums over label sequences against the CPU, in the types used on a GPU.

In float64, tests/inference tests the backend "fused" like all others.
"""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

pytest.importorskip("triton", reason="Triton is not installed")

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.inference.chain_scores import chain_indices
from spacy_psa.inference.engines.triton import chains, kernels_run_on
from spacy_psa.inference.engines.triton.backend import FusedRecursion

from ..brute_force import random_potentials

ALL = ("transitions", "start", "end", "pairwise")
FIELDS = [("transitions", "start", "end"), ("transitions",), ("start", "end"), ALL]
INF = float("inf")
interpreted = pytest.mark.skipif(
    not kernels_run_on(torch.device("cpu")), reason="no Triton that interprets kernels"
)


def fused(potentials: Potentials, dtype: torch.dtype = torch.float32) -> FusedRecursion:
    return FusedRecursion(*potentials.fields(), potentials.lengths, dtype, both_sides=True)


def on(device: torch.device, potentials: Potentials) -> Potentials:
    return potentials.map(lambda tensor: tensor.to(device))


def direction_of(potentials: Potentials) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(potentials.emissions.shape, generator=generator)


def expected_gradients(potentials: Potentials, weights: Tensor) -> tuple[dict[str, Tensor], ...]:
    """Gradients of a weighted sum of log Z and of the marginals, in float64 on the CPU."""
    exact = potentials.map(lambda tensor: tensor.cpu().double())
    leaf = exact.requires_grad_()
    (
        LinearChain(leaf, backend="scaled").log_partition.nan_to_num(neginf=0) * weights
    ).sum().backward()
    moved = exact.requires_grad_()
    marginals = LinearChain(moved, backend="scaled").marginals
    (marginals * direction_of(potentials).double()).sum().backward()
    return leaf.gradients(), moved.gradients()


def assert_like_the_cpu(potentials: Potentials, *, tolerance: float = 2e-5) -> None:
    """Compare log Z, the marginals and the gradients of both."""
    exact = potentials.map(lambda tensor: tensor.cpu().double())
    chain = LinearChain(exact, backend="scaled")
    recursion = fused(potentials)
    log_z, expected = recursion.log_partition.cpu(), chain.log_partition
    assert torch.equal(log_z == -INF, expected == -INF)
    torch.testing.assert_close(log_z, expected, rtol=1e-5, atol=tolerance)
    assert recursion.marginals.dtype == torch.float32
    found = recursion.marginals.cpu().double()
    torch.testing.assert_close(found, chain.marginals, rtol=tolerance, atol=tolerance)
    weights = torch.arange(1.0, len(log_z) + 1, dtype=torch.float64)
    first, second = expected_gradients(potentials, weights)
    of_tokens = recursion.of_tokens(weights.to(potentials.device))
    gradient = recursion.gradient(of_tokens, pairs=True)
    derivative = recursion.derivative(direction_of(potentials).to(potentials.device), pairs=True)
    for actual, wanted in ((gradient, first), (derivative, second)):
        for name, value in wanted.items():
            part = getattr(actual, name).cpu().double()
            size = max(1.0, float(value.abs().max())) if value.numel() else 1.0
            torch.testing.assert_close(part, value, rtol=0, atol=tolerance * size, msg=name)


@pytest.mark.parametrize("fields", FIELDS, ids="+".join)
@pytest.mark.parametrize("n_labels", [1, 5, 16, 37])
def test_float32(fields: tuple[str, ...], n_labels: int, device: torch.device) -> None:
    potentials = random_potentials(n_labels, (5, 0, 1, 9, 2), dtype=torch.float32, fields=fields)
    assert_like_the_cpu(on(device, potentials))


@interpreted
@settings(max_examples=10)
@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=3).filter(any),
    n_labels=st.integers(1, 20),
    fields=st.sampled_from(FIELDS),
    scale=st.sampled_from([0.0, 1.0, 10.0]),
    forbidden=st.floats(0.0, 0.7),
    seed=st.integers(0, 99),
)
def test_any_chains_in_float32(
    lengths: list[int],
    n_labels: int,
    fields: tuple[str, ...],
    scale: float,
    forbidden: float,
    seed: int,
) -> None:
    potentials = random_potentials(
        n_labels, tuple(lengths), dtype=torch.float32, fields=fields, scale=scale, seed=seed
    )
    generator = torch.Generator().manual_seed(seed)
    for tensor in potentials.tensors().values():
        tensor[torch.rand(tensor.shape, generator=generator) < forbidden / 2] = -INF
    assert_like_the_cpu(potentials, tolerance=1e-4)


@pytest.mark.parametrize("fields", [FIELDS[0], ALL], ids=["shared", "pairwise"])
@pytest.mark.parametrize("numbers", [16, 64, 1 << 11])
def test_tiles_and_stretches_change_nothing(
    fields: tuple[str, ...],
    numbers: int,
    device: torch.device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Tiles of 1, 4 or all labels with 16 labels in a block; of 1, 1 or 32 labels with 64
    monkeypatch.setattr("spacy_psa.inference.engines.triton.chains.TILE", numbers)
    monkeypatch.setattr("spacy_psa.inference.engines.triton.chains.WIDE_TILE", numbers)
    monkeypatch.setattr("spacy_psa.inference.engines.triton.chains.STRETCH", 3)
    for n_labels, lengths in ((13, (4, 1)), (37, (2,))):
        potentials = random_potentials(n_labels, lengths, dtype=torch.float32, fields=fields)
        assert_like_the_cpu(on(device, potentials))


def test_few_programs(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_psa.inference.engines.triton.chains.PROGRAMS", 1)
    monkeypatch.setattr("spacy_psa.inference.engines.triton.chains.STRETCH", 1)
    assert_like_the_cpu(on(device, random_potentials(4, (6, 4, 1), dtype=torch.float32)))


def test_a_long_chain_loses_nothing_in_float32(device: torch.device) -> None:
    potentials = random_potentials(6, (50,), dtype=torch.float32, scale=30.0)
    exact = LinearChain(potentials.map(Tensor.double))
    recursion = fused(on(device, potentials))
    # Hundreds of nats: messages are relative, and their shifts are summed in float64
    torch.testing.assert_close(
        recursion.log_partition.cpu(), exact.log_partition, rtol=3e-7, atol=0
    )
    torch.testing.assert_close(
        recursion.marginals.cpu().double(), exact.marginals, rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("offset", [1e6, -1e9, 1e30])
def test_what_all_labels_of_a_token_have_in_common_costs_no_digits(
    offset: float, device: torch.device
) -> None:
    # Integers, which stay exact in float32 after the addition
    potentials = random_potentials(5, (6, 4), scale=0, dtype=torch.float32)
    moved = Potentials(
        potentials.emissions + (offset if abs(offset) < 1e7 else 0.0),
        potentials.lengths,
        potentials.transitions,
        potentials.start,
        potentials.end,
    )
    if abs(offset) > 1e7:  # no other number is representable in a sum with it
        potentials.emissions[2], moved.emissions[2] = 0.0, offset
    expected, found = fused(on(device, potentials)), fused(on(device, moved))
    assert torch.equal(found.marginals, expected.marginals)
    shift = (moved.emissions.double() - potentials.emissions)[:, 0].split(potentials.lengths)
    shifts = torch.stack([part.sum() for part in shift])
    wanted = expected.log_partition.cpu() + shifts
    torch.testing.assert_close(found.log_partition.cpu(), wanted, rtol=1e-12, atol=1e-12)


def test_where_chains_lie_is_said_alike_to_all_devices(device: torch.device) -> None:
    lengths = (4, 0, 1, 6)
    on_cpu, elsewhere = chain_indices(lengths, torch.device("cpu")), torch.device("meta")
    assert chain_indices(lengths, elsewhere) is chain_indices(lengths, elsewhere)
    for name, there in chain_indices(lengths, elsewhere)._asdict().items():
        assert there.shape == getattr(on_cpu, name).shape
        assert there.storage_offset() % 2 == 0
        assert not there.is_inference()
    for name, there in chain_indices(lengths, device)._asdict().items():
        assert there.tolist() == getattr(on_cpu, name).tolist()
    assert on_cpu.chains.tolist() == [3, 0, 2]
    assert on_cpu.sizes.tolist() == [6, 4, 1]
    assert on_cpu.first.tolist() == [5, 0, 4]
    assert on_cpu.last.tolist() == [10, 3, 4]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_as_the_backend_of_a_chain(dtype: torch.dtype, device: torch.device) -> None:
    potentials = random_potentials(4, (5, 0, 3), dtype=dtype, fields=ALL)
    results = []
    for place, backend in ((torch.device("cpu"), "scaled"), (device, "fused")):
        leaf = on(place, potentials).requires_grad_()
        chain = LinearChain(leaf, backend=backend)
        log_z, marginals = chain.log_partition, chain.marginals
        assert marginals.dtype == dtype
        (log_z.sum() + marginals.square().sum()).backward()
        with torch.inference_mode():
            alone = LinearChain(leaf, backend=backend).log_partition
        counts = chain.expected_counts()
        found = [log_z, alone, marginals, *counts, *leaf.gradients().values()]
        results.append([one.detach().cpu().double() for one in found])
    tolerance = 1e-11 if dtype == torch.float64 else 1e-5
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("what", ["log_partition", "marginals"])
def test_a_second_derivative_is_refused(what: str, device: torch.device) -> None:
    leaf = on(device, random_potentials(3, (4,))).requires_grad_()
    value = getattr(LinearChain(leaf, backend="fused"), what)
    (gradient,) = torch.autograd.grad(value.square().sum(), leaf.emissions, create_graph=True)
    with pytest.raises(ValueError, match="P007"):
        gradient.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nothing_is_kept_beyond_its_use(dtype: torch.dtype, device: torch.device) -> None:
    """The returned tensors must not be the ones saved for the gradient either."""
    gc.disable()
    try:
        leaf = on(device, random_potentials(3, (4,), dtype=dtype)).requires_grad_()
        log_z = LinearChain(leaf, backend="fused").log_partition
        recursion = weakref.ref(log_z.grad_fn.recursion)
        log_z.detach().fill_(-INF)
        log_z.sum().backward()
        assert leaf.emissions.grad.any()
        del log_z
        assert recursion() is None
    finally:
        gc.enable()


def test_without_a_gradient_there_is_one_side(
    device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = []
    original = chains.pass_messages

    def record(*given: object, both_sides: bool) -> chains.Messages:
        sides.append(both_sides)
        return original(*given, both_sides=both_sides)

    monkeypatch.setattr(chains, "pass_messages", record)
    leaf = on(device, random_potentials(3, (4,))).requires_grad_()
    found = [LinearChain(leaf, backend="fused").log_partition]
    with torch.no_grad():
        found.append(LinearChain(leaf, backend="fused").log_partition)
    found.append(LinearChain(leaf.detach(), backend="fused").log_partition)
    assert [one.requires_grad for one in found] == [True, False, False]
    assert sides == [True, False, False]


def test_a_chain_has_the_same_bits_alone_and_among_others(device: torch.device) -> None:
    lengths = (7, 3, 12, 1)
    potentials = on(device, random_potentials(9, lengths, dtype=torch.float32))
    together = fused(potentials)
    marginals = together.marginals.split(lengths)
    for i, part in enumerate(potentials.emissions.split(lengths)):
        transitions, start, end = potentials.transitions, potentials.start, potentials.end
        alone = fused(Potentials(part, (len(part),), transitions, start, end))
        assert torch.equal(alone.log_partition[0], together.log_partition[i])
        assert torch.equal(alone.marginals, marginals[i])


def test_no_number_in_one_chain_leaves_the_others_alone(device: torch.device) -> None:
    potentials = on(device, random_potentials(4, (3, 2), dtype=torch.float32))
    expected = fused(potentials)
    potentials.emissions[1, 2] = torch.nan
    found = fused(potentials)
    assert found.log_partition.isnan().tolist() == [True, False]
    assert torch.equal(found.log_partition[1], expected.log_partition[1])
    assert torch.equal(found.marginals[3:], expected.marginals[3:])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_only_read(dtype: torch.dtype, device: torch.device) -> None:
    potentials = on(device, random_potentials(5, (4, 3), dtype=torch.float32, fields=ALL))
    half = potentials.map(lambda tensor: tensor.to(dtype))
    wide = half.map(Tensor.float)
    assert torch.equal(fused(half).log_partition, fused(wide).log_partition)
    assert torch.equal(fused(half).marginals, fused(wide).marginals)


def test_tensors_that_do_not_lie_in_a_row(device: torch.device) -> None:
    potentials = on(device, random_potentials(5, (4, 3), dtype=torch.float32, fields=ALL))
    strided = potentials.map(lambda t: t.unsqueeze(-1).repeat_interleave(2, dim=-1)[..., 0])
    strided = Potentials(
        strided.emissions,
        strided.lengths,
        strided.transitions.t().contiguous().t(),
        strided.start,
        strided.end,
        strided.pairwise,
    )
    assert not strided.emissions.is_contiguous()
    assert torch.equal(fused(strided).log_partition, fused(potentials).log_partition)
