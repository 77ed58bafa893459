"""Make `nlp.pipe(n_process=2)` work, whatever the parent process has done with networks.

A forked child inherits the parent's OpenMP state, but not its threads: the first parallel region
of PyTorch in the child waits for them forever. Making or loading a network is enough for that:
large tensors are filled and copied in parallel. With one thread there is no parallel region.
Processes that share the work do not want more threads each anyway.
"""

from __future__ import annotations

import os

import torch

_has_network = False


def note_network() -> None:
    """Remember that this process has a network, so that its children need the precaution."""
    global _has_network
    _has_network = True


def _after_fork_in_child() -> None:
    if _has_network:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
