"""Processes are killed again and again, at random moments: nothing is lost or repeated."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from .conftest import SENTENCES, descendants, failures_of, shards_of
from .test_processes import Run

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes of Linux"),
]
N_KILLS, N_COPIES = 20, 400
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


def driver(run: Run) -> list[int]:
    return [run.process.pid]


def worker(run: Run) -> list[int]:
    return run.workers()


def actor(run: Run) -> list[int]:
    return descendants(run.process.pid, b"BlockWorker")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that takes some seconds, with documents that fail."""
    path = tmp_path_factory.mktemp("chaos") / "many.txt"
    lines = [f"{s} {i}".encode() for i in range(N_COPIES) for s in SENTENCES]
    lines[1000::5000] = [b"\xff"] * len(lines[1000::5000])
    path.write_bytes(b"\n".join(lines))
    return path


@pytest.fixture(scope="module")
def whole(model: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a run that nobody disturbs."""
    out = tmp_path_factory.mktemp("whole") / "out"
    run = Run(model, source, out)
    output = run.finish()
    assert run.process.returncode == 0, output
    return out


@pytest.mark.parametrize(
    ("options", "victims"),
    [
        pytest.param((), driver, id="driver of one process"),
        pytest.param(("--n-process", "2"), driver, id="driver of two processes"),
        pytest.param(("--n-process", "2"), worker, id="process"),
        pytest.param(("--engine", "ray", "-n", "2"), driver, id="driver of Ray", marks=needs_ray),
        pytest.param(("--engine", "ray", "-n", "2"), actor, id="actor of Ray", marks=needs_ray),
    ],
)
def test_nothing_is_lost_and_nothing_repeated(
    model: Path,
    source: Path,
    whole: Path,
    tmp_path: Path,
    options: tuple[str, ...],
    victims: Callable[[Run], list[int]],
) -> None:
    rng, out, n_killed = random.Random(0), tmp_path / "out", 0
    expected = shards_of(whole), failures_of(whole)
    while n_killed < N_KILLS:
        run = Run(model, source, out, *options)
        n_before = run.n_finished()
        # At any moment of the work, not only of the start, which takes most of the time
        run.until(n_before + rng.randrange(60))
        time.sleep(rng.uniform(0.0, 0.1))
        found = victims(run)
        if found and run.process.poll() is None:
            os.kill(rng.choice(found), signal.SIGKILL)
            n_killed += 1
        output = run.finish()
        if victims is not driver:
            # It is replaced
            assert run.process.returncode == 0, output
        if run.process.returncode == 0:
            assert (shards_of(out), failures_of(out)) == expected
            shutil.rmtree(out)
    run = Run(model, source, out, *options)
    output = run.finish()
    assert run.process.returncode == 0, output
    assert (shards_of(out), failures_of(out)) == expected
