"""Raise an error instead of hanging when a worker of `nlp.pipe(n_process=2)` is killed.

spaCy reads the docs of each worker from a pipe. When the pipe is closed, it knows that the worker
is dead; workers notice in the same way that their output is no longer read. A pipe counts as
closed once no process has its other end open. But forked workers inherit both ends of all pipes
that spaCy has created for its workers, so no pipe ever closes: the parent waits for docs from a
dead worker, or for a worker that waits for the parent. And when the parent exits, it waits until
the texts in its queues have been read, which never happens.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue
from multiprocessing.util import register_after_fork
from types import FrameType
from typing import TypeVar

from spacy import language

from .threads import is_worker

T = TypeVar("T")


def close_pipes_of_others(_: object = None) -> None:
    """In a worker that has just been forked, close the ends of all pipes that spaCy has created for
    its workers, except the one that it writes to.

    A forked process starts with its parent's call stack. So spaCy's pipes, as opposed to any others
    in this process, are the variables of the spaCy function that forks.
    """
    if not is_worker():
        return
    own = getattr(multiprocessing.current_process(), "_args", ())
    for end in _variables_of_spacy(sys._getframe(), Connection):
        if not end.closed and not any(end is argument for argument in own):
            end.close()


def exit_without_waiting() -> None:
    """Let a parent that has forked a spaCy worker exit while there are texts in its queues.

    No results are lost: spaCy waits for its workers before it discards a queue.
    """
    for queue in _variables_of_spacy(sys._getframe(), Queue):
        queue.cancel_join_thread()


def _variables_of_spacy(frame: FrameType | None, kind: type[T]) -> Iterator[T]:
    """Find objects in the tuples and lists that are local variables of spaCy's functions."""
    while frame is not None:
        if frame.f_globals is vars(language):
            for value in list(frame.f_locals.values()):
                if isinstance(value, (tuple, list)):
                    yield from (item for item in value if isinstance(item, kind))
        frame = frame.f_back


@cache
def guard_workers() -> None:
    """From now on, raise an error in this process instead of hanging when a forked worker of
    `nlp.pipe` is killed, whatever components the pipeline has. It registers functions that run
    whenever this process forks; nothing in this package calls it.
    """
    # Called by multiprocessing in a newly forked child, once its target function is known
    register_after_fork(close_pipes_of_others, close_pipes_of_others)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_parent=exit_without_waiting)
