"""Speed and memory of whole components, relative to an earlier version of the package.

    git worktree add --detach ../old COMMIT
    python -m venv --system-site-packages ../old/.venv && ../old/.venv/bin/pip install -e ../old
    python -m benchmarks.against ../old/.venv/bin/python --data corpus/conll2000/train.spacy \\
        --vectors vectors/en

Each version runs in a process of its own, with its own configs, and both do the same work on the
same sentences: the chunks of CoNLL-2000. They take turns, a slice of training or of tagging each
(A B, then B A, …), on one thread. A figure is the median of the ratios of their processor times,
so that it is above 1 if this version is faster. Memory is the highest of each process. With
`--device cuda`, both train with CUDA graphs, times are wall times, and memory is that of the GPU.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from . import against_worker
from .machine import commit_of
from .report import describe, describe_run, make_parser, page, table, write

NAME = "against"
SYSTEMS = ("psa", "bilstm-crf")
WIDTHS = (300, 600)
WARM_UP = 2  # slices of each figure that do not count


def main() -> None:
    """Run the benchmark, and write `against.json` and `against.md`."""
    parser = make_parser(__doc__, repeat=15)
    parser.add_argument("old", type=Path, help="the Python in which the earlier version is")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE.spacy")
    parser.add_argument("--vectors", type=Path, help="pipeline with pretrained vectors")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--hidden", nargs="+", type=int, default=list(WIDTHS))
    parser.add_argument("--sentences", type=int, default=0, help="sentences to read, 0 for all")
    arguments = parser.parse_args()
    arguments.clock = "processor" if arguments.device == "cpu" else "wall"
    results: dict[str, Any] = {**describe_run(arguments), "commits": {}, "cells": {}}
    results["machine"]["threads"] = 1
    for system in arguments.systems:
        for hidden in arguments.hidden:
            pythons = {"old": arguments.old.absolute(), "new": Path(sys.executable)}
            workers = {name: Worker(p, system, hidden, arguments) for name, p in pythons.items()}
            results["commits"] = {name: worker.commit for name, worker in workers.items()}
            if workers["old"].package == workers["new"].package:
                raise SystemExit(f"Both import {workers['new'].package}: OLD needs its own.")
            results["cells"][f"{system}, {hidden}"] = compare(
                workers["old"], workers["new"], arguments.repeat, f"{system}, {hidden}"
            )
            for worker in workers.values():
                worker.close()
    write(arguments.output, NAME, results, to_markdown(results))


class Worker:
    """A process that trains and tags with one version.

    python (Path): The Python in which the version is installed.
    system (str): The system.
    hidden (int): The width of its BiLSTM.
    arguments (Namespace): The options.
    """

    def __init__(
        self, python: Path, system: str, hidden: int, arguments: argparse.Namespace
    ) -> None:
        vectors = str(arguments.vectors.absolute()) if arguments.vectors else ""
        # -P: the folder of the script, whose benchmarks are this version's, is not on the path
        command = [str(python), "-P", against_worker.__file__, system, str(hidden)]
        command += [str(arguments.data.absolute()), vectors, str(arguments.sentences)]
        command += [arguments.device]
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**kept, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )
        self.package = Path(self._read()["package"])
        self.commit = commit_of(self.package)

    def ask(self, command: str) -> float:
        """RETURNS (float): The answer to a command of `against_worker`."""
        assert self.process.stdin is not None
        print(json.dumps(command), file=self.process.stdin, flush=True)
        return float(self._read())

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args!r} ended with {self.process.wait()}.")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def compare(old: Worker, new: Worker, repeat: int, what: str) -> dict[str, Any]:
    """Let two versions take turns.

    old (Worker): The earlier version.
    new (Worker): This version.
    repeat (int): The number of turns.
    what (str): The label of the progress bar.
    RETURNS (Dict[str, Any]): The median and quartiles of the ratios by figure, and the memory.
    """
    ratios: dict[str, list[float]] = {figure: [] for figure in against_worker.SLICES}
    for turn in tqdm(range(-WARM_UP, repeat), desc=what, mininterval=10):
        for figure, found in ratios.items():
            order = (old, new) if turn % 2 else (new, old)
            spent = {worker: worker.ask(figure) for worker in order}
            if turn >= 0:
                found.append(spent[old] / spent[new])
    return {
        "speed": {figure: quartiles(found) for figure, found in ratios.items()},
        "peak MiB": {"old": round(old.ask("peak"), 1), "new": round(new.ask("peak"), 1)},
    }


def quartiles(values: list[float]) -> list[float]:
    """RETURNS (List[float]): The median and both quartiles; of one value, itself."""
    low, middle, high = statistics.quantiles(values * 2 if len(values) == 1 else values, n=4)
    return [round(value, 3) for value in (middle, low, high)]


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    return page("Against an earlier version", NAME, describe(results), tables(results))


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): The speeds and the memory, by system and width."""
    rows = []
    for cell, found in results["cells"].items():
        peak = found["peak MiB"]
        speeds = (f"{m:.2f} ({a:.2f}–{b:.2f})" for m, a, b in found["speed"].values())
        rows.append([cell, *speeds, f"{peak['new']:,.0f} / {peak['old']:,.0f}"])
    commits = results["commits"]
    return [
        "",
        f"Speed of commit {commits['new']} relative to {commits['old']} (above 1, the newer one "
        "is faster): the median of the ratios of slices in turns, and their quartiles. One "
        "thread. Memory: the highest of the process, or on a GPU, in MiB, new / old.",
        *table(["system, width", *against_worker.SLICES, "memory"], rows),
    ]


if __name__ == "__main__":
    main()
