"""The page of `benchmarks.apply`, and what docs/scale.md has of it.

python -m benchmarks.apply_page

writes both from `benchmarks/results/apply.json`.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from .report import replace_section, table
from .systems import RESULTS, ROOT

GUIDE = ROOT / "docs" / "scale.md"
COMMAND = "python -m benchmarks.apply_page"
APPLY = "psa apply"
SECONDS_PER_HOUR = 3600
CORES = 64


def rates_of(results: dict[str, Any]) -> dict[str, float]:
    """Words per second of processor time, by what was timed."""
    words = results["words"]
    rates = {name: words / statistics.median(s) for name, s in results["seconds"].items()}
    for n, found in (results["ray"] or {}).items():
        rates[f"Ray, actors: {n}"] = found["words"] / found["processor"]
    return rates


def hours_of(rate: float) -> float:
    """The hours of a core for a billion words."""
    return 1e9 / rate / SECONDS_PER_HOUR


def memory_rows(run: dict[str, Any]) -> list[list[str]]:
    """The rows of a run in the table of memory."""
    how = [run["system"], str(run["hidden"] or ""), run["engine"], f"{run['sentences']:,}"]
    rows = []
    for process in run["processes"]:
        tenth, whole = process["first_tenth"], process["whole"]
        growth = f"{100 * (whole / tenth - 1):+.1f} %".replace("-", "\u2212")
        # Ray adds what an actor is doing
        name = process["name"].partition("(")[0]
        rows.append([*how, name, f"{tenth:,.0f}", f"{whole:,.0f}", growth])
    return rows


def write_page(results: dict[str, Any], path: Path) -> None:
    """Write the page.

    results (Dict[str, Any]): What was measured.
    path (Path): The page.
    """
    machine, n = results["machine"], results["sentences"]
    rates = rates_of(results)
    base = rates["nlp.pipe"]
    rows = [
        [name, f"{rate:,.0f}", f"{rate / base:.3f}", f"{hours_of(rate):,.1f}"]
        for name, rate in rates.items()
    ]
    sizes = {name: size >> 10 for name, size in results["blocks"].items()}
    lines = [
        "# Bulk annotation",
        "",
        f"Made by `python -m benchmarks.apply`: {n:,} sentences with {results['words']:,} words "
        f"({results['text']}), the system {results['system']}, one thread. Words per second of "
        f"processor time, medians of {results['repetitions']} turns; hours of one core for a "
        f"billion words. Blocks of {sizes['local']:,} KiB, and of {sizes['ray']} KiB with Ray.",
        "",
        f"{machine['processor']} (load {results['load']:.1f} at the start), Python "
        f"{machine['python']}, PyTorch {machine['torch']}, spaCy {machine['spacy']}",
        *table(["", "words/s", "of nlp.pipe", "hours for 10⁹ words"], rows),
        "",
    ]
    if results["ray"]:
        one, two = (ray["words"] / ray["wall"] for ray in (results["ray"][key] for key in "12"))
        lines += [
            f"Ray's words per second are those of its actors. In the time that passed, one wrote "
            f"{one:,.0f} words per second and two {two:,.0f}, {two / one:.2f} times as many, on "
            f"{machine['cores']} cores that also run Ray.",
            "",
        ]
    if results["memory"]:
        lines += [
            "Memory of `psa apply` (`python -m benchmarks.apply_memory`): the most MiB of each "
            "process in the first tenth of the run, and in all of it.",
            *table(
                ["system", "BiLSTM", "engine", "sentences", "process", "first tenth", "all", ""],
                [row for run in results["memory"] for row in memory_rows(run)],
            ),
            "",
        ]
    path.write_text("\n".join(lines), encoding="utf8")


def cost(results: dict[str, Any]) -> list[str]:
    """What the guide says of cost and memory."""
    rates = rates_of(results)
    rate = round(rates[APPLY])
    how = {"engine": "local", "system": results["system"]}
    run = next(run for run in results["memory"] if all(run[key] == how[key] for key in how))
    memory = run["processes"][0]
    hours = hours_of(rate)
    return [
        f"One core annotated {rate:,} words per second with the system `{results['system']}`, "
        f"{rate / rates['nlp.pipe']:.2f} times as many as `nlp.pipe` alone "
        "([apply.md](../benchmarks/results/apply.md)). A billion words then take",
        "",
        f"    10⁹ / {rate:,} / 3,600 = {hours:.1f} core-hours",
        "",
        f"that is {hours / CORES:.1f} hours on {CORES} cores, and {hours:.1f} times the price of a "
        "core-hour. Starting a worker takes some seconds for each process, however much it "
        "annotates.",
        "",
        f"A run over {run['sentences']:,} sentences had at most {memory['first_tenth']:,.0f} "
        f"MiB in its first tenth and {memory['whole']:,.0f} MiB in all.",
    ]


def main() -> None:
    """Write both."""
    results = json.loads((RESULTS / "apply.json").read_text(encoding="utf8"))
    write_page(results, RESULTS / "apply.md")
    replace_section(GUIDE, COMMAND, cost(results))


if __name__ == "__main__":
    main()
