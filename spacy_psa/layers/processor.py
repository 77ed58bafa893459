"""What layers must know about the processor."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import torch

INTEL = "GenuineIntel"


@cache
def has_fast_mkl() -> bool:
    """RETURNS (bool): Whether this is a processor of Intel's. On others, MKL does not use the
    widest vector instructions."""
    return torch.backends.mkl.is_available() and vendor() == INTEL


def vendor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Find the vendor of the processor.

    cpuinfo (Path): The description by Linux; need not exist.
    RETURNS (str): The vendor as the processor names it, empty if it is unknown.
    """
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "vendor_id":
                return value.strip()
    # Windows: "Intel64 Family 6 Model 167 Stepping 1, GenuineIntel"
    return platform.processor().rpartition(",")[2].strip()


def has_amx() -> bool:
    """RETURNS (bool): Whether the processor has AMX, Intel's extension for matrices."""
    # Not in all versions of PyTorch that this package supports
    found = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return found is not None and bool(found())
