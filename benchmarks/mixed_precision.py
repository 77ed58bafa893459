"""What mixed precision in training costs: scores of pipelines that were trained with and without.

    python -m spacy train configs/psa-chunk.cfg --output RUNS/psa-bf16-0 --system.seed 0 \\
        --components.psa_tagger.model.mixed_precision bf16 …
    python -m benchmarks.mixed_precision RUNS --data corpus/conll2000

RUNS holds folders <system>-<precision>-<seed> with a pipeline `model-best`; the precision is fp32,
bf16 or fp16. Each is scored on the development and the test set by spaCy's scorer.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacy
from tqdm import tqdm

from spacy_psa.layers.precision import FULL
from spacy_psa.models.mixed_precision import HALF_PRECISIONS

from .machine import describe_machine
from .systems import RESULTS, SCORES, count_epochs, score

NAME = "mixed-precision"
PARTS = ("dev", "test")
TASK = "chunk"


def main() -> None:
    """Score, and write `mixed-precision.json` and `mixed-precision.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="folder of trained pipelines")
    parser.add_argument("--data", type=Path, required=True, help="folder with dev and test.spacy")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    runs = find_runs(arguments.runs)
    if not runs:
        raise SystemExit(f"{arguments.runs} has no <system>-<precision>-<seed>/model-best.")
    results = {
        "machine": describe_machine(),
        "data": arguments.data.name,
        "runs": [measure(run, arguments.data) for run in tqdm(runs)],
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / f"{NAME}.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / f"{NAME}.md").write_text(markdown, encoding="utf8")
    print(markdown)


def find_runs(folder: Path) -> list[Path]:
    """The runs whose names say what they are.

    folder (Path): Where they are.
    RETURNS (List[Path]): Their folders.
    """
    return [
        path
        for path in sorted(folder.glob("*-*-*"))
        if path.name.split("-")[-2] in (FULL, *HALF_PRECISIONS)
        and path.name.split("-")[-1].isdigit()
        and (path / "model-best").is_dir()
    ]


def measure(run: Path, data: Path) -> dict[str, Any]:
    """Score a run.

    run (Path): Its folder.
    data (Path): The folder of the corpus.
    RETURNS (Dict[str, Any]): What it is, its epochs, and F1 in percent.
    """
    system, precision, seed = run.name.rsplit("-", 2)
    nlp = spacy.load(run / "model-best")
    found = nlp.config["components"]["psa_tagger"]["model"].get("mixed_precision") or FULL
    if found != precision:
        raise SystemExit(f"{run} was trained in {found}, and is called {run.name}.")
    scores = {p: round(100 * score(nlp, data / f"{p}.spacy", SCORES[TASK]), 2) for p in PARTS}
    return {
        "system": system,
        "precision": precision,
        "seed": int(seed),
        "epochs": count_epochs(run),
        **scores,
    }


def to_markdown(results: dict[str, Any]) -> str:
    """The results as a page.

    results (Dict[str, Any]): What was measured.
    RETURNS (str): Markdown.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in results["runs"]:
        groups.setdefault((run["system"], run["precision"]), []).append(run)
    epochs = sorted({run["epochs"] for run in results["runs"]})
    lines = [
        "# Mixed precision",
        "",
        f"Written by `python -m benchmarks.{NAME.replace('-', '_')}`.",
        "",
        f"F1 of chunks of {results['data']}, by what `mixed_precision` was in training; "
        f"predictions are in full precision. {' or '.join(map(str, epochs))} epochs, the best one "
        "on the development set; mean ± standard deviation over the seeds.",
        "",
        "| system | precision | seeds | dev | test |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for (system, precision), runs in sorted(groups.items(), key=_order):
        seeds = ", ".join(str(run["seed"]) for run in runs)
        figures = " | ".join(_mean([run[part] for run in runs]) for part in PARTS)
        lines.append(f"| {system} | {precision} | {seeds} | {figures} |")
    return "\n".join(lines) + "\n"


def _order(item: tuple[tuple[str, str], Any]) -> tuple[str, int]:
    (system, precision), _ = item
    return system, (FULL, *HALF_PRECISIONS).index(precision)


def _mean(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


if __name__ == "__main__":
    main()
