"""Make `nlp.pipe(n_process=2)` work even if the parent process has already used a network.

A forked child inherits the parent's OpenMP state but not its threads, so PyTorch's first parallel
region in the child waits for them forever. Building or loading a network in the parent is enough to
cause this: large tensors are filled and copied in parallel. With a single thread there are no
parallel regions, and worker processes gain nothing from more threads anyway.

The child also lacks any thread that was about to release a lock. Before Python 3.12, every
`cached_property` has a lock, which is held while the value is computed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cached_property
from threading import RLock

import torch

OURS = __name__.partition(".")[0] + "."

_has_network = False


def note_network() -> None:
    """Record that this process has a network, so that forked children must use one thread."""
    global _has_network
    _has_network = True


def _cached_properties() -> Iterator[cached_property]:
    """Find the cached properties of all classes in this package."""
    modules = [module for name, module in [*sys.modules.items()] if name.startswith(OURS)]
    for module in modules:
        for class_ in [*vars(module).values()]:
            if isinstance(class_, type) and class_.__module__ == module.__name__:
                yield from (p for p in vars(class_).values() if isinstance(p, cached_property))


def _after_fork_in_child() -> None:
    if sys.version_info < (3, 12):
        for each in _cached_properties():
            vars(each).update(lock=RLock())
    if _has_network:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
