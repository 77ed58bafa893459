"""Whether Triton's kernels can run on a device."""

import os
import re
from functools import cache

import torch

from ..errors import Warnings, warn

# Earlier ones end the process when they compile some of the kernels. This came with PyTorch 2.7.
OLDEST = (3, 3)
# Set to 0, it leaves everything to PyTorch.
SWITCH = "SPACY_PSA_KERNELS"


def kernels_run_on(device: torch.device) -> bool:
    """Tell whether Triton's kernels run on a device. The first time that a GPU is asked for, a tiny
    one is tried: Triton wants a C compiler, for instance, which not every machine has.

    device (torch.device): Where tensors are.
    RETURNS (bool): On a GPU, whether they do, and the environment variable SPACY_PSA_KERNELS is not
        0. On the CPU, whether Triton is there and interprets them (TRITON_INTERPRET=1): for tests.
    """
    if os.environ.get(SWITCH) == "0":
        return False
    interpreted = device.type == "cpu" and os.environ.get("TRITON_INTERPRET") == "1"
    if not (interpreted or device.type == "cuda"):
        return False
    try:
        return _works(device)
    except torch.cuda.OutOfMemoryError:
        return False  # for now: nothing is remembered


@cache
def _works(device: torch.device) -> bool:
    try:
        import triton

        if _version_of(triton.__version__) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise RuntimeError(f"version {triton.__version__} is older than {oldest}")
        from .probe import add_one

        if add_one(torch.ones(3, device=device)).tolist() == [2.0, 2.0, 2.0]:
            return True
        reason = "what it computes is wrong"
    except torch.cuda.OutOfMemoryError:
        raise
    # Whatever keeps Triton from working: a compiler or driver that is missing or too old
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "triton":
            return False  # none for this platform, or none installed
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = lines[-1].rstrip(".")
    warn(Warnings.W010.format(device=device, reason=reason, switch=SWITCH))
    return False


def _version_of(text: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])
