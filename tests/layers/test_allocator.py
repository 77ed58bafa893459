"""Freed memory is kept, and does not have to be mapped again."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys

import pytest

# Allocates and frees blocks of 20 MB, and prints how many of them glibc has mapped separately, and
# how many bytes of all of them it then keeps
PROGRAM = """
import ctypes, sys
from spacy_psa.layers.allocator import keep_freed_memory

class Statistics(ctypes.Structure):
    _fields_ = [("arena", ctypes.c_size_t)]
    _fields_ += [(name, ctypes.c_size_t) for name in "ordblks smblks hblks".split()]
    _fields_ += [("others", ctypes.c_size_t * 6)]

library = ctypes.CDLL(None)
library.mallinfo2.restype = Statistics
library.malloc.restype = ctypes.c_void_p
library.free.argtypes = [ctypes.c_void_p]
if sys.argv[1] == "keep":
    keep_freed_memory()
before = library.mallinfo2()
blocks = [library.malloc(ctypes.c_size_t(20_000_000)) for _ in range(10)]
mapped = library.mallinfo2().hblks - before.hblks
for block in blocks:
    library.free(block)
print(mapped, library.mallinfo2().arena - before.arena)
"""


def run(how: str, **settings: str) -> tuple[int, int]:
    names = "MALLOC_", "GLIBC_TUNABLES"
    variables = {k: v for k, v in os.environ.items() if not k.startswith(names)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how],
        env={**variables, **settings},
        capture_output=True,
        check=True,
    )
    mapped, kept = done.stdout.split()
    return int(mapped), int(kept)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc works like this")
@pytest.mark.skipif(
    sys.platform == "win32" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="the statistics need glibc 2.33",
)
class TestMemory:
    def test_blocks_are_kept_when_they_are_freed(self) -> None:
        mapped, kept = run("keep")
        assert mapped == 0
        assert kept > 190_000_000

    def test_they_would_be_returned(self) -> None:
        mapped, kept = run("return")
        assert mapped > 0
        assert kept < 100_000_000

    @pytest.mark.parametrize(
        "settings",
        [
            {"MALLOC_MMAP_THRESHOLD_": "1000000"},
            {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=1000000"},
        ],
    )
    def test_settings_of_the_user_are_kept(self, settings: dict[str, str]) -> None:
        assert run("keep", **settings)[0] == 10
