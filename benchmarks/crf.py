"""Speed of the CRF: our backends compared with each other and with other libraries.

    OMP_NUM_THREADS=1 python -m benchmarks.crf

For each shape (sentences x tokens) and number of labels, three tasks are timed: the loss with its
gradient, the marginals with the gradient of a function of them, and Viterbi decoding. All systems
run interleaved (A B A B …) in one process; figures are medians. The default is processor time,
which depends little on the load of the machine. pytorch-crf has no marginals, so they are computed
as the gradient of its log Z with autograd. Libraries that are not installed are skipped, as are
cases whose matrices do not fit in memory. On a GPU, fused kernels ("fused", and Viterbi) are
compared with implementations that go token by token in PyTorch.
"""

import itertools
import statistics
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

from spacy_psa.figures.charts import line_plot
from spacy_psa.figures.images import stack
from spacy_psa.inference import BACKENDS, LinearChain, Potentials

from .crf_peers import PEERS, Tasks, installed
from .report import describe_run, make_parser, table, write
from .timing import Clock, make_clock, time_interleaved, use_device

NAME = "crf"
PEER = "pytorch-crf"
TASKS = {
    "loss": "Loss and gradient",
    "marginals": "Marginals and gradient",
    "viterbi": "Best sequences",
}
# The maximum number of elements in (tokens, L, L): for any system, and for our backends. "logspace"
# goes token by token in the log domain, which is slow
MAX_NUMBERS = 1 << 30
MAX_NUMBERS_OURS = {
    "scaled": MAX_NUMBERS,
    "fused": MAX_NUMBERS,
    "logspace": 1 << 26,
}
# Backends for GPUs, which fall back to another backend on a CPU
FOR_GPUS = ("fused",)
SHORTEST_TURN = 0.01  # seconds


def main() -> None:
    """Run the benchmark, and write `crf.json`, `crf.md` and `crf.svg`."""
    parser = make_parser(__doc__, repeat=5)
    parser.set_defaults(clock="processor")
    parser.add_argument("--shapes", nargs="+", default=["10x25", "64x50", "8x512"], help="10x25 …")
    parser.add_argument(
        "--labels", nargs="+", type=int, default=[9, 45, 73, 425], help="numbers of labels"
    )
    arguments = parser.parse_args()
    use_device(arguments.device, pipelines=False)
    clock = make_clock(arguments.clock, arguments.device)
    sizes = [tuple(map(int, shape.split("x"))) for shape in arguments.shapes]
    cases = [
        run_case(n_sentences, n_tokens, n_labels, arguments.repeat, clock, arguments.device)
        for (n_sentences, n_tokens), n_labels in itertools.product(sizes, arguments.labels)
        if n_sentences * n_tokens * n_labels**2 <= MAX_NUMBERS
    ]
    results = {**describe_run(arguments), "cases": cases}
    results["machine"].update({peer: version(peer) for peer in installed()})
    image = draw(results) if PEER in results["machine"] else None
    write(arguments.output, NAME, results, to_markdown(results), image)


def run_case(
    n_sentences: int, n_tokens: int, n_labels: int, repeat: int, clock: Clock, device: str
) -> dict[str, Any]:
    """Time all systems on random scores in float32.

    n_sentences (int): The number of sentences in the batch.
    n_tokens (int): The number of tokens in each sentence.
    n_labels (int): The number of labels.
    repeat (int): The number of repetitions.
    clock (Callable[[], float]): The clock.
    device (str): The device.
    RETURNS (Dict[str, Any]): The median, lowest and highest milliseconds, by task and system.
    """
    torch.manual_seed(0)
    potentials = Potentials(
        torch.randn(n_sentences * n_tokens, n_labels).to(device),
        (n_tokens,) * n_sentences,
        transitions=(torch.randn(n_labels, n_labels) * 0.3).to(device),
        start=torch.randn(n_labels).to(device),
        end=torch.randn(n_labels).to(device),
    )
    labels = torch.randint(n_labels, (potentials.n_tokens,)).to(device)
    direction = torch.randn(potentials.n_tokens, n_labels).to(device)
    n_numbers = potentials.n_tokens * n_labels**2
    systems = {
        name: our_tasks(name, potentials, labels, direction)
        for name in our_backends(device)
        if n_numbers <= MAX_NUMBERS_OURS[name]
    }
    # Viterbi decoding does not depend on the backend
    systems["spacy-psa"] = {"viterbi": lambda: LinearChain(potentials).argmax}
    for name, peer in installed().items():
        if n_numbers <= peer.limit:
            systems[name] = peer.make(potentials, labels, direction)
    milliseconds: dict[str, dict[str, Any]] = {}
    for task in TASKS:
        functions = {name: tasks[task] for name, tasks in systems.items() if task in tasks}
        milliseconds[task] = measure(functions, repeat, clock)
    size = {"sentences": n_sentences, "tokens": n_tokens, "labels": n_labels}
    return {**size, "milliseconds": milliseconds}


def our_backends(device: str) -> list[str]:
    """RETURNS (List[str]): The backends available on a device."""
    return [name for name in BACKENDS if device != "cpu" or name not in FOR_GPUS]


