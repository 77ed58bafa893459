"""Annotate blocks on this machine: in this process, or in several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache

from ..errors import Errors
from .annotating import Annotator
from .blocks import Block
from .shards import Entry
from .work import Job, Report, annotate_block, frozen_objects, load_annotator

# More, and it is a document that ends the processes, not somebody else
MAX_DEATHS = 5
# One waits while the other is annotated
_BLOCKS_PER_PROCESS = 2


def run_here(
    annotator: Annotator, job: Job, blocks: Iterable[Block], report: Report
) -> Generator[Entry, None, None]:
    """Annotate blocks in this process."""
    with frozen_objects():
        for block in blocks:
            yield annotate_block(annotator, job, block, report)


def run_processes(
    job: Job, blocks: Iterable[Block], n_process: int
) -> Generator[Entry, None, None]:
    """Annotate blocks in other processes. The blocks of one that dies are annotated again."""
    waiting = iter(blocks)
    again: list[Block] = []
    deaths = 0
    others = {*multiprocessing.active_children()}
    while True:
        futures: dict[Future[Entry], Block] = {}
        pool = _pool(n_process)
        try:
            while True:
                while len(futures) < n_process * _BLOCKS_PER_PROCESS:
                    block = again.pop() if again else next(waiting, None)
                    if block is None:
                        break
                    again.append(block)  # `submit` fails if a process has died meanwhile
                    futures[pool.submit(_work, job, block)] = block
                    again.pop()
                if not futures:
                    return
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    entry = future.result()
                    del futures[future]
                    deaths = 0
                    yield entry
        except BrokenProcessPool as error:
            deaths += 1
            again += futures.values()
            if deaths == MAX_DEATHS:
                names = ", ".join(sorted({p.source.name for b in again for p in b.parts})[:5])
                raise ValueError(Errors.P512.format(n=deaths, names=names)) from error
        finally:
            for process in {*multiprocessing.active_children()} - others:
                process.kill()
            pool.shutdown(cancel_futures=True)


def _pool(n_process: int) -> ProcessPoolExecutor:
    # A fork would share locks and threads of this process
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(n_process, context, _start, (n_process,))


def _start(n_process: int) -> None:
    """Prepare a process, which ends with its parent and has its share of the cores."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // n_process))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _annotator(job: Job) -> Annotator:
    return load_annotator(job)


def _work(job: Job, block: Block) -> Entry:
    return annotate_block(_annotator(job), job, block)
