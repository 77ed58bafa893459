"""Memory of `psa apply` over many sentences: of the command, and of all processes of Ray.

    python -m benchmarks.apply_memory --text sentences.txt --system psa
    python -m benchmarks.apply_memory --text sentences.txt --system bilstm-crf --hidden 16 --ray

annotates the sentences of the file in random order, again and again, and adds the highest memory
of each process in the first tenth and in all of the run to `apply.json`, of which it leaves the
rest as it is. The pipeline is that of `benchmarks.apply`.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from .apply import RESULTS, make_pipeline, sample_text, save

# Seconds between two looks at the processes
PAUSE = 1.0
N_ACTORS = 2
# Memory in KiB of processes
Peaks = dict[int, int]


def main() -> None:
    """Measure, and write `apply.json` and `apply.md`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--text", type=Path, help="file with a sentence in each line")
    parser.add_argument("--system", default="psa")
    parser.add_argument("--hidden", type=int, help="width of the BiLSTM")
    parser.add_argument("--ray", action="store_true", help=f"Ray with {N_ACTORS} actors")
    parser.add_argument("--many", type=int, default=1_000_000, help="sentences")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    path = arguments.output / "apply.json"
    if not path.exists():
        parser.error(f"{path} is not there: run `python -m benchmarks.apply` first")
    source = arguments.text.read_text(encoding="utf8") if arguments.text else sample_text()
    lines = [line for line in source.split("\n") if line.strip()]
    how = {
        "engine": "ray" if arguments.ray else "local",
        "system": arguments.system,
        "hidden": arguments.hidden,
        "sentences": arguments.many,
    }
    with tempfile.TemporaryDirectory() as name:
        found = measure(lines, Path(name), **how)
    results = json.loads(path.read_text(encoding="utf8"))
    others = [run for run in results["memory"] if any(run[key] != how[key] for key in how)]
    results["memory"] = [*others, {**how, "processes": found}]
    save(results, path)


def measure(
    lines: list[str], folder: Path, engine: str, system: str, hidden: int | None, sentences: int
) -> list[dict[str, Any]]:
    """Measure the memory of a long run of the command.

    lines (List[str]): Sentences.
    folder (Path): The folder to write to.
    engine, system, hidden, sentences: What runs, and on how many sentences.
    RETURNS (List[Dict[str, Any]]): For each process that lives from the first tenth to the end, its
        name and its highest MiB in both.
    """
    mixed = random.Random(0).sample(lines, len(lines))
    many = "\n".join(islice(cycle(mixed), sentences))
    (folder / "many.txt").write_text(many, encoding="utf8")
    make_pipeline(system, hidden).to_disk(folder / "model")
    model, source, output = (str(folder / name) for name in ("model", "many.txt", "long"))
    command = [sys.executable, "-m", "spacy", "psa", "apply", model, source, "-o", output]
    command += ["--block-size", str(max(1, len(many.encode()) // 100)), "--engine", engine]
    command += ["--n-process", str(N_ACTORS)] if engine == "ray" else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        tenth, whole, names = watch(process, folder / "long" / "manifest.jsonl", sentences)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} has failed")
    return [
        {"name": names[pid], "first_tenth": peak / 1024, "whole": whole[pid] / 1024}
        for pid, peak in sorted(tenth.items())
    ]


def watch(process: Any, manifest: Path, n: int) -> tuple[Peaks, Peaks, dict[int, str]]:
    """Watch the memory of a process and of its descendants until it ends.

    process (Popen): The process.
    manifest (Path): Where it says which blocks are finished.
    n (int): The number of all sentences.
    RETURNS (Tuple[Dict[int, int], Dict[int, int], Dict[int, str]]): The highest memory of each, as
        Linux counts it, when the last block of the first tenth was finished, and in all, of those
        that were still there in the last tenth; and their names.
    """
    tenth: Peaks = {}
    whole: Peaks = {}
    names: dict[int, str] = {}
    latest: dict[int, int] = {}
    finished = 0
    while process.poll() is None:
        time.sleep(PAUSE)
        lines = manifest.read_text(encoding="utf8").split("\n")[1:-1] if manifest.exists() else []
        before, finished = finished, sum(json.loads(line)["documents"] for line in lines)
        for pid in [process.pid, *descendants(process.pid)]:
            peak, name = look(pid)
            if peak:  # a process that has just ended has none
                whole[pid], names[pid], latest[pid] = peak, name, finished
        if before < finished <= n / 10:
            tenth = dict(whole)
    names[process.pid] = "psa apply"
    return {pid: tenth[pid] for pid in tenth if latest[pid] >= 0.9 * n}, whole, names


def descendants(pid: int) -> list[int]:
    """RETURNS (List[int]): The processes that a process has started, and those that they have."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name, in parentheses, may have anything
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # has ended
            continue
    found, latest = [], {pid}
    while latest := {child for child, parent in parents.items() if parent in latest}:
        found += sorted(latest)
    return found


def look(pid: int) -> tuple[int, str]:
    """RETURNS (Tuple[int, str]): The highest memory of a process in KiB, 0 if it has ended, and its
    name."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf8")
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf8").split("\0")
    except OSError:
        return 0, ""
    peak = re.search(r"VmHWM:\s+(\d+)", status)
    first = next((word for word in words[1:] if word.endswith(".py")), words[0])
    return int(peak[1]) if peak else 0, Path(first).name


if __name__ == "__main__":
    main()
