"""Ranks are killed at random moments: nothing is lost or repeated, and none goes on alone."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from spacy_psa.training.checkpoint import read_checkpoint

from ..runs import log, weights
from .pair import train_runs

N_KILLS = 20
# Forks of a process that has imported everything start at once
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([train_runs.__module__, "spacy_psa.training.ranks.ranked_run"])


def train_rank(rank: int, port: int, run: dict[str, Any]) -> None:
    variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in variables.items()})
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    train_runs([run])


def train_pair(run: dict[str, Any]) -> list[int | None]:
    """RETURNS (List[Optional[int]]): The exit codes of two ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [PROCESSES.Process(target=train_rank, args=(i, port, run)) for i in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(120)
    return [rank.exitcode for rank in ranks]


@pytest.mark.nightly
def test_nothing_is_lost_when_ranks_are_killed_again_and_again(
    drawing: Path, tmp_path: Path
) -> None:
    rng, n_killed, n_ended = random.Random(0), 0, 0
    whole, run = tmp_path / "whole", {"config": drawing, "resume": True}
    assert train_pair({**run, "output": whole}) == [0, 0]
    while n_killed < N_KILLS or not n_ended:
        output = tmp_path / f"run{n_ended}"
        kill = {"victim": rng.randrange(2), "killed": rng.randrange(15), "after": rng.random() / 5}
        if n_killed == N_KILLS:
            kill = {}
        codes = train_pair({**run, **kill, "output": output})
        if codes != [0, 0]:
            n_killed += 1
            assert codes[kill["victim"]] == -signal.SIGKILL
            assert codes[1 - kill["victim"]] == 1
        else:
            n_ended += 1
            saved = read_checkpoint(output / "checkpoint")
            assert saved is not None and saved.finished
            assert weights(output) == weights(whole)
            assert log(output) == log(whole)
