"""Keep results in bfloat16 independent of the batch on processors with AMX.

With this extension of Intel's for matrices, oneDNN sums in an order that depends on the number of
rows: the last digits of a vector would depend on the other texts of a batch. oneDNN decides once
per process whether to use it, before it first computes anything.
"""

from __future__ import annotations

import os
from functools import cache

import torch
from torch.nn.functional import linear

from ..errors import Warnings, warn

VARIABLES = "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"
WITHOUT_AMX = "AVX512_CORE_BF16"


def has_amx() -> bool:
    """RETURNS (bool): Whether the processor has AMX."""
    # Not in all versions of PyTorch that this package supports
    found = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return found is not None and bool(found())


def do_without_amx() -> None:
    """Set oneDNN's environment variable so that it computes bfloat16 without AMX, unless the user
    has set it. Warn if that is too late."""
    is_set = any(name in os.environ for name in VARIABLES)
    if torch.backends.mkldnn.is_available() and has_amx() and not is_set and _is_used():
        warn(Warnings.W012.format(variable=VARIABLES[0], value=WITHOUT_AMX))


@cache
def _is_used() -> bool:
    """Whether results depend on the number of rows, even if oneDNN has only just been told not to
    use AMX."""
    os.environ[VARIABLES[0]] = WITHOUT_AMX
    try:
        generator = torch.Generator(device="cpu").manual_seed(0)
        rows, weight = (
            torch.randn(n, 300, generator=generator, device="cpu").bfloat16() for n in (2048, 600)
        )
        with torch.inference_mode(), torch.autocast("cpu", enabled=False):
            return not torch.equal(linear(rows[:64], weight), linear(rows, weight)[:64])
    finally:
        del os.environ[VARIABLES[0]]  # not for other programs
