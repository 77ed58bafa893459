"""Make `nlp.pipe(n_process=2)` work after the parent process has run a network.

A forked child inherits the parent's OpenMP state, but not its threads: the first parallel region
of PyTorch in the child waits for them forever. With one thread there is no parallel region.
Processes that share the work do not want more threads each anyway.
"""

from __future__ import annotations

import os

import torch

_ran_forward = False


def note_forward() -> None:
    """Remember that this process has run a network, so that its children need the precaution."""
    global _ran_forward
    _ran_forward = True


def _after_fork_in_child() -> None:
    if _ran_forward:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
