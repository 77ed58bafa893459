"""Two processes that train together, started by the tests.

python -m tests.training.ranks.pair RUNS: a JSON file with a list of runs, of which each has the
`config`, the `output`, and optionally `overrides`, those of the `others` than rank 0, `resume` and
`killed`: the update in which a process is killed, rank 1 or `victim`, or so many seconds `after` it
has begun, wherever the process is then.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import sys
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
import torch
from spacy.language import Language

from spacy_psa.cli.train import train_as_rank
from spacy_psa.locks import FolderLock
from spacy_psa.training.ranks import find_place, join
from spacy_psa.training.ranks.launch import launch

from ...documentation import ROOT


def run_pair(folder: Path, runs: list[dict[str, Any]]) -> None:
    """Make runs, one after the other, in two processes that are launched as by the command.

    folder (Path): Where to write what they are to do.
    runs (List[Dict[str, Any]]): See above.
    """
    path = folder / "runs.json"
    path.write_text(json.dumps(runs, default=str), encoding="utf8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        launch(2, ["-m", __name__, str(path)])


def fork_pair(runs: list[dict[str, Any]]) -> list[int | None]:
    """Make runs in two forks of this process, which need not import everything again.

    runs (List[Dict[str, Any]]): See above.
    RETURNS (List[Optional[int]]): The exit codes of the two.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        variables = {"WORLD_SIZE": 2, "MASTER_PORT": free.getsockname()[1]}

    def act(rank: int) -> None:
        own = {**variables, "RANK": rank, "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1"}
        os.environ.update({name: str(value) for name, value in own.items()})
        train_runs(runs)

    fork = multiprocessing.get_context("fork")
    ranks = [fork.Process(target=act, args=(rank,)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(300)
    return [rank.exitcode for rank in ranks]


def _kill_in(update: int, after: float) -> None:
    original, done = Language.update, 0

    def mortal_update(self: Language, *args: Any, **kwargs: Any) -> Any:
        nonlocal done
        done += 1
        if done == update + 1:
            kill = Timer(after, os.kill, (os.getpid(), signal.SIGKILL))
            kill.daemon = True
            kill.start() if after else kill.run()
        return original(self, *args, **kwargs)

    Language.update = mortal_update  # type: ignore[method-assign]


def train_runs(runs: list[dict[str, Any]]) -> None:
    """Make runs as one of the ranks."""
    torch.set_num_threads(1)
    place = find_place(os.environ)
    assert place is not None
    with join(place, -1, 60.0) as group:
        for run in runs:
            if "killed" in run and place.rank == run.get("victim", 1):
                _kill_in(run["killed"], run.get("after", 0.0))
            others = {} if group.is_first else run.get("others", {})
            with FolderLock(Path(run["output"])) as lock:
                train_as_rank(
                    Path(run["config"]),
                    Path(run["output"]),
                    lock=lock,
                    overrides={**run.get("overrides", {}), **others},
                    resume=run.get("resume", False),
                    checkpoint_every=None,
                    use_gpu=-1,
                    group=group,
                )


if __name__ == "__main__":
    train_runs(json.loads(Path(sys.argv[1]).read_text(encoding="utf8")))
