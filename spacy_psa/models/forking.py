"""Make `nlp.pipe(n_process=2)` work, whatever the parent process has done with networks.

A forked child inherits the parent's OpenMP state, but not its threads: the first parallel region
of PyTorch in the child waits for them forever. Making or loading a network is enough for that:
large tensors are filled and copied in parallel. With one thread there is no parallel region.
Processes that share the work do not want more threads each anyway.

Nor does the child have the thread that was about to release a lock. In the standard library of
Python before 3.12, each `cached_property` has one, which is held while it is computed.
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
    """Remember that this process has a network, so that its children need the precaution."""
    global _has_network
    _has_network = True


def _cached_properties() -> Iterator[cached_property]:
    """The cached properties of all classes of ours."""
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
