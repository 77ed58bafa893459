"""Test profiles: `ci` by default, and `nightly` with PSA_TESTS=nightly (`make nightly`).

Without a GPU, Triton's interpreter runs the GPU kernels on the CPU.
"""

import os

import catalogue
import pytest
import torch
from hypothesis import HealthCheck, settings

from spacy_psa.inference.engines.triton import kernels_run_on

# Tests run networks in float32 before those in bfloat16: see `spacy_psa.acceleration.amx`
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

PROFILE = os.environ.get("PSA_TESTS", "ci")
# Models exceed hypothesis' default time limit per example, and the machine may be busy.
COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("ci", max_examples=100, derandomize=True, **COMMON)
settings.register_profile("nightly", max_examples=10_000, **COMMON)
settings.load_profile(PROFILE)

# Registries search all installed entry points in every look-up, which would take a fifth of the
# time of tests that build pipelines: group them once.
FOUND = catalogue.AVAILABLE_ENTRY_POINTS
catalogue.AVAILABLE_ENTRY_POINTS = {group: FOUND.select(group=group) for group in FOUND.groups}


# In these, gradients by interpreted kernels take minutes; tests/inference/triton has some of each
INTERPRETED_NIGHTLY = {
    "test_extremes.py",
    "test_gradients.py",
    "test_invariance.py",
    "test_smoothing.py",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of "fused" unless its kernels run on the CPU: otherwise, it is another backend."""
    skip = pytest.mark.skip(reason="no Triton that interprets kernels: see tests/inference/triton")
    interpreted = kernels_run_on(torch.device("cpu"))
    for item in items:
        if getattr(item, "callspec", None) and item.callspec.params.get("backend") == "fused":
            if not interpreted:
                item.add_marker(skip)
            elif item.path.name in INTERPRETED_NIGHTLY:
                item.add_marker(pytest.mark.nightly)
