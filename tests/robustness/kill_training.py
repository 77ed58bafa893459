"""Kill training at random moments, again and again, and check what is left.

    python -m tests.robustness.kill_training --command "spacy psa train" --times 50
    python -m tests.robustness.kill_training --command "spacy train" --times 50

Train a tiny pipeline on the sample corpus, save it after every other update, and kill the process
(SIGKILL). After each kill, `model-last` must load and predict, if it exists; with `psa train`, so
must `model-best`, which spaCy's own loop copies file by file. Then the same command runs again in
the same folder: `psa train` resumes from its checkpoint, `spacy train` starts from scratch. A run
that finishes must end with the weights of an uninterrupted run.
The exit code is 1 if any check fails.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import spacy
import torch
from spacy.cli._util import app
from thinc.api import Config
from typer.main import get_command

import spacy_psa.cli
from spacy_psa.locks import LOCK

ROOT = Path(__file__).parents[2]
MODELS = ("model-last", "model-best")
COMMANDS = {"spacy train": [], "spacy psa train": ["--resume"]}
TEXT = "Rockwell International Corp. said it agreed with Boeing Co. in Seattle ."
# Sentences for training and evaluation
N_TRAIN, N_DEV = 40, 4
EVERY = 2
# The share of kills at any moment of the run; the others come after the first save
BEFORE_SAVING = 0.2


def main() -> int:
    """Run as a command. RETURNS (int): The exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", choices=COMMANDS, required=True)
    parser.add_argument("--times", type=int, default=50, help="how often to kill")
    parser.add_argument("--steps", type=int, default=20, help="updates of a run")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    # The runs are forks, which OpenMP threads do not survive
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), arguments.command, arguments.steps, arguments.seed)
        return trial.run(arguments.times)


class Trial:
    """Training that is killed again and again.

    folder (Path): An empty folder to work in.
    command (str): The command, a key of `COMMANDS`.
    steps (int): The number of updates in a run.
    seed (int): The seed that determines when runs are killed.
    """

    def __init__(self, folder: Path, command: str, steps: int, seed: int) -> None:
        self.folder = folder
        self.output = folder / "output"
        self.log = folder / "log"
        self.random = random.Random(seed)
        self.command = command
        self.models = MODELS if "psa" in command else MODELS[:1]
        self.words = [*command.split()[1:], str(write_config(folder, steps)), *COMMANDS[command]]
        self.kills: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.problems: list[str] = []
        self.ends = 0
        self.longest = self.saving = 0.0

    def run(self, times: int) -> int:
        """Kill the process a given number of times."""
        code = self.time_run(self.start(self.folder / "alone"), self.folder / "alone")
        if code != 0:
            print(self.log.read_text(encoding="utf8"))
            return 1
        seconds = f"{self.longest:.1f} s, of which {self.saving:.1f} s from the first save on"
        print(f"A run that is left alone takes {seconds}", flush=True)
        while self.kills.total() < times:
            self.live()
        print(f"The last one is left to come to its end: {self.finish(wait(self.start()))}")
        self.sum_up()
        return 1 if self.problems else 0

    def live(self) -> None:
        """Let the command run for a while, kill it, and check what is left."""
        start = time.monotonic()
        before = inode(self.output)
        process = self.start()
        if self.random.random() < BEFORE_SAVING:
            code = wait(process, self.random.uniform(0.0, self.longest))
        else:
            code = wait(process, until=lambda: inode(self.output) not in (before, None))
            if code is None:
                code = wait(process, self.random.uniform(0.0, self.saving))
        delay = time.monotonic() - start
        if code is not None:
            print(f"      ended after {delay:5.2f} s: {self.finish(code)}", flush=True)
            # The machine may have been busier when the run was timed
            self.saving *= 0.8
            return
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        moment = self.moment()
        self.kills[moment] += 1
        states = ", ".join(f"{name} {self.check(name)}" for name in self.models)
        n = self.kills.total()
        print(f"{n:4}  killed after {delay:5.2f} s, {moment:25} {states}", flush=True)

    def time_run(self, process: int, output: Path) -> int | None:
        """Wait for a run to finish, and time it."""
        start = time.monotonic()
        code = wait(process, until=lambda: inode(output) is not None)
        first = time.monotonic()
        code = wait(process) if code is None else code
        self.longest, self.saving = time.monotonic() - start, time.monotonic() - first
        return code

    def start(self, output: Path | None = None) -> int:
        """Start the command in a fork, which needs no imports."""
        process = os.fork()
        if process:
            return process
        try:
            sys.stdout = sys.stderr = self.log.open("w", encoding="utf8")
            for number in (1, 2):
                os.dup2(sys.stdout.fileno(), number)
            get_command(app)([*self.words, "--output", str(output or self.output)])
            os._exit(0)
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code if isinstance(end.code, int) else 1)
        except BaseException:
            traceback.print_exc()
            sys.stdout.flush()
            os._exit(1)

    def moment(self) -> str:
        """What the process was doing, judging by the files it left."""
        names = [*os.listdir(self.output)] if self.output.is_dir() else []
        saved = [n for n in MODELS if any(name.startswith(f".{n}.") for name in names)]
        if saved:
            return f"saving {saved[-1]}"
        checkpoint = self.output / "checkpoint"
        if len([*checkpoint.glob("*.safetensors"), *checkpoint.glob(".*.tmp")]) > 1:
            return "saving the checkpoint"
        return "doing something else" if names else "before the first save"

    def check(self, name: str) -> str:
        """Load a pipeline and let it predict."""
        path = self.output / name
        state = "is absent"
        if os.path.lexists(path):
            try:
                doc = spacy.load(path)(TEXT)
                state = "works" if doc[0].tag_ else "predicts nothing"
            except Exception as error:
                state = f"FAILS: {error!r}"
        if state not in ("is absent", "works"):
            self.problems.append(f"{name} {state}")
        self.found[f"{name} {state.partition(':')[0]}"] += 1
        return state

    def finish(self, code: int | None) -> str:
        """Check a run that has finished, and clear its folder for the next one."""
        self.ends += 1
        ours, alone = (weights(folder) for folder in (self.output, self.folder / "alone"))
        left_over = [str(path) for path in self.output.rglob(".*") if path.name != LOCK]
        problem = None
        if code != 0:
            problem = f"exit code {code}: {self.log.read_text(encoding='utf8')}"
        elif ours != alone:
            problem = "other weights than a run that was left alone"
        elif left_over:
            problem = f"left over: {left_over}"
        if problem is not None:
            self.problems.append(problem)
        shutil.rmtree(self.output, ignore_errors=True)
        return problem or "the weights of a run that was left alone, nothing left over"

    def sum_up(self) -> None:
        """Print a summary."""
        moments = ", ".join(f"{n} {moment}" for moment, n in sorted(self.kills.items()))
        found = ", ".join(f"{what} {n}" for what, n in sorted(self.found.items()))
        print(f"{self.kills.total()} kills of {self.command}: {moments}")
        print(f"Found: {found}")
        print(f"{self.ends} runs came to their end; {len(self.problems)} problems")
        for problem in self.problems:
            print(f"PROBLEM: {problem}")


