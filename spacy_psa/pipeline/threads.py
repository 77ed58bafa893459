"""Leave cores to other processes: PyTorch's threads spin while they wait for each other, so that a
single one that another process has displaced makes all of them wait, several times as long as one
thread would take.

PyTorch has a number for each of Python's threads; new ones begin with what was set last anywhere.
`process_threads` owns what this package knows of them, for as long as the process lives:

1. A call of a component, `using_threads`, sets the number of its thread. Calls in several threads
   may overlap; one within another of the same thread changes nothing.
2. When the call ends, even by an error, it restores the user's number. With "auto", `Contention`
   then learns how often threads were displaced, and chooses the number of the next call.
3. A forked child keeps what `Contention` has learned, and forgets the calls, most of which are in
   threads that it does not have.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, local
from time import monotonic, process_time
from typing import Literal

import torch
from spacy import language

from ..errors import check_value

try:
    import resource
except ImportError:  # Windows does not count displaced threads
    resource = None  # type: ignore[assignment]

logger = logging.getLogger("spacy_psa")

Threads = Literal["auto"] | int | None

# How long to count before the number of threads changes, in seconds of processor time
WINDOW = 0.2
# How often threads are displaced per second of processor time: 18 to 37 times on an idle machine
# with two cores, 250 to 265 beside busy processes, however many. (Per second of the clock, the more
# of them there are, the rarer it is: what is seldom on a core is seldom displaced from it.)
MANY = 100.0
# Seconds until more threads are tried again: the first time, and at most
FIRST_PAUSE, LAST_PAUSE = 2.0, 60.0


def is_worker() -> bool:
    """RETURNS (bool): Whether this process is a worker of `nlp.pipe`, as far as Python says."""
    work = getattr(language, "_apply_pipes", None)
    process = multiprocessing.current_process()
    return work is not None and getattr(process, "_target", None) is work


class Contention:
    """Counts how often the threads of this process are displaced by others while it computes, and
    determines how many of them to use: half as many whenever it is often, twice as many after a
    pause, which doubles whenever that fails."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.lock = Lock()
        self._seconds = 0.0
        self._displaced = 0
        self._pause = FIRST_PAUSE
        self._retry_at = 0.0

    def n_threads(self, n_all: int) -> int:
        """The number of threads to use."""
        if is_worker():
            return 1  # its siblings need the other cores
        limit = self.limit  # another thread may change it
        return n_all if limit is None else min(n_all, limit)

    def observe(self, seconds: float, displaced: int, n_threads: int, n_all: int) -> None:
        """Take note of a computation that took so many seconds of processor time."""
        with self.lock:
            self._seconds += seconds
            self._displaced += displaced
            if self._seconds < WINDOW:
                return
            is_often = self._displaced > MANY * self._seconds
            self._seconds, self._displaced = 0.0, 0
            if is_often and n_threads > 1:
                if self.limit is None:
                    logger.info(
                        "Other processes compete for the processor's cores: using fewer threads "
                        "while they do. `threads = null` turns this off."
                    )
                self.limit = max(1, n_threads // 2)
                self._retry_at = monotonic() + self._pause
                self._pause = min(2.0 * self._pause, LAST_PAUSE)
            elif self.limit is not None and monotonic() >= self._retry_at:
                if self.limit < n_all:
                    self.limit *= 2
                else:
                    self.limit, self._pause = None, FIRST_PAUSE


def checked(threads: Threads) -> Threads:
    """Check the setting, which must not be a number below 1."""
    if threads is not None and threads != "auto":
        check_value("threads", threads, lambda n: n >= 1, "a positive integer, 'auto' or null")
    return threads


class ProcessThreads:
    """Sets and restores the number of PyTorch's threads: one object per process, as said above."""

    def __init__(self) -> None:
        self.contention = Contention()
        self.forget_calls()

    def forget_calls(self) -> None:
        """Begin without calls, in a forked child as well: those of other threads do not go on there
        and may have held a lock."""
        self._lock = Lock()
        self.contention.lock = Lock()
        self._n_calls = 0  # that compute at this moment, in all of Python's threads
        # What the last of them has set, if anything, and what it will restore
        self._n_set: int | None = None
        self._n_all = 1
        self._thread = local()

    @contextmanager
    def using(self, threads: Threads) -> Iterator[None]:
        """Compute with a number of PyTorch's threads, at most all of them (None), which is restored
        afterwards: "auto" uses fewer while other processes compete for the cores, and one in the
        workers of `nlp.pipe`. A call within another one computes with the number of the outer one.
        """
        if threads is None or getattr(self._thread, "is_in_call", False):
            yield
            return
        n_threads, n_all = self._begin(threads)
        if n_all == 1:  # nothing to count or to restore
            yield
            return
        before, start = n_displaced(), process_time()
        self._thread.is_in_call = True
        try:
            yield
        finally:
            self._thread.is_in_call = False
            if n_threads != n_all:
                torch.set_num_threads(n_all)
            with self._lock:
                self._n_calls -= 1
            if threads == "auto":
                seconds, displaced = process_time() - start, n_displaced() - before
                self.contention.observe(seconds, displaced, n_threads, n_all)

    def _begin(self, threads: Literal["auto"] | int) -> tuple[int, int]:
        """Set the number for a call. Returns it, and the user's, which the call must restore."""
        with self._lock:
            n_all = found = torch.get_num_threads()
            if not self._n_calls:
                self._n_set = None
            # What another call has set, with which new threads begin, is not the user's setting. A
            # thread that has called before has had its own number restored.
            if found == self._n_set and not getattr(self._thread, "has_called", False):
                n_all = self._n_all
            self._thread.has_called = True
            if threads == "auto":
                n_threads = self.contention.n_threads(n_all)
            else:
                n_threads = min(threads, n_all)
            if n_threads != found:
                torch.set_num_threads(n_threads)
                self._n_set, self._n_all = n_threads, n_all
            self._n_calls += n_all > 1
        return n_threads, n_all


process_threads = ProcessThreads()
using_threads = process_threads.using
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process_threads.forget_calls)


def n_displaced() -> int:
    """RETURNS (int): How often a thread of this process has been displaced, as far as known."""
    return 0 if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
