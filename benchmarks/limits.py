"""What large input costs, and what cutting it into windows changes.

    python -m benchmarks.limits --pipeline psa=RUNS/psa-chunk/model-best --pipeline … \\
        --data corpus/conll2000/test.spacy --roles RUNS/srl/model-best

Each case runs in a process of its own, on one thread. Memory is the largest resident set, less that
of a process with an empty pipeline and the same document. Times are those of the processor, for a
token, in times of what a token of a document a quarter as long takes: 1 is linear. Streams are read
by the first pipeline; of those that `--windows` names nothing is measured but what windows change.
`docs/limits.md` gets the tables.
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
    """Measure, write `benchmarks/results/limits.json`, and put the tables into docs/limits.md."""
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
    """Measure everything.

    ask (Callable[[str, str], Dict[str, float]]): Runs a case for a pipeline.
    pipelines (Dict[str, str]): The folders of pipelines, by the names of their systems.
    others (Dict[str, str]): Those of which only windows are compared.
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
    """Run a case in a process of its own. See `run`."""
    command = [sys.executable, "-m", "benchmarks.limits", "--pipeline", "-"]
    command += ["--data", str(data.absolute()), "--case", case, folder]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, cwd=ROOT, env=environment, text=True
    )
    return json.loads(found.stdout.splitlines()[-1])


def run(case: str, folder: str, data: Path) -> dict[str, float]:
    """Run a case.

    case (str): Its name.
    folder (str): The pipeline, or what else the case is about.
    data (Path): The file with sentences.
    RETURNS (Dict[str, float]): What was measured.
    """
    return limits_cases.CASES[case](folder, limits_cases.read_words(data))


if __name__ == "__main__":
    main()
