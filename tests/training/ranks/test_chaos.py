"""Ranks are killed at random moments: nothing is lost or repeated, and none goes on alone."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from spacy_psa.training.checkpoint import read_checkpoint

from ..runs import log, weights
from .pair import fork_pair

N_KILLS = 20


@pytest.mark.nightly
def test_nothing_is_lost_when_ranks_are_killed_again_and_again(
    drawing: Path, tmp_path: Path
) -> None:
    rng, n_killed, n_ended = random.Random(0), 0, 0
    whole, run = tmp_path / "whole", {"config": drawing, "resume": True}
    assert fork_pair([{**run, "output": whole}]) == [0, 0]
    while n_killed < N_KILLS or not n_ended:
        output = tmp_path / f"run{n_ended}"
        kill = {"victim": rng.randrange(2), "killed": rng.randrange(15), "after": rng.random() / 5}
        if n_killed == N_KILLS:
            kill = {}
        codes = fork_pair([{**run, **kill, "output": output}])
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
