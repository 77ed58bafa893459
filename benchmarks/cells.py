"""The cells of a benchmark: each is trained in a process of its own and has a file of results, so
that a run that was stopped goes on."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Cell = dict[str, Any]
# One thread, without spinning
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",
}


def add_arguments(parser: argparse.ArgumentParser, results: Path, seconds: int) -> None:
    """Add the options of a benchmark of cells.

    parser (ArgumentParser): The options.
    results (Path): The default folder of results.
    seconds (int): The default limit for one training.
    """
    parser.add_argument("--seconds", type=int, default=seconds, help="limit for one training")
    parser.add_argument("--output", type=Path, default=results)
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)


def run_process(
    module: str, arguments: argparse.Namespace, given: Sequence[str], name: str, cell: Cell
) -> str:
    """Train one cell in a process of its own, unless it has results.

    module (str): The benchmark.
    arguments (Namespace): The options.
    given (Sequence[str]): The same, as they were given.
    name (str): The name of the cell.
    cell (Dict[str, Any]): What to train.
    RETURNS (str): What became of it.
    """
    if (arguments.output / f"{name}.json").exists():
        return f"{name}: there already"
    command = [sys.executable, "-m", f"benchmarks.{module}", *given, "--cell", json.dumps(cell)]
    try:
        done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, timeout=arguments.seconds)
    except subprocess.TimeoutExpired:
        return f"{name}: stopped after {arguments.seconds} s"
    return f"{name}: {'failed' if done.returncode else 'done'}"


def write_result(path: Path, result: Cell, indent: int | None = 2) -> None:
    """Write the results of a cell. A file that is there is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=indent) + "\n", encoding="utf8")
    temporary.replace(path)


def grouped(paths: Iterable[Path], fields: Sequence[str]) -> dict[tuple[Any, ...], list[Cell]]:
    """Read results.

    paths (Iterable[Path]): Their files.
    fields (Sequence[str]): What tells groups of cells apart; the seeds of one group do not.
    RETURNS (Dict[Tuple, List[Dict[str, Any]]]): The results of each group.
    """
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for path in sorted(paths):
        result = json.loads(path.read_text(encoding="utf8"))
        groups.setdefault(tuple(result.get(field) for field in fields), []).append(result)
    return groups
