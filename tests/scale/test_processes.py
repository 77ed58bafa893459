"""Annotation in several processes, of which any can be killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from ..documentation import ROOT
from .conftest import SENTENCES, descendants, rows_of, shards_of

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes of Linux")

N_BLOCKS, N_COPIES = 150, 50


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A file with more texts, a few of them in a block."""
    path = tmp_path / "many.txt"
    path.write_text(
        "\n".join(f"{s} {i}" for i in range(N_COPIES) for s in SENTENCES), encoding="utf8"
    )
    return path


class Run:
    """The command, in a process of its own."""

    def __init__(self, model: Path, source: Path, output: Path, *options: str) -> None:
        size = max(1, source.stat().st_size // N_BLOCKS)
        command = [sys.executable, "-m", "spacy", "psa", "apply", str(model), str(source)]
        command += ["--output", str(output), "--format", "jsonl", "--block-size", str(size)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
        self.manifest = output / "manifest.jsonl"
        self.process = subprocess.Popen(
            [*command, *options],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def until(self, n_blocks: int) -> bool:
        """Wait until some blocks are finished. RETURNS (bool): Whether the process still runs."""
        return self._wait(lambda: self.n_finished() >= n_blocks)

    def n_finished(self) -> int:
        return self.manifest.read_bytes().count(b"\n") - 1 if self.manifest.exists() else 0

    def workers(self) -> list[int]:
        """The processes that it has started."""
        return descendants(self.process.pid, b"spawn_main")

    def finish(self) -> str:
        """RETURNS (str): What it has printed."""
        output, _ = self.process.communicate(timeout=240)
        return output

    def _wait(self, condition: Callable[[], bool]) -> bool:
        end = time.monotonic() + 240
        while not condition() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        return self.process.poll() is None


# Two processes die as one does; in tests/scale/test_apply.py, one is interrupted
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), marks=pytest.mark.nightly, id="one"),
        pytest.param(("--n-process", "2"), id="two"),
    ],
)
def test_a_killed_run_loses_nothing_and_repeats_nothing(
    model: Path, many: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    run = Run(model, many, out, *options)
    assert run.until(3), run.finish()
    workers = run.workers()
    os.kill(run.process.pid, signal.SIGKILL)
    run.finish()
    for worker in workers:
        # They notice that their parent is gone
        while Path(f"/proc/{worker}").exists() and "State:\tZ" not in status(worker):
            time.sleep(0.02)
    n = run.n_finished()
    assert 3 <= n < N_BLOCKS
    output = Run(model, many, out).finish()
    assert f"{n} of {N_BLOCKS} shards were there before" in output
    assert [row["text"] for row in rows_of(out)] == many.read_text().split("\n")
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == [".lock"]


def status(process: int) -> str:
    try:
        return Path(f"/proc/{process}/status").read_text()
    except OSError:
        return "State:\tZ"


def test_a_killed_worker_loses_nothing_and_repeats_nothing(
    model: Path, many: Path, tmp_path: Path
) -> None:
    assert "2,000 documents" in Run(model, many, tmp_path / "one").finish()
    run = Run(model, many, tmp_path / "two", "--n-process", "2")
    assert run.until(1), run.finish()
    os.kill(run.workers()[0], signal.SIGKILL)
    assert "2,000 documents" in run.finish()
    # The same bytes, however many processes there are
    assert shards_of(tmp_path / "two") == shards_of(tmp_path / "one")


def test_a_block_that_a_dead_process_does_not_take_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from spacy_psa.scale import local  # needs pyarrow

    refused = iter([False, True, False, False, True, *[False] * 20])

    class Pool:
        def submit(self, _: object, job: Any, block: int) -> Future[int]:
            if next(refused):
                raise BrokenProcessPool
            future = Future[int]()
            future.set_result(block)
            return future

        def shutdown(self, *, cancel_futures: bool) -> None:
            pass

    monkeypatch.setattr(local, "_pool", lambda _: Pool())
    run: Any = local.run_processes
    assert sorted({*run(None, range(6), 2)}) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)]
)
def test_an_interrupted_run_ends_cleanly(
    model: Path, many: Path, tmp_path: Path, number: signal.Signals
) -> None:
    run = Run(model, many, tmp_path / "out", "--n-process", "2")
    assert run.until(2), run.finish()
    os.kill(run.process.pid, number)
    output = run.finish()
    assert run.process.returncode == 130
    assert "the same command goes on from there" in " ".join(output.split())
    assert "Traceback" not in output