def our_tasks(backend: str, potentials: Potentials, labels: Tensor, direction: Tensor) -> Tasks:
    """Make our tasks. Each returns values that can be compared with other systems.

    backend (str): The backend.
    potentials (Potentials): The scores.
    labels (Tensor): *Shape:* (N,)
    direction (Tensor): *Shape:* (N, L). The upstream gradient of the marginals.
    RETURNS (Tasks): The tasks, by name.
    """

    def loss() -> tuple[Tensor, Tensor]:
        leaf = potentials.requires_grad_()
        value = -LinearChain(leaf, backend=backend).log_prob(labels).mean()
        value.backward()
        return value, leaf.gradients()["transitions"]

    def marginals() -> tuple[Tensor, Tensor]:
        leaf = potentials.requires_grad_()
        found = LinearChain(leaf, backend=backend).marginals
        (found * direction).sum().backward()
        return found, leaf.gradients()["transitions"]

    return {"loss": loss, "marginals": marginals}


def measure(functions: Tasks, repeat: int, clock: Clock) -> dict[str, dict[str, float]]:
    """Time functions in interleaved runs.

    functions (Tasks): The functions, by name.
    repeat (int): The number of repetitions.
    clock (Callable[[], float]): The clock.
    RETURNS (Dict[str, Dict[str, float]]): The median, lowest and highest milliseconds of each.
    """
    turns = time_interleaved(functions, repeat, clock, at_least=SHORTEST_TURN)
    return {
        name: {
            "median": round(1000 * statistics.median(seconds), 3),
            "lowest": round(1000 * min(seconds), 3),
            "highest": round(1000 * max(seconds), 3),
        }
        for name, seconds in turns.items()
    }


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results, as `main` writes them to JSON.
    RETURNS (str): Markdown, with a table for each task.
    """
    machine = results["machine"]
    versions = [name for name in ("torch", "numpy", *PEERS) if name in machine]
    packages = ", ".join(f"{name} {machine[name]}" for name in versions)
    place = f"{machine['gpu']}, " if "gpu" in machine else ""
    text = (
        f"# CRF\n\nGenerated by `python -m benchmarks.crf`. Milliseconds of {results['clock']} "
        f"time, medians of {results['repetitions']} interleaved runs in one process. In "
        "parentheses: the speed relative to the last column. Scores are in float32. pytorch-crf "
        "has no marginals, so they are computed as the gradient of its log Z with autograd.\n\n"
        f"{place}{machine['processor']}, {machine['cores']} cores, threads: {machine['threads']}, "
        f"{machine['system']}, Python {machine['python']}, {packages}\n"
    )
    for task, title in TASKS.items():
        timed = [case["milliseconds"][task] for case in results["cases"]]
        names = list(dict.fromkeys(name for times in timed for name in times))
        rows = [["sentences × tokens × labels", *names], ["---", *["---:"] * len(names)]]
        for case in results["cases"]:
            size = " × ".join(str(case[name]) for name in ("sentences", "tokens", "labels"))
            medians = {name: t["median"] for name, t in case["milliseconds"][task].items()}
            rows.append([size, *(_cell(medians, name, names[-1]) for name in names)])
        table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
        text += f"\n## {title}\n\n{table}"
    return text


def speeds(results: dict[str, Any], task: str) -> dict[str, dict[str, float]]:
    """Compute the speed of a task relative to pytorch-crf.

    results (Dict[str, Any]): The results, as `main` writes them to JSON.
    task (str): The task.
    RETURNS (Dict[str, Dict[str, float]]): The ratios, by size of the case and by system. Cases
        without pytorch-crf are omitted.
    """
    found = {}
    for case in results["cases"]:
        medians = {name: t["median"] for name, t in case["milliseconds"][task].items()}
        size = " × ".join(str(case[name]) for name in ("sentences", "tokens", "labels"))
        if PEER in medians:
            found[size] = {name: medians[PEER] / m for name, m in medians.items() if name != PEER}
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): Tables of the speed of each system relative to pytorch-crf."""
    lines = ["", f"Speed relative to {PEER}, by sentences × tokens × labels:"]
    for task, title in TASKS.items():
        rows = speeds(results, task)
        names = list(dict.fromkeys(name for row in rows.values() for name in row))
        cells = [
            [size, *(f"{row[name]:.2f}" if name in row else "–" for name in names)]
            for size, row in rows.items()
        ]
        if cells:
            lines += table([title.lower(), *names], cells)
    return lines


def draw(results: dict[str, Any]) -> str:
    """RETURNS (str): A plot of these ratios by number of labels for each task, as SVG."""
    images = []
    for task, title in TASKS.items():
        lines: dict[str, list[tuple[float, float]]] = {}
        for size, row in speeds(results, task).items():
            shape, n_labels = size.rsplit(" × ", maxsplit=1)
            for name, speed in row.items():
                lines.setdefault(f"{name}, {shape}", []).append((int(n_labels), speed))
        images.append(
            line_plot(lines, "labels", f"speed relative to {PEER}", title, y_range=(0, 1))
        )
    return stack(images)


def _cell(medians: dict[str, float], name: str, baseline: str) -> str:
    if name not in medians:
        return "–"
    ratio = f" ({medians[baseline] / medians[name]:.2f})" if baseline in medians else ""
    return f"{medians[name]:,.2f}{ratio}"


if __name__ == "__main__":
    main()
