"""The cost of large input, and the effect of splitting it into windows.

    python -m benchmarks.limits --pipeline psa=RUNS/psa-chunk/model-best --pipeline … \\
        --data corpus/conll2000/test.spacy --roles RUNS/srl/model-best

Each case runs in its own process, on one thread. Memory is the peak resident set size, minus that
of a process with an empty pipeline and the same document. Time is the processor time per token,
relative to a document a quarter as long: 1 means linear. Streams are only run on the first
pipeline. For the pipelines given with `--windows`, only the effect of windows is measured. The
tables are written to `docs/limits.md`.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import limits_cases
from .limits_page import write_tables
from .machine import describe_machine
from .systems import RESULTS, ROOT

NAME = "limits"
LABELS = (45, 425, 1_300)


def main() -> None:
    """Run the benchmark, write `limits.json`, and update the tables in `docs/limits.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pipeline", action="append", required=True, metavar="SYSTEM=FOLDER")
    parser.add_argument("--windows", action="append", default=[], metavar="SYSTEM=FOLDER")
    parser.add_argument("--data", type=Path, required=True, help="a .spacy file with sentences")
    parser.add_argument("--roles", help="a trained pipeline with psa_srl")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "limits.md")
    parser.add_argument("--case", nargs=2, metavar=("CASE", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        case, folder = arguments.case
        print(json.dumps(run(case, folder, arguments.data)))
        return
    pipelines, others = (
        dict(item.split("=", maxsplit=1) for item in items)
        for items in (arguments.pipeline, arguments.windows)
    )

    def ask(case: str, folder: str) -> dict[str, float]:
        print(f"{case}: {folder}", file=sys.stderr)
        return run_in_child(case, folder, arguments.data)

    results = measure(ask, pipelines, others, arguments.roles)
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / f"{NAME}.json").write_text(text, encoding="utf8")
    write_tables(arguments.page, results)


def measure(
    ask: Callable[[str, str], dict[str, float]],
    pipelines: dict[str, str],
    others: dict[str, str],
    roles: str | None,
) -> dict[str, Any]:
    """Run all cases.

    ask (Callable[[str, str], Dict[str, float]]): Runs a case on a pipeline.
    pipelines (Dict[str, str]): The folders of the pipelines, by system.
    others (Dict[str, str]): The folders of pipelines to compare windows on only, by system.
    roles (Optional[str]): The folder of a pipeline for semantic roles.
    RETURNS (Dict[str, Any]): The results.
    """
    first = next(iter(pipelines.values()))
    return {
        "machine": describe_machine(),
        "sizes": limits_cases.SIZES,
        "loading": {system: ask("loading", folder) for system, folder in pipelines.items()},
        "documents": {
            system: {case: ask(case, folder) for case in limits_cases.DOCUMENTS}
            for system, folder in pipelines.items()
        },
        "windows": {s: ask("windows", folder) for s, folder in {**pipelines, **others}.items()},
        "streams": {case: ask(case, first) for case in limits_cases.STREAMS},
        "labels": {str(n): ask("labels", str(n)) for n in LABELS},
        "roles": {} if roles is None else ask("roles", roles),
    }


def run_in_child(case: str, folder: str, data: Path) -> dict[str, float]:
    """Run a case in its own process. See `run`."""
    command = [sys.executable, "-m", "benchmarks.limits", "--pipeline", "-"]
    command += ["--data", str(data.absolute()), "--case", case, folder]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, cwd=ROOT, env=environment, text=True
    )
    return json.loads(found.stdout.splitlines()[-1])


def run(case: str, folder: str, data: Path) -> dict[str, float]:
    """Run a case.

    case (str): The name of the case.
    folder (str): The folder of the pipeline, or the argument of a case without one.
    data (Path): The file with sentences.
    RETURNS (Dict[str, float]): The results.
    """
    return limits_cases.CASES[case](folder, limits_cases.read_words(data))


if __name__ == "__main__":
    main()
