"""The page of `benchmarks.ranks`, with a model of cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .report import table

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


def predict(results: dict[str, Any], n: int, batch: int) -> float:
    """The sentences per second of n GPUs that share a batch."""
    [one] = results["1"]
    per_sentence = one["update"] / one["steps"] / results["batch"] / FASTER
    n_bytes = results["2"][0]["bytes"]
    seconds = FIXED_ON_GPU + per_sentence * batch / n + communication_seconds(n, n_bytes)
    return batch / seconds


def rates(results: dict[str, Any], n: int, clock: str) -> float:
    """The sentences per second of a run, by the slowest process."""
    ranks = results[str(n)]
    return results["batch"] * ranks[0]["steps"] / max(rank[clock] for rank in ranks)


def write_page(results: dict[str, Any], path: Path) -> None:
    """Write the page.

    results (Dict[str, Any]): What was measured.
    path (Path): The page.
    """
    rows = []
    for n in (1, 2):
        ranks = results[str(n)]
        share = max(r["communication"] / r["processor"] for r in ranks)
        waits = max(r["communication_passed"] / r["passed"] for r in ranks)
        rows.append(
            [
                str(n),
                f"{rates(results, n, 'processor'):.0f}",
                f"{rates(results, n, 'processor') / rates(results, 1, 'processor'):.2f}",
                f"{rates(results, n, 'passed'):.0f}",
                f"{100 * share:.0f} %" if n > 1 else "–",
                f"{100 * waits:.0f} %" if n > 1 else "–",
            ]
        )
    header = ["processes", "sentences/s", "factor", "passed", "communication", "with waiting"]
    predicted = []
    for batch in (64, 512, 4096):
        alone = predict(results, 1, batch)
        cells = [f"{predict(results, n, batch) / alone:.1f}" for n in (2, 8, 64)]
        predicted.append([str(batch), *cells])
    machine = results["machine"]
    lines = [
        "# Training by several processes",
        "",
        f"Made by `python -m benchmarks.ranks`. The system `{results['system']}` for chunks, "
        f"{results['1'][0]['steps']} steps on batches of {results['batch']} sentences "
        f"from {results['limit'] or 'all'} of the corpus, "
        f"one thread in each process, on {machine['processor']} with {machine['cores']} cores "
        f"(load {results['load']:.1f} at the start). Rates are by processor time; `passed` is by "
        "the time that passes, and depends on what else the machine does. Communication is a part "
        "of the processor time, and with waiting of the time that passes.",
        "",
        *table(header, rows),
        "",
        f"A step adds up {results['2'][0]['bytes'] / 1e6:.1f} MB of gradients.",
        "",
        "## Prediction for GPUs",
        "",
        "Nothing here was measured on GPUs. A step of n sentences on N GPUs takes f + c·n/N + "
        "2·B·(N − 1)/N / bandwidth + 2·(N − 1)·latency seconds, with the bytes B from above, c a "
        f"{FASTER:.0f}th of the processor time of a sentence above, "
        f"f = {1e3 * FIXED_ON_GPU:.0f} ms for starting operations and the optimizer, "
        f"{IN_MACHINE / 1e9:.0f} GB/s in a machine of "
        f"8 GPUs and {BETWEEN / 1e9:.0f} GB/s between machines, 10 and 20 µs for a message. The "
        "factor over one GPU:",
        "",
        *table(["sentences in a batch", "2 GPUs", "8 GPUs", "64 GPUs on 8 machines"], predicted),
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf8")
