"""Run all speed and memory benchmarks, and write `docs/performance.md`.

    OMP_NUM_THREADS=2 python -m benchmarks --data corpus/conll2000 --vectors vectors/en
    python -m benchmarks --device cuda

Each benchmark runs in its own process. If one fails, the others still run, and the failure is
reported at the end. `components` needs `--data`; `quantization` also needs trained pipelines
(`--runs`, a folder of <system>-chunk/model-best). Benchmarks without their input are skipped.
`--quick` is a smoke test on tiny input: its figures mean nothing and go to a temporary folder.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from .systems import RESULTS, ROOT
from .timing import CLOCKS, DEVICES


class Script(NamedTuple):
    """A benchmark.

    quick (str): The options for a quick run.
    full (str): The options for a full run.
    needs (Tuple[str, ...]): The options of this command without which it is skipped.
    devices (Tuple[str, ...]): The devices it can run on.
    module (str): Its module, if named differently.
    """

    quick: str
    full: str = ""
    needs: tuple[str, ...] = ()
    devices: tuple[str, ...] = DEVICES
    module: str = ""


SCRIPTS = {
    "roofline": Script("--repeat 1 --systems bilstm-crf psa --sentences 20 --hidden 20"),
    "kernels": Script("--repeat 1 --widths 20 --lengths 10 25 --batches 3 --hidden 20 --words 1 4"),
    "crf": Script("--repeat 1 --shapes 2x5 --labels 3 9"),
    "components": Script(
        "--repeat 1 --systems bilstm-crf psa --sentences 20 --warm-up 20",
        needs=("data",),
    ),
    "components-300": Script(
        "--repeat 1 --systems bilstm-crf psa --sentences 20 --warm-up 20 --hidden 300",
        "--systems bilstm-crf psa --hidden 300",
        needs=("data",),
        module="components",
    ),
    "components-bf16": Script(
        "--repeat 1 --systems bilstm-crf psa --sentences 20 --warm-up 20 --precision bf16",
        "--systems bilstm-crf psa lan --precision bf16",
        needs=("data",),
        module="components",
    ),
    "ablation": Script(
        "--repeat 1 --systems psa --hidden 20 --threads 1 --sentences 20",
        needs=("data",),
        devices=("cpu",),
    ),
    "scaling": Script(
        "--repeat 1 --tokens 100 --largest 10000 --hidden 20 --long 100 --stream 1000"
    ),
    "startup": Script("--repeat 1 --words 100", devices=("cpu",)),
    "quantization": Script("--repeat 1 --sentences 20", needs=("data", "runs"), devices=("cpu",)),
}


# Systems that are also run on the CPU, to compare it with a GPU
COMPARED = ("bilstm-crf", "psa")


def main() -> None:
    """Run the selected benchmarks. The exit status is 1 if any of them failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=_summary())
    parser.add_argument("--data", type=Path, help="folder with train.spacy and test.spacy")
    parser.add_argument("--vectors", type=Path, help="pipeline with pretrained vectors")
    parser.add_argument("--runs", type=Path, help="folder of trained pipelines")
    parser.add_argument("--only", nargs="+", choices=list(SCRIPTS), default=list(SCRIPTS))
    parser.add_argument("--quick", action="store_true", help="only check that everything runs")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--output", type=Path, help="folder for the results")
    arguments = parser.parse_args()
    if arguments.output is None:
        arguments.output = Path(tempfile.mkdtemp()) if arguments.quick else RESULTS
    commands = {name: command_of(name, arguments) for name in arguments.only}
    for name in [name for name, command in commands.items() if command is None]:
        print(f"{name}: skipped", file=sys.stderr)
        del commands[name]
    # The documentation page is only written from results in the default folder
    if arguments.output == RESULTS:
        commands["performance_page"] = [sys.executable, "-m", "benchmarks.performance_page"]
    failed = []
    for number, (name, command) in enumerate(commands.items(), start=1):
        assert command is not None
        start = time.perf_counter()
        print(f"[{number}/{len(commands)}] {name} …", file=sys.stderr, flush=True)
        if subprocess.run(command, cwd=ROOT).returncode:
            failed.append(name)
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"Results: {arguments.output}", file=sys.stderr)
    if failed:
        raise SystemExit(f"Failed: {', '.join(failed)}")


def command_of(name: str, arguments: argparse.Namespace) -> list[str] | None:
    """Build the command that runs a benchmark.

    name (str): A key of `SCRIPTS`.
    arguments (Namespace): The options.
    RETURNS (Optional[List[str]]): The command; None if these options do not suffice to run it.
    """
    script = SCRIPTS[name]
    module = script.module or name
    given = vars(arguments)
    if any(given[need] is None for need in script.needs) or arguments.device not in script.devices:
        return None
    if find_spec(f"benchmarks.{module}") is None:
        return None
    command = [sys.executable, "-m", f"benchmarks.{module}"]
    command += ["--output", str(arguments.output.absolute())]
    if name == "quantization":
        # Always measures processor time
        command += [str(arguments.runs.absolute())]
        command += ["--data", str(arguments.data.absolute() / "test.spacy")]
    else:
        command += ["--clock", arguments.clock, "--device", arguments.device]
    if module in ("components", "ablation"):
        command += ["--data", str(arguments.data.absolute())]
        if arguments.vectors is not None:
            command += ["--vectors", str(arguments.vectors.absolute())]
        if module == "components" and arguments.device != "cpu":
            command += ["--on-cpu", *COMPARED]
    return command + (script.quick if arguments.quick else script.full).split()


def _summary() -> str:
    return (__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    main()
