"""Read msgpack from files that may be damaged."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import srsly


def unpack(data: bytes) -> Any:
    """Read a msgpack message: numbers, strings, lists, dicts and NumPy arrays of numbers. Lengths
    are limited by that of the data, and depths, so that this takes no more memory than the data
    accounts for, and no code is run.

    data (bytes): The message.
    RETURNS: What it says.
    RAISES (Exception): Of many kinds, if it is damaged.
    """
    with garbage_collection():
        return srsly.msgpack_loads(data)


@contextmanager
def garbage_collection() -> Iterator[None]:
    """Leave Python's garbage collection on if it is. After an error in msgpack, srsly would leave
    it off for good, so that a process that meets damaged files grows and grows.
    """
    enabled = gc.isenabled()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
