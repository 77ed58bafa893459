"""Processes are killed at random moments: nothing is lost or repeated, and none is left behind."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import spacy_psa

from .conftest import SENTENCES, descendants, failures_of, n_finished, shards_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes of Linux")
N_COPIES, MOST_BLOCKS = 15, 15
SETTINGS: dict[str, Any] = {"format": "jsonl", "block_size": 100}
RAY = [
    pytest.mark.nightly,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
]
# Forks of a process that has imported everything start at once
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["spacy_psa.scale.file_run", "spacy_psa.pipeline.tagger"])


def driver(pid: int) -> list[int]:
    return [pid]


def worker(pid: int) -> list[int]:
    return descendants(pid, b"spawn_main")


def actor(pid: int) -> list[int]:
    return descendants(pid, b"BlockWorker")


def runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of some hundred blocks, with documents that fail."""
    path = tmp_path_factory.mktemp("chaos") / "many.txt"
    lines = [f"{s} {i}".encode() for i in range(N_COPIES) for s in SENTENCES]
    lines[100::500] = [b"\xff"] * len(lines[100::500])
    path.write_bytes(b"\n".join(lines))
    return path


@pytest.fixture(scope="module")
def whole(model: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a run that nobody disturbs."""
    output = tmp_path_factory.mktemp("whole") / "out"
    spacy_psa.apply(model, source, output, **SETTINGS)
    return output


@pytest.mark.parametrize("n_kills", [1, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("options", "victims"),
    [
        pytest.param({}, driver, id="driver of one process"),
        pytest.param({"n_process": 2}, driver, id="driver of two processes"),
        pytest.param({"n_process": 2}, worker, id="process"),
        pytest.param({"engine": "ray", "n_process": 1}, driver, id="driver of Ray", marks=RAY),
        pytest.param({"engine": "ray", "n_process": 2}, actor, id="actor of Ray", marks=RAY),
    ],
)
def test_nothing_is_lost_and_nothing_repeated(
    model: Path,
    source: Path,
    whole: Path,
    tmp_path: Path,
    options: dict[str, Any],
    victims: Callable[[int], list[int]],
    n_kills: int,
) -> None:
    rng, n_killed, n_ended = random.Random(0), 0, 0
    others: set[int] = set()
    while n_killed < n_kills or not n_ended:
        output = tmp_path / f"out{n_ended}"
        arguments = str(model), str(source), str(output)
        run = PROCESSES.Process(
            target=spacy_psa.apply, args=arguments, kwargs={**SETTINGS, **options}
        )
        run.start()
        assert run.pid
        while n_killed < n_kills:
            # At any moment of the work, and also before it
            n = n_finished(output) + rng.randrange(MOST_BLOCKS)
            while run.is_alive() and n_finished(output) < n:
                time.sleep(0.002)
            time.sleep(rng.uniform(0.0, 0.02))
            others.update(descendants(run.pid, b""))
            found = victims(run.pid)
            if not run.is_alive():
                break
            if found:
                os.kill(rng.choice(found), signal.SIGKILL)
                n_killed += 1
            if victims is driver:
                break
        run.join(240)
        # All but a driver are replaced
        assert run.exitcode == 0 or (victims is driver and run.exitcode == -signal.SIGKILL)
        if run.exitcode == 0:
            n_ended += 1
            assert (shards_of(output), failures_of(output)) == (
                shards_of(whole),
                failures_of(whole),
            )
            assert n_finished(output) == n_finished(whole)
            assert [path.name for path in output.glob(".*")] == [".lock"]
    end = time.monotonic() + 60
    while any(map(runs, others)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(map(runs, others))
