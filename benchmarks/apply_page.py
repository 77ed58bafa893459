"""The page of `benchmarks.apply`, and what docs/scale.md has of it.

python -m benchmarks.apply_page

writes both from `benchmarks/results/apply.json`, where `benchmarks.apply` and then
`benchmarks.apply_memory` have put what they measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from .report import replace_section, table
from .systems import RESULTS, ROOT

GUIDE = ROOT / "docs" / "scale.md"
COMMAND = "python -m benchmarks.apply_page"
PIPE, APPLY = "nlp.pipe", "psa apply"
SECONDS_PER_HOUR = 3600
CORES = 64


def turns_of(results: dict[str, Any]) -> dict[str, list[float]]:
    """Words per second of processor time in each turn, by what was timed."""
    words = results["words"]
    turns = {name: [words / s for s in found] for name, found in results["seconds"].items()}
    for n, found in (results["ray"] or {}).items():
        turns[f"Ray, actors: {n}"] = [turn["words"] / turn["processor"] for turn in found]
    return turns


def relative(rates: list[float], base: list[float]) -> float:
    """The median of the ratios in the same turn."""
    return median(rate / other for rate, other in zip(rates, base, strict=True))


def passed(turns: list[dict[str, float]]) -> list[float]:
    """Words per second of the time that passed in each turn of Ray."""
    return [turn["words"] / turn["wall"] for turn in turns]


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
    turns = turns_of(results)
    rows = [
        [
            name,
            f"{median(rates):,.0f}",
            f"{relative(rates, turns[PIPE]):.3f}",
            f"{hours_of(median(rates)):,.1f}",
        ]
        for name, rates in turns.items()
    ]
    sizes = {name: size >> 10 for name, size in results["blocks"].items()}
    lines = [
        "# Bulk annotation",
        "",
        f"Made by `python -m benchmarks.apply`: {n:,} sentences with {results['words']:,} words "
        f"({results['text']}), the system {results['system']}, one thread. Words per second of "
        f"processor time, medians of {results['repetitions']} turns of all, and of the ratios in "
        f"the same turn; hours of one core for a billion words. Blocks of "
        f"{sizes['local']:,} KiB, and of {sizes['ray']} KiB with Ray.",
        "",
        f"{machine['processor']} (load {results['load']:.1f} at the start), Python "
        f"{machine['python']}, PyTorch {machine['torch']}, spaCy {machine['spacy']}",
        *table(["", "words/s", "of nlp.pipe", "hours for 10⁹ words"], rows),
        "",
    ]
    if results["ray"]:
        one, two = (passed(results["ray"][key]) for key in "12")
        lines += [
            f"Ray's words per second are those of its actors. In the time that passed, one wrote "
            f"{median(one):,.0f} words per second and two {median(two):,.0f}, "
            f"{relative(two, one):.2f} times as many, on {machine['cores']} cores that also run "
            "Ray.",
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
    turns = turns_of(results)
    rate = round(median(turns[APPLY]))
    how = {"engine": "local", "system": results["system"]}
    runs = [run for run in results["memory"] if all(run[key] == how[key] for key in how)]
    if not runs:
        raise SystemExit(f"Run `python -m benchmarks.apply_memory --system {how['system']}` first.")
    run, memory = runs[0], runs[0]["processes"][0]
    hours = hours_of(rate)
    return [
        f"One core annotated {rate:,} words per second with the system `{results['system']}`, "
        f"{relative(turns[APPLY], turns[PIPE]):.2f} times as many as `nlp.pipe` alone "
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
