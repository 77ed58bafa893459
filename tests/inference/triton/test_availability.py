"""Where kernels run, and the fallback if they do not."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.inference.engines import max_product
from spacy_psa.inference.engines.triton import availability, backend, kernels_run_on

from ..brute_force import random_potentials

LAUNCHING = "spacy_psa.inference.engines.triton.launching"
CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clear cached results, both of this machine and of the simulated ones."""
    availability._works.cache_clear()
    monkeypatch.delenv(availability.SWITCH, raising=False)
    yield
    availability._works.cache_clear()


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """Simulate a GPU on which the probe succeeds; records the devices that were probed."""
    tried = []
    monkeypatch.setattr(torch, "ones", lambda *shape, device: tried.append(device) or len(tried))
    answer = SimpleNamespace(tolist=lambda: [2.0, 2.0, 2.0])
    module = SimpleNamespace(add_one=lambda numbers: answer)
    monkeypatch.setitem(sys.modules, LAUNCHING, module)
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(__version__="3.3.0"))
    return tried


def test_a_gpu_is_tried_once(probe: list[torch.device]) -> None:
    assert kernels_run_on(CUDA)
    assert kernels_run_on(CUDA)
    assert probe == [CUDA]


def test_kernels_can_be_switched_off(
    probe: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACY_PSA_KERNELS", "0")
    assert not kernels_run_on(CUDA)
    assert not probe
    monkeypatch.setenv("SPACY_PSA_KERNELS", "1")
    assert kernels_run_on(CUDA)


def test_on_a_cpu_they_are_only_interpreted(
    probe: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert not kernels_run_on(CPU)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert kernels_run_on(CPU)


def test_other_devices_have_none(probe: list[torch.device]) -> None:
    assert not kernels_run_on(torch.device("meta"))
    assert not probe


def test_without_triton_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)  # import fails
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not kernels_run_on(CUDA)


def test_a_triton_that_does_not_work_is_told_of_once(
    probe: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    def add_one(numbers: object) -> object:
        raise RuntimeError("first line\nFailed to find C compiler")

    monkeypatch.setattr(sys.modules[LAUNCHING], "add_one", add_one)
    with pytest.warns(UserWarning, match=r"W010.*cuda:0.*Failed to find C compiler.*KERNELS=0"):
        assert not kernels_run_on(CUDA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not kernels_run_on(CUDA)


def test_a_triton_that_is_broken_is_told_of(
    probe: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, LAUNCHING, None)  # import fails
    with pytest.warns(UserWarning, match=r"W010.*spacy_psa.inference.engines.triton.launching"):
        assert not kernels_run_on(CUDA)


def test_a_gpu_that_is_full_for_now_is_asked_again(
    probe: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[LAUNCHING]
    works = module.add_one

    def add_one(numbers: object) -> object:
        raise torch.cuda.OutOfMemoryError("no memory")

    monkeypatch.setattr(module, "add_one", add_one)
    assert not kernels_run_on(CUDA)
    monkeypatch.setattr(module, "add_one", works)
    assert kernels_run_on(CUDA)


@pytest.mark.parametrize(("version", "fits"), [("3.2.0", False), ("3.10.1+git", True)])
def test_an_old_triton_is_not_tried(
    version: str, fits: bool, probe: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(__version__=version))
    if fits:
        assert kernels_run_on(CUDA)
        return
    with pytest.warns(UserWarning, match=r"W010.*version 3\.2\.0 is older than 3\.3"):
        assert not kernels_run_on(CUDA)
    assert not probe


def test_wrong_results_are_not_trusted(
    probe: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = SimpleNamespace(tolist=lambda: [1.0, 1.0, 1.0])
    module = sys.modules[LAUNCHING]
    monkeypatch.setattr(module, "add_one", lambda numbers: wrong)
    with pytest.warns(UserWarning, match=r"W010.*wrong"):
        assert not kernels_run_on(CUDA)


def test_the_backend_without_kernels_is_logspace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACY_PSA_KERNELS", "0")
    potentials = random_potentials(3, (4, 0, 2)).requires_grad_()
    found, expected = (LinearChain(potentials, backend=name) for name in ("fused", "logspace"))
    labels = torch.tensor([0, 1, 2, 0, 1, 1])
    assert torch.equal(found.log_prob(labels), expected.log_prob(labels))
    assert torch.equal(found.marginals, expected.marginals)
    for one, other in zip(found.expected_counts(), expected.expected_counts(), strict=True):
        assert torch.equal(one, other)
    # Unlike the fused kernels, it supports higher-order gradients
    (gradient,) = torch.autograd.grad(
        found.log_partition.sum(), potentials.emissions, create_graph=True
    )
    gradient.square().sum().backward()
    assert potentials.emissions.grad.any()


def test_the_default_of_a_gpu_is_fused() -> None:
    on_gpu = SimpleNamespace(device=CUDA, is_independent=False)
    assert isinstance(LinearChain(on_gpu)._backend, backend.FusedBackend)
    on_cpu = SimpleNamespace(device=CPU, is_independent=False)
    assert not isinstance(LinearChain(on_cpu)._backend, backend.FusedBackend)


@pytest.mark.parametrize("there", [True, False])
def test_a_gpu_takes_its_own_viterbi(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    on_gpu = SimpleNamespace(device=CUDA, is_independent=False, emissions=None)
    monkeypatch.setattr(max_product, "have_kernels", lambda emissions: there)
    for name in ("viterbi_fused", "viterbi_numpy"):
        monkeypatch.setattr(max_product, name, lambda potentials, name=name: name)
    assert max_product.best_labels(on_gpu) == ("viterbi_fused" if there else "viterbi_numpy")


def test_chains_that_kernels_do_not_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "kernels_run_on", lambda device: True)
    assert backend.have_kernels(random_potentials(3, (2,)).emissions)
    assert not backend.have_kernels(random_potentials(3, (0, 0)).emissions)
    many = Potentials(torch.zeros(1, backend.MAX_LABELS + 1), (1,))
    assert not backend.have_kernels(many.emissions)
