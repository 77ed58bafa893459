"""Make a worker of `nlp.pipe(n_process=2)` that is killed an error, not a wait without end.

spaCy reads the docs of each worker from a pipe, and learns of a death because the pipe ends;
workers learn in the same way that nobody reads what they write any more. A pipe ends when nobody
has its other end open. But workers that are forked have all ends of all pipes that spaCy has made
for them, so that no pipe ever ends: the parent waits for docs of the dead, or for a worker that
waits for it. And when the parent is to exit, it waits until all texts that were on their way have
been read, which nobody does.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue
from multiprocessing.util import register_after_fork
from types import FrameType
from typing import TypeVar

from spacy import language

T = TypeVar("T")


def close_pipes_of_others(_: object = None) -> None:
    """Close the ends of all pipes that spaCy has made for its workers, in one that has just been
    forked, but for the end that it writes to.

    A forked process begins within the calls of its parent. So the pipes are the variables of the
    function of spaCy's that forks, whatever else has pipes in this process.
    """
    process = multiprocessing.current_process()
    work = getattr(language, "_apply_pipes", None)
    if work is None or getattr(process, "_target", None) is not work:
        return
    own = getattr(process, "_args", ())
    for end in _variables_of_spacy(sys._getframe(), Connection):
        if not end.closed and not any(end is argument for argument in own):
            end.close()


def exit_without_waiting() -> None:
    """Let a parent that has forked a worker of spaCy's exit while there are texts in its queues.

    Nothing that is wanted gets lost: spaCy waits for its workers before it gives up a queue.
    """
    for queue in _variables_of_spacy(sys._getframe(), Queue):
        queue.cancel_join_thread()


def _variables_of_spacy(frame: FrameType | None, kind: type[T]) -> Iterator[T]:
    """Objects in tuples and lists that are variables of functions of spaCy's module."""
    while frame is not None:
        if frame.f_globals is vars(language):
            for value in list(frame.f_locals.values()):
                if isinstance(value, (tuple, list)):
                    yield from (item for item in value if isinstance(item, kind))
        frame = frame.f_back


# Called by multiprocessing in a child that has just been forked, when it knows what it is to do.
register_after_fork(close_pipes_of_others, close_pipes_of_others)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=exit_without_waiting)
