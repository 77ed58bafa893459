"""Check whether Triton kernels can run on a device."""

import os
import re
from functools import cache

import torch

from ....errors import Warnings, warn

# Earlier versions crash the process when compiling some kernels. Triton 3.3 came with PyTorch 2.7.
OLDEST = (3, 3)
# Set this environment variable to 0 to use PyTorch for everything.
SWITCH = "SPACY_PSA_KERNELS"


def kernels_run_on(device: torch.device) -> bool:
    """Check whether Triton kernels run on a device. The first check of a GPU runs a tiny kernel:
    Triton needs a C compiler, for instance, which not every machine has. On the CPU, they do for
    tests, if Triton interprets them (TRITON_INTERPRET=1). With SPACY_PSA_KERNELS=0, they run
    nowhere."""
    if os.environ.get(SWITCH) == "0":
        return False
    interpreted = device.type == "cpu" and os.environ.get("TRITON_INTERPRET") == "1"
    if not (interpreted or device.type == "cuda"):
        return False
    try:
        return _works(device)
    except torch.cuda.OutOfMemoryError:
        return False  # not cached: memory may be available later


@cache
def _works(device: torch.device) -> bool:
    try:
        import triton

        if _version_of(triton.__version__) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise RuntimeError(f"version {triton.__version__} is older than {oldest}")
        from .launching import add_one

        if add_one(torch.ones(3, device=device)).tolist() == [2.0, 2.0, 2.0]:
            return True
        reason = "its results are wrong"
    except torch.cuda.OutOfMemoryError:
        raise
    # Anything that keeps Triton from working, e.g. a missing or outdated compiler or driver
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "triton":
            return False  # not available for this platform, or not installed
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = lines[-1].rstrip(".")
    warn(Warnings.W010.format(device=device, reason=reason, switch=SWITCH))
    return False


def _version_of(text: str) -> tuple[int, ...]:
    """The major and minor version."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])
