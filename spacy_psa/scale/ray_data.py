"""Annotate blocks with Ray Data: a pool of actors, each with a pipeline that it loads once.

The rows of the Dataset are blocks, not documents: an actor reads its own, and writes the shard. So
nothing goes through the driver or the object store but a line for each block, and nothing is sorted
or shuffled. Ray starts an actor that dies again, and gives its block to another.
"""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray
from ray.data import ActorPoolStrategy, DataContext

from ..errors import Errors, reason_of
from .annotating import N_DOCS, Annotator
from .blocks import Block
from .in_memory import annotate_table
from .shards import Entry
from .work import (
    Job,
    annotate_block,
    keep_few_kernels,
    load_annotator,
    load_pipeline,
    use_gpu,
)

_SECONDS = 10.0
_OURS = re.compile(r"\[P\d{3}\] [^\n]*")


class BlockWorker:
    """An actor.

    job (Job): The job.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.annotator: Annotator | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        # Not in the constructor, whose errors Ray takes for those of the machine
        if self.annotator is None:
            self.annotator = load_annotator(self.job)
        blocks = [Block.from_json(text) for text in batch["block"]]
        return {
            "entry": [annotate_block(self.annotator, self.job, block).to_json() for block in blocks]
        }


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to a cluster, or start Ray on this machine, unless this process already has."""
    if ray.is_initialized():
        yield
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        quiet["include_dashboard"] = False
    try:
        host, colon, port = (address or "").rpartition("://")[2].rpartition(":")
        if colon:
            # Ray itself would go on trying for minutes
            socket.create_connection((host, int(port)), _SECONDS).close()
        # "local": never a cluster that a variable of the environment names
        ray.init(address=address or "local", **quiet)
    except Exception as error:  # what Ray raises itself if a process of it starts too slowly
        reason = reason_of(error)
        if address is None:
            raise ValueError(Errors.P529.format(reason=reason)) from error
        raise ValueError(Errors.P513.format(address=address, reason=reason)) from error
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    try:
        yield
    finally:
        ray.shutdown()


def run_actors(
    job: Job, blocks: Sequence[Block], n_actors: int | None
) -> Generator[Entry, None, None]:
    """Annotate blocks in actors, within `connected`."""
    if not blocks:
        return
    context = DataContext.get_current()
    context.enable_progress_bars = False
    rows = [{"block": block.to_json()} for block in blocks]
    found = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        BlockWorker,
        fn_constructor_args=(job,),
        batch_size=1,
        **_pool(n_actors, job.settings.gpu_id, len(rows)),
    )
    try:
        for row in found.iter_rows():
            yield Entry.from_json(row["entry"])
    except ray.exceptions.RayError as error:
        message = _OURS.search(str(error))
        if message is None:
            raise
        raise ValueError(message[0].rstrip()) from error


def _pool(n_actors: int | None, gpu_id: int, most: int | None = None) -> dict[str, Any]:
    """The options of Ray Data for the actors, of which there are at most so many."""
    unit = "CPU" if gpu_id < 0 else "GPU"
    available = int(ray.cluster_resources().get(unit, 0))
    if gpu_id >= 0 and not available:  # Ray would wait for one
        reason = "the Ray cluster has none"
        raise ValueError(Errors.P453.format(gpu_id=gpu_id, reason=reason))
    n = n_actors or max(1, available)
    return {"compute": ActorPoolStrategy(size=min(n, most or n)), f"num_{unit.lower()}s": 1}


class TableWorker:
    """An actor that annotates the rows of a Dataset.

    model (str): The folder or name of the pipeline.
    column (str): The column of text.
    batch_size (Optional[int]): The number of documents in a batch.
    gpu_id (int): The GPU, or -1 for the CPU.
    code (Optional[str]): The Python file with registered functions.
    """

    def __init__(
        self, model: str, column: str, batch_size: int | None, gpu_id: int, code: str | None
    ) -> None:
        keep_few_kernels()
        use_gpu(gpu_id)
        self.annotator = Annotator.of(load_pipeline(model, code), batch_size)
        self.column = column

    def __call__(self, table: Any) -> Any:
        return annotate_table(self.annotator, table, self.column)


def annotate_dataset(
    model: str,
    dataset: Any,
    column: str,
    n_actors: int | None,
    batch_size: int | None,
    gpu_id: int,
    code: str | None,
) -> Any:
    """Annotate a Dataset."""
    return dataset.map_batches(
        TableWorker,
        fn_constructor_args=(model, column, batch_size, gpu_id, code),
        batch_size=N_DOCS,
        batch_format="pyarrow",
        **_pool(n_actors, gpu_id),
    )