def weights(output: Path) -> dict[str, bytes]:
    """The saved models in an output folder, by path."""
    return {str(path.relative_to(output)): path.read_bytes() for path in output.glob("*/*/model")}


def inode(output: Path) -> int | None:
    """The inode of model-last, which each save changes, or None."""
    try:
        return (output / MODELS[0]).stat().st_ino
    except FileNotFoundError:
        return None


def wait(
    process: int, seconds: float = 600.0, until: Callable[[], bool] = lambda: False
) -> int | None:
    """Wait for a process."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not until():
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    return None


def write_config(folder: Path, steps: int) -> Path:
    """Write a small corpus, and a config for a pipeline that trains fast and is saved often."""
    config = Config().from_disk(ROOT / "configs" / "sample.cfg", interpolate=False)
    for split, n in (("train", N_TRAIN), ("dev", N_DEV)):
        source = ROOT / "assets" / "sample" / f"{split}.conll"
        blocks = source.read_text(encoding="utf8").split("\n\n")
        columns = folder / f"{split}.conll"
        columns.write_text("\n\n".join(blocks[:n]) + "\n", encoding="utf8")
        spacy_psa.cli.convert.convert(columns, folder / f"{split}.spacy")
        config["paths"][split] = str(folder / f"{split}.spacy")
    config["nlp"]["pipeline"] = ["psa_pos"]
    config["components"] = {"psa_pos": config["components"]["psa_pos"]}
    model = config["components"]["psa_pos"]["model"]
    model["tok2vec"].update(width=8, min_freq=1)
    model["tok2vec"]["characters"].update(embedding_width=4, width=8)
    model["encoder"]["recurrent"].update(hidden_width=16)
    config["training"].update(max_epochs=0, max_steps=steps, eval_frequency=EVERY)
    # All evaluations have the same score, so that model-best is saved as well.
    config["training"]["score_weights"] = {"tag_acc": 0.0}
    path = folder / "config.cfg"
    config.to_disk(path)
    return path


if __name__ == "__main__":
    sys.exit(main())
