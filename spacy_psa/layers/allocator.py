"""Keep freed memory for the next training step."""

from __future__ import annotations

import ctypes
import os
from functools import cache

# Parameters of glibc's `mallopt`
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
MOST_KEPT = 256 << 20  # bytes
LARGE = 32 << 20  # bytes, the most that glibc accepts


@cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 256 MiB of freed memory, instead of up to 64, and blocks of up
    to 32 MiB.

    A training step frees up to some hundred megabytes at its end, which the next one needs again.
    If the C library returns them to the operating system in between, thousands of pages have to be
    mapped and cleared in each step, which takes up to a tenth of its time. Other C libraries than
    glibc, and settings by the variables MALLOC_* or GLIBC_TUNABLES, are unaffected.
    """
    if any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # the last one on Windows
        return
    # glibc adapts neither of the two any more once one is set
    mallopt(MMAP_THRESHOLD, LARGE)
    mallopt(TRIM_THRESHOLD, MOST_KEPT)
