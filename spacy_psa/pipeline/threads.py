"""Leave cores to other processes: PyTorch's threads spin while they wait for each other, so that a
single one that another process has displaced makes all of them wait, ten times as long as one
thread would take."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Literal

import torch

from ..errors import check_value

try:
    import resource
except ImportError:  # Windows does not count displaced threads
    resource = None  # type: ignore[assignment]

logger = logging.getLogger("spacy_psa")

Threads = Literal["auto"] | int | None

# How long to count before the number of threads changes, in seconds of computation
WINDOW = 0.2
# How often threads are displaced per second: about 5 on an idle machine, 100 to 400 beside others
MANY = 50.0
# Seconds until more threads are tried again: the first time, and at most
FIRST_PAUSE, LAST_PAUSE = 2.0, 60.0


class Contention:
    """Counts how often the threads of this process are displaced by others while it computes, and
    determines how many of them to use: half as many whenever it is often, twice as many after a
    pause, which doubles whenever that fails."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self._seconds = 0.0
        self._displaced = 0
        self._pause = FIRST_PAUSE
        self._retry_at = 0.0

    def n_threads(self, n_all: int) -> int:
        """The number of threads to use.

        n_all (int): The number that PyTorch is set to, which is never exceeded.
        RETURNS (int): The number.
        """
        if multiprocessing.parent_process() is not None:
            return 1  # its siblings need the other cores
        return n_all if self.limit is None else min(n_all, self.limit)

    def observe(self, seconds: float, displaced: int, n_threads: int, n_all: int) -> None:
        """Take note of a computation.

        seconds (float): How long it took.
        displaced (int): How often a thread was displaced meanwhile.
        n_threads (int): The number of threads that it used.
        n_all (int): The number that PyTorch is set to.
        """
        self._seconds += seconds
        self._displaced += displaced
        if self._seconds < WINDOW:
            return
        is_often = self._displaced > MANY * self._seconds
        self._seconds, self._displaced = 0.0, 0
        if is_often and n_threads > 1:
            if self.limit is None:
                logger.info(
                    "Other processes compete for the processor's cores: using fewer threads while "
                    "they do. `threads = null` turns this off."
                )
            self.limit = max(1, n_threads // 2)
            self._retry_at = monotonic() + self._pause
            self._pause = min(2.0 * self._pause, LAST_PAUSE)
        elif self.limit is not None and monotonic() >= self._retry_at:
            if self.limit < n_all:
                self.limit *= 2
            else:
                self.limit, self._pause = None, FIRST_PAUSE


contention = Contention()


def checked(threads: Threads) -> Threads:
    """RETURNS (Threads): The setting.
    RAISES (ValueError): If it is a number below 1.
    """
    if threads is not None and threads != "auto":
        check_value("threads", threads, lambda n: n >= 1, "a positive integer, 'auto' or null")
    return threads


@contextmanager
def using_threads(threads: Threads) -> Iterator[None]:
    """Compute with a number of PyTorch's threads, which is restored afterwards.

    threads (Union[Literal["auto"], int, None]): The number; "auto" for PyTorch's, but fewer while
        other processes compete for the cores, and one in worker processes; None for PyTorch's.
    """
    n_all = torch.get_num_threads()
    if threads is None or n_all == 1 or resource is None:
        yield
        return
    n_threads = contention.n_threads(n_all) if threads == "auto" else threads
    before, start = n_displaced(), monotonic()
    if n_threads != n_all:
        torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        if n_threads != n_all:
            torch.set_num_threads(n_all)
        if threads == "auto":
            contention.observe(monotonic() - start, n_displaced() - before, n_threads, n_all)


def n_displaced() -> int:
    """RETURNS (int): How often a thread of this process has been displaced."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
