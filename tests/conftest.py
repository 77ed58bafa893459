"""How much is tried: `ci` by default, and `nightly` with PSA_TESTS=nightly (`make nightly`).

Without a GPU, Triton interprets the kernels that are written for one, on the CPU.
"""

import os

import torch
from hypothesis import HealthCheck, settings

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

PROFILE = os.environ.get("PSA_TESTS", "ci")
# Models take longer than what hypothesis thinks right for an example, and the machine may be busy.
COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("ci", max_examples=200, derandomize=True, **COMMON)
settings.register_profile("nightly", max_examples=10_000, **COMMON)
settings.load_profile(PROFILE)
