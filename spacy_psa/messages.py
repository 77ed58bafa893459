"""Read msgpack data that may be damaged."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import srsly


def unpack(data: bytes) -> Any:
    """Unpack a msgpack message: numbers, strings, lists, dicts and NumPy arrays of numbers. Nesting
    is limited, and lengths cannot exceed that of the data, so memory use is bounded. No code is
    run.
    """
    with garbage_collection():
        return srsly.msgpack_loads(data)


@contextmanager
def garbage_collection() -> Iterator[None]:
    """Restore Python's garbage collection. After a msgpack error, srsly would leave it disabled,
    and the memory of a process that reads damaged files would grow without bound.
    """
    enabled = gc.isenabled()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
