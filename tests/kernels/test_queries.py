"""Kernels for paths through chains against NumPy on the CPU."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import LinearChain, Potentials, fused_trellis
from spacy_psa.inference.entropy import path_entropy
from spacy_psa.inference.fused_trellis import FusedTrellis
from spacy_psa.inference.nbest import exact_log_partition, k_best, ranked_paths
from spacy_psa.inference.sampling import sampled_paths
from spacy_psa.inference.trellis import Trellis, numpy_trellis, torch_trellis
from spacy_psa.kernels import kernels_run_on

from ..inference.brute_force import BruteForce, random_potentials
from ..inference.test_extremes import hostile_potentials

ALL = ("transitions", "start", "end", "pairwise")
FIELDS = [("transitions", "start", "end"), ALL, ("pairwise",), ("start",)]
INF = float("inf")
pytestmark = pytest.mark.skipif(
    not kernels_run_on(torch.device("cpu")) and not torch.cuda.is_available(),
    reason="no Triton that interprets kernels, and no GPU",
)
interpreted = pytest.mark.skipif(
    not kernels_run_on(torch.device("cpu")), reason="no Triton that interprets kernels"
)


def both(
    potentials: Potentials, device: torch.device | str = "cpu"
) -> tuple[FusedTrellis, Trellis]:
    """The trellis for a GPU and the trellis for the CPU."""
    moved = potentials.map(lambda tensor: tensor.to(device))
    return FusedTrellis(moved), numpy_trellis(potentials)


def assert_close(found: torch.Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-9, atol=1e-9)


def assert_same_paths(potentials: Potentials, k: int, device: torch.device | str = "cpu") -> None:
    """Compare the k best paths, except impossible ones, which are arbitrary."""
    fused, exact = both(potentials, device)
    found, expected = fused.ranked_paths(k), ranked_paths(exact, k)
    assert found is not None
    assert_close(found[1], expected.peaks)
    possible = expected.losses > -1e300
    assert_close(found[2][torch.from_numpy(possible)], expected.losses[possible])
    assert bool((found[2].cpu().numpy()[~possible] < -1e300).all())
    rank = {chain: row for row, chain in enumerate(exact.layout.chains)}
    rows = [rank[chain] for chain in exact.layout.chain_of_token]
    labels = found[0].cpu().numpy()
    assert labels[possible[rows]].tolist() == expected.labels[possible[rows]].tolist()
    assert bool(((labels >= 0) & (labels < potentials.n_labels)).all())


@pytest.mark.parametrize("fields", FIELDS, ids="+".join)
@pytest.mark.parametrize("n_labels", [1, 3, 19])
def test_messages_and_entropies(
    fields: tuple[str, ...], n_labels: int, device: torch.device
) -> None:
    fused, exact = both(random_potentials(n_labels, (4, 0, 1, 6), fields=fields), device)
    for found, expected in zip(fused.forward, exact.forward, strict=True):
        assert_close(found, expected)
    for found, expected in zip(fused.backward, exact.backward, strict=True):
        assert_close(found, expected)
    assert_close(fused.log_partition, exact.log_partition)
    assert_close(path_entropy(fused), path_entropy(exact))


@pytest.mark.parametrize("fields", FIELDS, ids="+".join)
@pytest.mark.parametrize("n_samples", [1, 16, 40])
def test_samples_are_those_of_the_same_random_numbers(
    fields: tuple[str, ...], n_samples: int, device: torch.device
) -> None:
    fused, exact = both(random_potentials(5, (4, 0, 1, 6), fields=fields), device)
    generator = torch.Generator().manual_seed(3)
    uniform = torch.rand(11, n_samples, generator=generator, dtype=torch.float64)
    found = sampled_paths(fused, uniform.to(device))
    assert found.tolist() == sampled_paths(exact, uniform.numpy()).tolist()


def test_the_ends_of_the_unit_interval_are_possible_labels(device: torch.device) -> None:
    potentials = random_potentials(4, (3, 2))
    potentials.emissions[:, [0, 3]] = -INF
    fused, _ = both(potentials, device)
    uniform = torch.tensor([0.0, 1.0 - 2.0**-53], dtype=torch.float64).repeat(5, 1).to(device)
    assert set(sampled_paths(fused, uniform).flatten().tolist()) == {1, 2}


@pytest.mark.parametrize("fields", FIELDS, ids="+".join)
@pytest.mark.parametrize("scale", [1.5, 0], ids=["", "ties"])
@pytest.mark.parametrize("k", [1, 3, 9])
def test_the_best_paths(
    fields: tuple[str, ...], scale: float, k: int, device: torch.device
) -> None:
    # With 4 labels, k = 9 exceeds the partial paths of a single token and the paths of short chains
    potentials = random_potentials(4, (4, 0, 1, 6, 2), fields=fields, scale=scale)
    assert_same_paths(potentials, k, device)


@interpreted
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=3).filter(any),
    n_labels=st.integers(1, 18),
    k=st.integers(1, 20),
    fields=st.sampled_from(FIELDS),
    forbidden=st.floats(0.0, 0.6),
    scale=st.sampled_from([0.0, 2.0]),
    seed=st.integers(0, 99),
)
def test_any_chains(
    lengths: list[int],
    n_labels: int,
    k: int,
    fields: tuple[str, ...],
    forbidden: float,
    scale: float,
    seed: int,
) -> None:
    potentials = random_potentials(n_labels, tuple(lengths), fields=fields, scale=scale, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for tensor in potentials.tensors().values():
        tensor[torch.rand(tensor.shape, generator=generator) < forbidden] = -INF
    assert_same_paths(potentials, k)
    fused, exact = both(potentials)
    assert_close(path_entropy(fused), path_entropy(exact))
    possible = torch.from_numpy(exact.by_token(exact.forward)).exp().numpy() > 0.0
    uniform = torch.rand(potentials.n_tokens, 4, generator=generator, dtype=torch.float64)
    found = sampled_paths(fused, uniform)
    chains = LinearChain(potentials).log_partition != -INF
    alive = chains.numpy()[exact.layout.chain_of_token]
    drawn = np.take_along_axis(possible, found.numpy(), axis=1)
    assert bool(drawn[alive].all())


def test_paths_where_there_is_no_number_stay_within_the_labels(device: torch.device) -> None:
    potentials = random_potentials(3, (4, 2))
    potentials.emissions[1] = torch.nan
    fused, _ = both(potentials, device)
    labels, _, _ = fused.ranked_paths(3)
    samples = fused.sampled_paths(torch.full((6, 2), 0.5, dtype=torch.float64, device=device))
    for found in (labels, samples):
        assert bool(((found >= 0) & (found < 3)).all())


def test_too_many_paths_are_found_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_psa.kernels.chain_queries.K_BEST_NUMBERS", 63)
    potentials = random_potentials(3, (4, 2))
    fused, exact = both(potentials)
    assert fused.ranked_paths(4) is None
    found, expected = ranked_paths(fused, 4), ranked_paths(exact, 4)
    assert found.labels.tolist() == expected.labels.tolist()
    monkeypatch.setattr("spacy_psa.kernels.chain_queries.K_BEST_NUMBERS", 64)
    assert fused.ranked_paths(4) is not None
    assert fused.ranked_paths(5) is None
    monkeypatch.setattr("spacy_psa.kernels.chain_queries.MAX_PATHS", 3)
    assert fused.ranked_paths(4) is None


@pytest.mark.parametrize("there", [True, False])
def test_a_gpu_has_its_own_trellis(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_trellis, "can_be_fused", lambda potentials: there)
    for name in ("FusedTrellis", "torch_trellis", "numpy_trellis"):
        monkeypatch.setattr(fused_trellis, name, lambda potentials, name=name: name)
    on_gpu = SimpleNamespace(device=torch.device("cuda"), detach=lambda: None)
    on_cpu = SimpleNamespace(device=torch.device("cpu"))
    expected = "FusedTrellis" if there else "torch_trellis"
    assert fused_trellis.make_trellis(on_gpu) == expected
    assert fused_trellis.make_trellis(on_cpu) == "numpy_trellis"


def test_what_is_not_asked_for_is_not_made(device: torch.device) -> None:
    fused, exact = both(random_potentials(3, (3, 2)), device)
    fused.log_partition, fused.path_entropies(), fused.ranked_paths(2)
    assert not {"emissions", "transition_scores", "backward"} & set(vars(fused))
    for found, expected in zip(fused.emissions, exact.emissions, strict=True):
        assert_close(found, expected)
    with pytest.raises(AttributeError, match="nothing"):
        _ = fused.nothing


def test_log_z_of_a_long_chain_costs_probabilities_no_digits() -> None:
    # As on a GPU, where backends return log Z in the type of the emissions
    potentials = random_potentials(3, (200,), dtype=torch.float32)
    potentials.emissions.add_(500.0)
    expected = LinearChain(potentials).topk(2)
    trellis = torch_trellis(potentials)
    rounded = LinearChain(potentials).log_partition.float()
    log_z = exact_log_partition(trellis, rounded)
    assert log_z.dtype == torch.float64
    found = k_best(trellis, 2, log_z)
    torch.testing.assert_close(found.log_prob, expected.log_prob, rtol=0, atol=1e-9)
    # A rounded log Z gives wrong probabilities without an error
    worse = k_best(trellis, 2, rounded).log_prob.double()
    assert not torch.allclose(worse, expected.log_prob, rtol=0, atol=1e-6)


@interpreted
@settings(max_examples=25)
@given(scores=hostile_potentials(), seed=st.integers(0, 99))
def test_hostile_scores(scores: Potentials, seed: int) -> None:
    if not scores.n_tokens:
        return
    assert_same_paths(scores, 3)
    fused, _ = both(scores)
    entropy = path_entropy(fused)
    assert bool(((entropy >= -1e-9) & entropy.isfinite()).all())
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(scores.n_tokens, 3, generator=generator, dtype=torch.float64)
    chain = LinearChain(scores)
    possible = chain.log_partition != -INF
    for labels in sampled_paths(fused, uniform).unbind(dim=1):
        assert bool((chain.score(labels)[possible] != -INF).all())


@interpreted
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_that_is_asked_of_a_chain(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Test the public API on a machine that treats its CPU as a GPU."""
    potentials = random_potentials(3, (3, 0, 2), fields=ALL, dtype=dtype)
    brute, exact = BruteForce(potentials), LinearChain(potentials)
    spans, allowed = [(0, 2), (1, 3), (3, 4)], torch.rand(5, 3).argsort(dim=1) < 2
    best = exact.topk(2)
    expected = [best.log_prob, exact.entropy, exact.span_probs(spans, allowed)]
    monkeypatch.setattr("spacy_psa.inference.linear_chain.make_trellis", FusedTrellis)
    for module in ("fused", "scores", "entropy", "spans"):
        name = f"spacy_psa.inference.{module}.working_dtype"
        monkeypatch.setattr(name, lambda potentials: potentials.emissions.dtype)
    chain = LinearChain(potentials, backend="fused")
    assert torch.equal(chain.topk(2).labels, best.labels)
    found = [chain.topk(2).log_prob, chain.entropy, chain.span_probs(spans, allowed)]
    tolerance = 1e-5 if dtype == torch.float32 else 1e-9
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance)
    drawn = chain.sample(640, generator=torch.Generator().manual_seed(0))
    shares = torch.nn.functional.one_hot(drawn, 3).double().mean(dim=1)
    np.testing.assert_allclose(shares.numpy(), brute.marginals, atol=0.08)
