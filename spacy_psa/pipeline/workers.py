"""Make a worker of `nlp.pipe(n_process=2)` that is killed an error, not a wait without end.

spaCy reads the docs of each worker from a pipe, and learns of a death because the pipe ends. A pipe
ends when nobody has its writing end open any more. spaCy closes these ends in the parent, but
workers that are forked have those of one another as well, so that no pipe ever ends.
"""

from __future__ import annotations

import gc
import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.util import register_after_fork

from spacy import language


def own_writer(process: BaseProcess) -> Connection | None:
    """What a worker of spaCy sends its docs through.

    process: The process that this is.
    RETURNS: The writing end of its pipe; None if it is something else than a worker of spaCy.
    """
    work = getattr(language, "_apply_pipes", None)
    if work is None or getattr(process, "_target", None) is not work:
        return None
    for argument in getattr(process, "_args", ()):
        if isinstance(argument, Connection) and argument.writable:
            return argument
    return None


def close_writers_of_others(_: object = None) -> None:
    """Close the pipes of other workers, in a worker that has just been forked.

    spaCy has the writing ends of all its workers in a tuple, and one of them is this worker's own:
    that tells them from whatever else has pipes in this process.
    """
    own = own_writer(multiprocessing.current_process())
    if own is None:
        return
    for holder in gc.get_referrers(own):
        if type(holder) is tuple and all(_is_writer(end) for end in holder):
            for end in holder:
                if end is not own and not end.closed:
                    end.close()


def _is_writer(value: object) -> bool:
    return isinstance(value, Connection) and (value.closed or value.writable)


# Called by multiprocessing in a child that has just been forked, when it knows what it is to do.
register_after_fork(close_writers_of_others, close_writers_of_others)
