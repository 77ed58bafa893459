"""What a worker does, in this process, in another, or on another machine: annotate a block."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import spacy
from spacy.language import Language

from ..errors import Errors, reason_of
from .annotating import Annotator
from .blocks import Block
from .reading import Failure, read_block
from .shards import Entry, open_shard, write_failures

# Enough for what each batch repeats of the one before
N_KERNELS = 16
# Takes numbers of documents, words and characters
Report = Callable[[int, int, int], None]


@dataclass(frozen=True)
class Settings:
    """The settings of `spacy_psa.apply`, which describes them."""

    form: str
    column: str
    whole_files: bool
    engine: str
    n_process: int | None
    address: str | None
    batch_size: int | None
    block_size: int
    max_errors: int | None
    gpu_id: int
    code: str | None
    progress: bool


@dataclass(frozen=True)
class Job:
    """What all workers have to know: the pipeline, the SHA-256 that it must have, the output."""

    model: str
    checksum: str
    output: str
    settings: Settings


def use_gpu(gpu_id: int) -> None:
    """Use a GPU from now on."""
    if gpu_id >= 0:
        try:
            spacy.require_gpu(gpu_id)
        except Exception as error:
            raise ValueError(Errors.P453.format(gpu_id=gpu_id, reason=reason_of(error))) from error


def keep_few_kernels() -> None:
    """Bound the cache of oneDNN, in a command or a worker, unless the environment does: by default
    it keeps the kernels of 1,024 shapes. Few batches have the shape of an earlier one, and what is
    kept lies between freed tensors, where the next ones then do not fit: memory grows. oneDNN reads
    this when it is first used."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(N_KERNELS))


def load_pipeline(model: str, code: str | None) -> Language:
    """Load a pipeline in a worker, after the file that registers functions for it."""
    if code is not None:
        spacy.util.import_file("python_code", code)
    return spacy.load(model)


def load_annotator(job: Job) -> Annotator:
    """Load the pipeline in a worker."""
    keep_few_kernels()
    use_gpu(job.settings.gpu_id)
    try:
        nlp = load_pipeline(job.model, job.settings.code)
        annotator = Annotator.of(nlp, job.settings.batch_size)
    except Exception as error:
        raise ValueError(Errors.P514.format(path=job.model, reason=reason_of(error))) from error
    if annotator.checksum != job.checksum:
        reason = "it has other contents there"
        raise ValueError(Errors.P514.format(path=job.model, reason=reason))
    gc.freeze()  # see `frozen_objects`
    return annotator


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Spare Python's garbage collector the objects that exist, such as the pipeline, which it would
    go through again and again. If some are frozen already, they are the caller's to unfreeze."""
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def annotate_block(
    annotator: Annotator, job: Job, block: Block, report: Report = lambda *counts: None
) -> Entry:
    """Annotate a block, and write its shard."""
    settings = job.settings
    folder, name = Path(job.output), f"{block.number:06}"
    shard_name, errors_name = f"part-{name}.{settings.form}", f"errors-{name}.jsonl"
    start = time.process_time()
    failures: list[Failure] = []
    documents = words = 0
    chunks = read_block(
        block, annotator.n_docs, column=settings.column, whole_files=settings.whole_files
    )
    with open_shard(folder / shard_name, settings.form) as shard:
        for chunk in chunks:
            with annotator.zone():
                pairs = list(annotator.annotate(chunk.records, chunk.failures))
                if pairs:
                    shard.write(annotator, chunk, pairs)
                lasts = [doc[-1] for _, doc in pairs if len(doc)]
                done = (
                    len(pairs),
                    sum(token.i + 1 for token in lasts),
                    sum(token.idx + len(token) for token in lasts),
                )
                del pairs, lasts
            documents, words = documents + done[0], words + done[1]
            failures += chunk.failures
            check_failures(len(failures), settings.max_errors, failures)
            report(*done)
        if failures:
            write_failures(folder / errors_name, failures)
        else:  # those of an earlier attempt
            (folder / errors_name).unlink(missing_ok=True)
    return Entry(
        block=block.number,
        shard=shard_name,
        errors=errors_name if failures else None,
        documents=documents,
        words=words,
        failed=len(failures),
        size=block.size,
        seconds=round(time.process_time() - start, 3),
    )


def check_failures(n: int, limit: int | None, failures: list[Failure]) -> None:
    """Check how many documents have failed."""
    if limit is not None and n > limit:
        last = f"'{failures[-1].id}': {failures[-1].error}" if failures else "see errors-*.jsonl"
        raise ValueError(Errors.P511.format(n=n, limit=limit, last=last))
