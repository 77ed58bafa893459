"""Keep freed memory for the next training step."""

from __future__ import annotations

from functools import cache

import torch

# glibc's DEFAULT_MMAP_THRESHOLD_MAX, less what the allocation itself needs
LARGE = (32 << 20) - (1 << 16)  # bytes


@cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MiB of freed memory, instead of a few.

    A training step frees some dozen megabytes at its end, which the next one needs again. If the C
    library returns them to the operating system in between, thousands of pages have to be mapped
    and cleared in each step, which takes up to a tenth of its time. glibc keeps twice the size of
    the largest block that was ever mapped separately and freed, up to a limit (see `mallopt`,
    M_MMAP_THRESHOLD), so it is enough to allocate and free a block of that size once. Its memory is
    never used. Other C libraries, and settings by the variables MALLOC_*, are unaffected.
    """
    torch.empty(LARGE, dtype=torch.uint8, device="cpu")
