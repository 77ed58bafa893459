"""Whether Triton's kernels can run on a device."""

import os
from functools import cache

import torch

from ..errors import Warnings, warn

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
    if device.type == "cuda":
        return _works(device)
    return device.type == "cpu" and os.environ.get("TRITON_INTERPRET") == "1" and _works(device)


@cache
def _works(device: torch.device) -> bool:
    try:
        from .probe import add_one
    except ImportError:
        return False  # no Triton for this platform, or none installed
    try:
        return add_one(torch.ones(3, device=device)).tolist() == [2.0, 2.0, 2.0]
    # Whatever keeps Triton from working: a compiler or driver that is missing or too old
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        warn(Warnings.W010.format(device=device, reason=reason[-1], switch=SWITCH))
        return False
