import tracemalloc

import numpy as np

from spacy_psa.inference import LinearChain
from spacy_psa.inference.engines import workspace
from spacy_psa.inference.engines.workspace import Workspace

from .brute_force import random_potentials


def test_arrays_of_one_workspace_are_apart():
    space = Workspace()
    first, second = space.empty(100, 70), space.empty(100, 70)
    assert not np.shares_memory(first, second)


def test_memory_is_used_again_only_once_the_workspace_is_gone():
    space = Workspace()
    first = space.empty(100, 70)
    other = Workspace()
    assert not np.shares_memory(first, other.empty(100, 70))
    del space
    assert np.shares_memory(first, other.empty(90, 75))


def test_small_arrays_are_not_shared():
    space = Workspace()
    first = space.empty(3, 4)
    del space
    assert not np.shares_memory(first, Workspace().empty(3, 4))


def test_no_more_memory_is_kept_than_the_capacity(monkeypatch):
    monkeypatch.setattr(Workspace, "_free", {})
    monkeypatch.setattr(workspace, "CAPACITY", 1 << 14)
    space = Workspace()
    for _ in range(5):
        space.empty(1 << 13)
    del space
    assert sum(array.size for arrays in Workspace._free.values() for array in arrays) == 1 << 14


def test_loss_and_gradient_take_memory_linear_in_tokens_times_labels():
    n_labels, n_tokens = 60, 1500
    potentials = random_potentials(n_labels, (500, 1000)).requires_grad_()
    tracemalloc.start()
    LinearChain(potentials, backend="scaled").log_partition.sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * n_tokens * n_labels * 8  # (N, L, L) would take 60 * n_tokens * n_labels * 8
