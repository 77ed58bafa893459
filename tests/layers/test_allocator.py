"""Freed memory is kept, and does not have to be mapped again."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

# Prints how many blocks glibc maps separately, and so returns when they are freed, before and after
# one of 20 MB is allocated
PROGRAM = """
import ctypes, sys
from spacy_psa.layers.allocator import keep_freed_memory

class Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in "arena ordblks smblks hblks".split()]
    _fields_ += [("others", ctypes.c_int * 6)]

library = ctypes.CDLL(None)
library.mallinfo.restype = Statistics
library.malloc.restype = ctypes.c_void_p
if sys.argv[1] == "keep":
    keep_freed_memory()
before = library.mallinfo().hblks
library.malloc(ctypes.c_size_t(20_000_000))
print(library.mallinfo().hblks - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc works like this")
@pytest.mark.parametrize(("how", "mapped"), [("keep", 0), ("return", 1)])
def test_large_blocks_are_kept_when_they_are_freed(how: str, mapped: int) -> None:
    variables = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], env=variables, capture_output=True, check=True
    )
    assert int(run.stdout) == mapped
