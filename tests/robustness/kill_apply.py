"""Kill bulk annotation at random moments, again and again, and check what is left.

    python -m tests.robustness.kill_apply --times 20
    python -m tests.robustness.kill_apply --times 20 --engine ray

Annotate a file with a tiny pipeline, and kill the process (SIGKILL) at a random moment; with Ray,
the process or one of its actors. After each kill, the finished shards must be whole, and the same
command goes on. A run that finishes must leave exactly the shards of one that was left alone.
The exit code is 1 if any check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import torch

import spacy_psa

from ..pipeline.conftest import WORDS, trained_nlp

N_LINES, BLOCK_SIZE = 600, 400


def main() -> int:
    """Run as a command. RETURNS (int): The exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--times", type=int, default=20, help="how often to kill")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    # The runs are forks, which OpenMP threads do not survive
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        return kill_often(Path(folder), arguments.engine, arguments.times, arguments.seed)


def kill_often(folder: Path, engine: str, times: int, seed: int) -> int:
    """Kill runs until there were enough kills.

    folder (Path): An empty folder to work in.
    engine (str): "local" or "ray".
    times (int): The number of kills.
    seed (int): The seed of the moments.
    RETURNS (int): The exit code.
    """
    moments = random.Random(seed)
    nlp = trained_nlp()
    nlp.to_disk(folder / "model")
    lines = [f"{' '.join(WORDS[i % 3])} {i}" for i in range(N_LINES)]
    (folder / "texts.txt").write_text("\n".join(lines), encoding="utf8")
    options: dict[str, Any] = {"format": "jsonl", "block_size": BLOCK_SIZE}
    start = time.monotonic()
    spacy_psa.apply(nlp, folder / "texts.txt", folder / "alone", **options)
    alone, out = shards(folder / "alone"), folder / "out"
    if engine == "ray":
        options |= {"engine": "ray", "n_process": 1}
    longest = time.monotonic() - start
    kills = ends = problems = 0
    before = 0
    while kills < times:
        process = fork(lambda: spacy_psa.apply(nlp, folder / "texts.txt", out, **options))
        started = time.monotonic()
        if engine == "ray":
            wait_for(process, out, before)
        time.sleep(moments.uniform(0, longest))
        victim = process
        if engine == "ray" and moments.random() < 0.5:
            victim = actor_of(process) or process
        alive = os.waitpid(process, os.WNOHANG)[0] == 0
        code = 0
        if alive:
            kills += 1
            os.kill(victim, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        finished = listed(out)
        wrong = [name for name in finished if (out / name).read_bytes() != alone[name]]
        whole = code == 0
        if whole and shards(out) != alone:
            wrong.append("other shards than a run that was left alone")
        problems += bool(wrong)
        before = len(finished)
        seconds = time.monotonic() - started
        who = "nobody" if not alive else "the run" if victim == process else "an actor"
        print(
            f"{kills:3} killed {who} after {seconds:5.2f} s: {before} of {len(alone)} shards "
            f"finished, wrong: {wrong or 'none'}",
            flush=True,
        )
        if whole:
            ends += 1
            before = 0
            shutil.rmtree(out)
    spacy_psa.apply(nlp, folder / "texts.txt", out, **{**options, "engine": "local"})
    problems += shards(out) != alone or any(out.glob(".part*"))
    print(f"{kills} kills, {ends + 1} runs came to their end, {problems} problems")
    return 1 if problems else 0


def fork(work: Any) -> int:
    """Do something in a fork, which needs no imports. RETURNS (int): The process ID."""
    process = os.fork()
    if process:
        return process
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def wait_for(process: int, out: Path, before: int) -> None:
    """Wait until Ray has started and finished a block."""
    end = time.monotonic() + 300
    while len(listed(out)) <= before and time.monotonic() < end:
        if not Path(f"/proc/{process}/fd").exists() or zombie(process):
            return
        time.sleep(0.05)


def zombie(process: int) -> bool:
    """RETURNS (bool): Whether a process has ended."""
    return "\nState:\tZ" in Path(f"/proc/{process}/status").read_text()


def actor_of(process: int) -> int | None:
    """RETURNS (Optional[int]): An actor that annotates."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            title = path.read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::") and b"BlockWorker" in title:
            return int(path.parent.name)
    return None


def listed(out: Path) -> list[str]:
    """RETURNS (List[str]): The shards in the manifest."""
    path = out / "manifest.jsonl"
    # The last line may be half of one
    lines = path.read_text(encoding="utf8").split("\n")[1:-1] if path.exists() else []
    return [json.loads(line)["shard"] for line in lines]


def shards(folder: Path) -> dict[str, bytes]:
    """RETURNS (Dict[str, bytes]): All shards."""
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


if __name__ == "__main__":
    sys.exit(main())
