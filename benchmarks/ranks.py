"""Training by two processes, compared with one, and what more of them would bring.

    OMP_NUM_THREADS=1 python -m benchmarks.ranks --data CORPUS --vectors VECTORS

The folder has train.spacy and dev.spacy with chunks. Both train the same system on the same batches
of `--batch` sentences, one thread in each process, by turns, `--repeats` times. Rates are by
processor time, that of the process that needs most of it, which depends little on the load of the
machine; the time that passes is given, too. Communication is what a process spends in adding up, of
its processor time and of the time that passes; the latter includes waiting for the other.

The model of cost: a step takes f + c·n/N seconds for n sentences on N processes, of which f does
not shrink (the optimizer), and 2·B·(N − 1)/N / bandwidth for a ring that adds up B bytes of
gradients.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from spacy.language import Language
from thinc.api import Config
from tqdm import tqdm

from spacy_psa.cli.train import train
from spacy_psa.training.ranks import Group, gradients
from spacy_psa.training.ranks.launch import launch
from spacy_psa.training.ranks.ranked_pipeline import RankedPipeline
from spacy_psa.training.replay import ReplayedPipeline

from .machine import describe_machine
from .ranks_page import write_page

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
WARM_UP = 3  # steps, also the first evaluation


class Watch:
    """The time that a function takes, in processor time of this process and in time that passes."""

    def __init__(self) -> None:
        self.processor = self.passed = 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose time is counted."""

        def timed(*arguments: Any, **settings: Any) -> Any:
            processor, passed = time.process_time(), time.perf_counter()
            try:
                return function(*arguments, **settings)
            finally:
                self.processor += time.process_time() - processor
                self.passed += time.perf_counter() - passed

        return timed


def main() -> None:
    """Run the benchmark, and write `ranks.json` and `ranks.md`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--system", default="psa")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=int, default=0, help="sentences to read; 0 for all")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = make_config(arguments, folder)
        results: dict[str, Any] = {
            "machine": describe_machine(),
            **{key: getattr(arguments, key) for key in ("system", "batch", "steps", "limit")},
            "load": os.getloadavg()[0],
            "1": [],
            "2": [],
        }
        for turn in tqdm(range(arguments.repeats)):
            for n in (1, 2):
                run = folder / f"{turn}-{n}"
                launch(n, ["-m", __spec__.name, "--process", str(config), str(run)])
                found = sorted(folder.glob(f"{run.name}-*.json"))
                results[str(n)].append([json.loads(path.read_text()) for path in found])
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "ranks.json"
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf8")
    write_page(results, arguments.output / "ranks.md")


def make_config(arguments: argparse.Namespace, folder: Path) -> Path:
    """The config of the runs, which evaluate once, on few sentences."""
    config = Config().from_disk(
        ROOT / "configs" / f"{arguments.system}-spans.cfg", interpolate=False
    )
    config["paths"].update(
        train=str(arguments.data / "train.spacy"),
        dev=str(arguments.data / "dev.spacy"),
        vectors=str(arguments.vectors),
    )
    config["corpora"]["dev"]["limit"] = 10
    config["corpora"]["train"]["limit"] = arguments.limit
    config["training"].update(max_epochs=0, max_steps=arguments.steps + WARM_UP - 1)
    config["training"].update(eval_frequency=10**6, patience=0)
    size = {"@batchers": "spacy.batch_by_sequence.v1", "size": arguments.batch}
    config["training"]["batcher"] = size
    path = folder / "config.cfg"
    config.to_disk(path)
    return path


def measure(config: Path, output: Path) -> None:
    """Train as one process, and write what it took."""
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    steps: list[dict[str, float]] = []
    communication, update = Watch(), Watch()
    original = ReplayedPipeline.before_update

    def before_update(self: ReplayedPipeline, nlp: Any, step: dict[str, Any]) -> None:
        steps.append(
            {
                "processor": time.process_time(),
                "passed": time.perf_counter(),
                "update": update.processor,
                "communication": communication.processor,
                "communication_passed": communication.passed,
            }
        )
        original(self, nlp, step)

    setattr(ReplayedPipeline, "before_update", before_update)  # noqa: B010
    timed_sum = communication.around(RankedPipeline.sum_over_ranks)
    RankedPipeline.sum_over_ranks = timed_sum  # type: ignore[method-assign]
    Language.update = update.around(Language.update)  # type: ignore[method-assign]
    whole, sent = _note_bytes(gradients, "_sum"), _note_bytes(Group, "sum_tensor")
    train(config, output)
    first, last = steps[WARM_UP], steps[-1]
    found = {
        "steps": len(steps) - 1 - WARM_UP,
        **{name: last[name] - first[name] for name in first},
        "bytes": max(sent),
        "whole": max(whole),
    }
    Path(f"{output}-{rank}.json").write_text(json.dumps(found), encoding="utf8")


def _note_bytes(owner: Any, name: str) -> list[int]:
    """Note the bytes of the tensors that a function gets, which grow with each call."""
    noted, original = [0], getattr(owner, name)

    def noting(*arguments: Any) -> Any:
        tensors = next(a for a in arguments if isinstance(a, list | torch.Tensor))
        noted.append(sum(t.nbytes for t in ([tensors] if torch.is_tensor(tensors) else tensors)))
        return original(*arguments)

    setattr(owner, name, noting)
    return noted


if __name__ == "__main__":
    if sys.argv[1:2] == ["--process"]:
        measure(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
