"""A run: find the input, check everything, annotate the blocks that are not finished."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from hashlib import sha256
from pathlib import Path

import spacy
from spacy.language import Language

from .. import __version__
from ..atomic_files import check_writable
from ..errors import Errors
from ..terminal import ProgressBar
from .annotating import Annotator
from .blocks import Block, digest, make_blocks
from .bulk import Summary
from .inputs import find_sources
from .local import run_here, run_processes
from .manifest import Manifest, open_manifest
from .output_columns import VERSION
from .reading import check_keys
from .shards import Entry
from .work import Job, Settings, check_failures, use_gpu


def apply_to_files(
    nlp: Language | str | Path, inputs: Sequence[str], output: str, settings: Settings
) -> Summary:
    """Annotate files."""
    folder = _check_output(output, inputs)
    sources, unread = find_sources(inputs)
    blocks = make_blocks(
        sources, settings.block_size, column=settings.column, whole_files=settings.whole_files
    )
    check_keys(blocks, settings.column)
    in_here = settings.engine == "local" and (settings.n_process or 1) == 1
    if in_here:
        use_gpu(settings.gpu_id)
    pipeline = nlp if isinstance(nlp, Language) else spacy.load(nlp)
    annotator = Annotator.of(pipeline, settings.batch_size)
    code = None if settings.code is None else Path(settings.code).read_bytes()
    run = {
        "schema": VERSION,
        "spacy_psa": __version__,
        "model": annotator.name,
        "checksum": annotator.checksum,
        "inputs": list(inputs),
        "plan": digest(blocks),
        "blocks": len(blocks),
        "format": settings.form,
        "column": settings.column,
        "document": "file" if settings.whole_files else "line",
        "code": None if code is None else sha256(code).hexdigest(),
    }
    with open_manifest(folder, run) as manifest, ExitStack() as stack:
        todo = [block for block in blocks if block.number not in manifest.entries]
        resumed = len(blocks) - len(todo)
        failed = sum(entry.failed for entry in manifest.entries.values())
        check_failures(failed, settings.max_errors, [])
        if todo:
            model = "" if in_here else _path_of(nlp, stack)
            job = Job(model, annotator.checksum, str(folder), settings)
            progress = Progress(blocks, manifest, show=settings.progress)
            stack.callback(progress.close)
            if in_here:
                entries = run_here(annotator, job, todo, progress.add)
            else:
                del annotator
                entries = _elsewhere(job, todo, settings, stack)
            stack.enter_context(closing(entries))
            for entry in entries:
                manifest.add(entry)
                progress.finish(entry)
                failed += entry.failed
                check_failures(failed, settings.max_errors, [])
        manifest.clean()
        found = manifest.entries.values()
        return Summary(
            documents=sum(entry.documents for entry in found),
            words=sum(entry.words for entry in found),
            failed=sum(entry.failed for entry in found),
            shards=len(found),
            resumed=resumed,
            unread=unread,
        )


class Progress(ProgressBar):
    """A progress bar over the bytes of the input.

    blocks (Sequence[Block]): All blocks.
    manifest (Manifest): Those that are finished.
    show (bool): Whether to show it, if there is a terminal.
    """

    def __init__(self, blocks: Sequence[Block], manifest: Manifest, *, show: bool) -> None:
        super().__init__(
            total=sum(block.size for block in blocks),
            initial=sum(entry.size for entry in manifest.entries.values()),
            disable=None if show else True,
            unit="B",
            unit_scale=True,
        )
        self._documents = self._words = self._size = 0
        self._start = time.monotonic()

    def add(self, documents: int, words: int, size: int) -> None:
        """Count documents of a block that is being annotated here."""
        self._documents, self._words = self._documents + documents, self._words + words
        seconds = max(1e-3, time.monotonic() - self._start)
        self.set_postfix_str(
            f"{self._documents:,} documents, {self._documents / seconds:,.0f} documents/s, "
            f"{self._words / seconds:,.0f} words/s",
            refresh=False,
        )
        self._size += size
        self.update(size)

    def finish(self, entry: Entry) -> None:
        """Count a finished block."""
        if not self._size:
            self.add(entry.documents, entry.words, 0)
        self.update(entry.size - self._size)
        self._size = 0


def _elsewhere(
    job: Job, blocks: list[Block], settings: Settings, stack: ExitStack
) -> Generator[Entry, None, None]:
    if settings.engine == "local":
        return run_processes(job, blocks, settings.n_process or 1)
    from .ray_data import connected, run_actors

    stack.enter_context(connected(settings.address))
    return run_actors(job, blocks, settings.n_process)


def _check_output(output: str, inputs: Sequence[str]) -> Path:
    """Check that the output folder is on this machine and apart from the input."""
    if "://" in output:
        raise ValueError(Errors.P516.format(path=output, problem="it is a URI"))
    folder = Path(os.path.abspath(output))
    for given in inputs:
        path = Path(os.path.abspath(given))
        if "://" not in given and (path == folder or path in folder.parents):
            raise ValueError(
                Errors.P516.format(path=output, problem=f"it is in the input '{given}'")
            )
    check_writable(folder)
    return folder


def _path_of(nlp: Language | str | Path, stack: ExitStack) -> str:
    """The folder or name by which workers load the pipeline."""
    if not isinstance(nlp, Language):
        return os.path.abspath(nlp) if Path(nlp).exists() else str(nlp)
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    nlp.to_disk(folder)
    return folder
