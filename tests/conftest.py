"""Test profiles: `ci` by default, and `nightly` with PSA_TESTS=nightly (`make nightly`).

Without a GPU, Triton's interpreter runs the GPU kernels on the CPU.
"""

import gc
import os
import sys
from itertools import combinations

import pytest
import torch
from hypothesis import HealthCheck, settings

from spacy_psa.inference.engines.triton import kernels_run_on

from .quick import install

# Tests run networks in float32 before those in bfloat16: see `spacy_psa.acceleration.bfloat16`
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

PROFILE = os.environ.get("PSA_TESTS", "ci")
# Models exceed hypothesis' default time limit per example, and the machine may be busy.
COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("ci", max_examples=50, derandomize=True, **COMMON)
settings.register_profile("nightly", max_examples=10_000, **COMMON)
settings.load_profile(PROFILE)

install()


# In these, gradients by interpreted kernels take minutes; tests/inference/triton has some of each
INTERPRETED_NIGHTLY = {
    "test_extremes.py",
    "test_gradients.py",
    "test_invariance.py",
    "test_smoothing.py",
    # Its numbers are compared with those of other backends, whose gradients are checked
    "test_gradients_are_derivatives",
}
# Where the parameter "cpu" means that kernels are interpreted
OF_KERNELS = {"test_chains.py", "test_padded_chains.py", "test_score_kernels.py"}


def spread(items: list[pytest.Item], size: int) -> list[pytest.Item]:
    """As few cases of a test as have all that `size` of its parameters can be, each once."""
    left = {item: set(combinations(parameters(item), size)) for item in items}
    missing = set().union(*left.values())
    kept: list[pytest.Item] = []
    while missing or not kept:
        kept.append(max(left, key=lambda item: len(left[item] & missing)))
        missing -= left.pop(kept[-1])
    return kept


def parameters(item: pytest.Item) -> list[tuple[str, int]]:
    """The name of each parameter of a case, and which of its values the case has, in order."""
    values = item.callspec.params if hasattr(item, "callspec") else {}
    return sorted((name, id(value)) for name, value in values.items())


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of each garbage collection, and check charts as a
    whole, not each of their parts before."""
    if altair := sys.modules.get("altair"):
        altair.utils.schemapi.disable_debug_mode()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `nightly` most cases of a test that has parameters for three things or more, and of
    a test whose kernels are interpreted.

    Of the others, each pair of values is in one case. Interpreting takes a hundred times as long as
    what the CPU's backends do, so each value is in one case. Without an interpreter, the tests of
    "fused" are skipped: it is another backend then.
    """
    skip = pytest.mark.skip(reason="no Triton that interprets kernels: see tests/inference/triton")
    interpreted = kernels_run_on(torch.device("cpu"))
    of_tests: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        values = item.callspec.params if hasattr(item, "callspec") else {}
        of_kernels = values.get("device") == "cpu" and item.path.name in OF_KERNELS
        size = 1 if interpreted and (of_kernels or values.get("backend") == "fused") else 2
        if values.get("backend") == "fused" and not interpreted:
            item.add_marker(skip)
        elif size == 1 or (len(values) > 2 and not item.get_closest_marker("gpu")):
            of_tests.setdefault((item.nodeid.partition("[")[0], size), []).append(item)
    for (_, size), cases in of_tests.items():
        names = {cases[0].path.name, cases[0].originalname}
        nightly_only = size == 1 and names & INTERPRETED_NIGHTLY
        kept = [] if nightly_only else spread(cases, size)
        for item in set(cases).difference(kept):
            item.add_marker(pytest.mark.nightly)
