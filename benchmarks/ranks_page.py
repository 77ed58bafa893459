"""The page of `benchmarks.ranks`, with a model of cost, and what docs/distributed.md has of it.

python -m benchmarks.ranks_page

writes both from `benchmarks/results/ranks.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from .report import replace_section, table
from .systems import RESULTS, ROOT

GUIDE = ROOT / "docs" / "distributed.md"
COMMAND = "python -m benchmarks.ranks_page"
CLOCKS = ("processor", "passed")
BATCHES = (64, 512, 4096)
GPUS = {2: "2 GPUs", 8: "8 GPUs", 64: "64 GPUs on 8 machines"}
# Bytes per second that a process can send: between GPUs of a machine (NVLink 4), and between
# machines (400 Gbit/s). The lower one bounds a ring through both.
IN_MACHINE, BETWEEN = 450e9, 50e9
# Seconds for a message: between GPUs of a machine, and between machines
LATENCIES = {8: 10e-6, 64: 20e-6}
# A GPU is assumed to take a step in a hundredth of this processor's time, of which a part does not
# shrink with the batch, as it starts operations
FASTER = 100.0
FIXED_ON_GPU = 0.005


def communication_seconds(n: int, n_bytes: float) -> float:
    """The time of a ring of n processes, 8 to a machine, that adds up gradients."""
    if n == 1:
        return 0.0
    bandwidth = IN_MACHINE if n <= 8 else BETWEEN
    return 2 * (n - 1) / n * n_bytes / bandwidth + 2 * (n - 1) * LATENCIES[8 if n <= 8 else 64]


def seconds_of_sentence(results: dict[str, Any]) -> float:
    """The assumed time that a GPU takes for a sentence."""
    seconds = median(one["update"] / one["steps"] for [one] in results["1"])
    return seconds / results["batch"] / FASTER


def fixed_seconds(results: dict[str, Any], n: int, batch: int) -> float:
    """The part of a step on n GPUs that does not shrink with the batch."""
    # Larger batches use more rows of the table of words; at most, all of them
    n_bytes = results["2"][0][0]["bytes" if batch <= results["batch"] else "whole"]
    return FIXED_ON_GPU + communication_seconds(n, n_bytes)


def predict(results: dict[str, Any], n: int, batch: int) -> float:
    """The sentences per second of n GPUs that share a batch."""
    return batch / (fixed_seconds(results, n, batch) + seconds_of_sentence(results) * batch / n)


def half_used(results: dict[str, Any], n: int) -> int:
    """The sentences for each of n GPUs with which half of their time goes into sentences."""
    return round(fixed_seconds(results, n, results["batch"] + 1) / seconds_of_sentence(results))


def predictions(results: dict[str, Any]) -> list[str]:
    """The table of factors over one GPU."""
    rows = []
    for batch in BATCHES:
        alone = predict(results, 1, batch)
        rows.append([str(batch), *(f"{predict(results, n, batch) / alone:.1f}" for n in GPUS)])
    return table(["sentences in a batch", *GPUS.values()], rows)


def rates(results: dict[str, Any], n: int, clock: str) -> list[float]:
    """The sentences per second of each run, by the slowest process."""
    return [
        results["batch"] * ranks[0]["steps"] / max(rank[clock] for rank in ranks)
        for ranks in results[str(n)]
    ]


def factors(results: dict[str, Any], clock: str) -> list[float]:
    """How many times as fast two processes were as one, which ran right before them."""
    one, two = (rates(results, n, clock) for n in (1, 2))
    return [b / a for a, b in zip(one, two, strict=True)]


def shares(results: dict[str, Any]) -> tuple[float, float]:
    """The largest shares of two processes' time that adding up takes: of their processor time, and
    of the time that passes, which includes waiting. Medians of the runs."""
    runs = results["2"]
    return (
        median(max(r["communication"] / r["processor"] for r in run) for run in runs),
        median(max(r["communication_passed"] / r["passed"] for r in run) for run in runs),
    )


def gains(results: dict[str, Any]) -> list[str]:
    """What the guide says of the gain, and where it ends."""
    factor, passed = (median(factors(results, clock)) for clock in CLOCKS)
    share, waits = shares(results)
    two = results["2"][0][0]
    return [
        f"Two processes trained `{results['system']}` {factor:.2f} times as fast as one by "
        f"processor time, and {passed:.2f} times by the time that passed, on a machine with "
        f"{results['machine']['cores']} cores and batches of {results['batch']} sentences "
        "([ranks.md](../benchmarks/results/ranks.md)). To add up gradients took "
        f"{100 * share:.0f} % of their processor time; with waiting for the other, which has the "
        f"longer sentences or less of the machine, {100 * waits:.0f} % of the time. A step sent "
        f"{two['bytes'] / 1e6:.1f} of {two['whole'] / 1e6:.1f} MB: of the table of words, only "
        "rows that are in the batch.",
        "",
        "Nothing was measured on several GPUs. A model of cost predicts these factors over one:",
        *predictions(results),
        "",
        "A step of n sentences on N GPUs takes f + c·n/N seconds, and what the messages take. The "
        f"model assumes f = {1e3 * FIXED_ON_GPU:.0f} ms to start operations, and c = "
        f"{1e6 * seconds_of_sentence(results):.0f} µs for a sentence, a {FASTER:.0f}th of what a "
        "core took above. More GPUs stop paying where c·n/N is small against the rest: half of "
        f"the time goes into sentences with {half_used(results, 8)} for each of 8 GPUs, and with "
        f"{half_used(results, 64)} for each of 64. Below that, train on fewer; or use larger "
        "batches, for which the learning rate must be found anew.",
    ]


def write_page(results: dict[str, Any], path: Path) -> None:
    """Write the page.

    results (Dict[str, Any]): What was measured.
    path (Path): The page.
    """
    share, waits = shares(results)
    rows = []
    for n in (1, 2):
        row = [str(n)]
        for clock in CLOCKS:
            compared = factors(results, clock)
            spread = f"{median(compared):.2f} ({min(compared):.2f}–{max(compared):.2f})"
            row += [f"{median(rates(results, n, clock)):.0f}", spread if n > 1 else "1.00"]
        rows.append(row + ([f"{100 * x:.0f} %" for x in (share, waits)] if n > 1 else ["–", "–"]))
    header = ["processes", "sentences/s", "factor", "passed", "factor"]
    header += ["communication", "with waiting"]
    machine = results["machine"]
    lines = [
        "# Training by several processes",
        "",
        f"Made by `python -m benchmarks.ranks`. The system `{results['system']}` for chunks, "
        f"{results['1'][0][0]['steps']} steps on batches of {results['batch']} sentences "
        f"from {results['limit'] or 'all'} of the corpus, "
        f"one thread in each process, on {machine['processor']} with {machine['cores']} cores "
        f"(load {results['load']:.1f} at the start). Medians of {len(results['1'])} runs of each, "
        "by turns, with the range of the factors. Rates are by processor time; `passed` is by the "
        "time that passes, and depends on what else the machine does. Communication is a part of "
        "the processor time, and with waiting of the time that passes.",
        *table(header, rows),
        "",
        f"A step adds up {results['2'][0][0]['bytes'] / 1e6:.1f} MB, of "
        f"{results['2'][0][0]['whole'] / 1e6:.1f} MB of gradients: of the table of words, the rows "
        "of the batch.",
        "",
        "## Prediction for GPUs",
        "",
        "Nothing here was measured on GPUs. A step of n sentences on N GPUs takes f + c·n/N + "
        "2·B·(N − 1)/N / bandwidth + 2·(N − 1)·latency seconds, with the bytes B from above (all "
        f"gradients if a batch has more than {results['batch']} sentences), c a "
        f"{FASTER:.0f}th of the processor time of a sentence above, "
        f"f = {1e3 * FIXED_ON_GPU:.0f} ms for starting operations and the optimizer, "
        f"{IN_MACHINE / 1e9:.0f} GB/s in a machine of "
        f"8 GPUs and {BETWEEN / 1e9:.0f} GB/s between machines, 10 and 20 µs for a message. The "
        "factor over one GPU:",
        *predictions(results),
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf8")


def main() -> None:
    """Write both."""
    results = json.loads((RESULTS / "ranks.json").read_text(encoding="utf8"))
    write_page(results, RESULTS / "ranks.md")
    replace_section(GUIDE, COMMAND, gains(results))


if __name__ == "__main__":
    main()
