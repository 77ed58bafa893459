"""Annotation in several processes. In `test_chaos`, they are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from ..documentation import ROOT
from .conftest import SENTENCES, n_finished

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes of Linux")


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
    model: Path, tmp_path: Path, number: signal.Signals
) -> None:
    source, out = tmp_path / "many.txt", tmp_path / "out"
    source.write_text("\n".join(SENTENCES * 50), encoding="utf8")
    command = [sys.executable, "-m", "spacy", "psa", "apply", model, source, "--output", out]
    command += ["--format", "jsonl", "--block-size", "300", "--n-process", "2"]
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    end = time.monotonic() + 240
    while n_finished(out) < 2 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(number)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 130, output
    assert "the same command goes on from there" in " ".join(output.split())
    assert "Traceback" not in output
