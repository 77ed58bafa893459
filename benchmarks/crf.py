"""How fast sums over label sequences are: our backends against each other and pytorch-crf.

    OMP_NUM_THREADS=1 python -m benchmarks.crf --shapes 10x25 64x25 --labels 9 45 73

For each shape (sentences x tokens) and number of labels, three tasks are timed: the loss of a CRF
with its gradient, the marginals with the gradient of a function of them, and the best sequences
(Viterbi). All systems take turns (A B A B …) in one process, and medians count. Times are those of
the processor, which other programs on the machine do not change much. pytorch-crf has no marginals:
there they are the gradient of its log Z, by automatic differentiation. It is left out if it is not
installed, and cases are left out whose matrices do not fit in memory.
"""

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spacy_psa.inference import BACKENDS, LinearChain, Potentials

from .machine import describe_machine

try:
    from torchcrf import CRF
except ImportError:
    CRF = None

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
PEER = "pytorch-crf"
TASKS = {
    "loss": "Loss and gradient",
    "marginals": "Marginals and gradient",
    "viterbi": "Best sequences",
}
# Numbers in (tokens, L, L): for what goes token by token, and for what keeps all of them several
# times over
MAX_NUMBERS = 1 << 26
MAX_NUMBERS_SCAN = 1 << 24

Tasks = dict[str, Callable[[], Any]]


def main() -> None:
    """Run the benchmark and write `crf.json` and `crf.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", default=["10x25", "64x25"], help="e.g. 10x25")
    parser.add_argument("--labels", nargs="+", type=int, default=[9, 45, 73], help="how many")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of each")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    sizes = [tuple(map(int, shape.split("x"))) for shape in arguments.shapes]
    cases = [
        run_case(n_sentences, n_tokens, n_labels, arguments.repeat)
        for (n_sentences, n_tokens), n_labels in itertools.product(sizes, arguments.labels)
        if n_sentences * n_tokens * n_labels**2 <= MAX_NUMBERS
    ]
    machine = {**describe_machine(), "threads": torch.get_num_threads()}
    if CRF is not None:
        machine[PEER] = version(PEER)
    results = {"machine": machine, "repetitions": arguments.repeat, "cases": cases}
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / "crf.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / "crf.md").write_text(markdown, encoding="utf8")
    print(markdown)


def run_case(n_sentences: int, n_tokens: int, n_labels: int, repeat: int) -> dict[str, Any]:
    """Time all systems on random scores in float32.

    n_sentences (int): Sentences in the batch.
    n_tokens (int): Tokens in each sentence.
    n_labels (int): Number of labels.
    repeat (int): How often.
    RETURNS (Dict[str, Any]): Milliseconds by task and system: median, lowest and highest.
    """
    torch.manual_seed(0)
    potentials = Potentials(
        torch.randn(n_sentences * n_tokens, n_labels),
        (n_tokens,) * n_sentences,
        transitions=torch.randn(n_labels, n_labels) * 0.3,
        start=torch.randn(n_labels),
        end=torch.randn(n_labels),
    )
    labels = torch.randint(n_labels, (potentials.n_tokens,))
    direction = torch.randn(potentials.n_tokens, n_labels)
    systems = {
        name: our_tasks(name, potentials, labels, direction)
        for name in BACKENDS
        if name != "scan" or potentials.n_tokens * n_labels**2 <= MAX_NUMBERS_SCAN
    }
    # The backends only sum: there is one Viterbi algorithm
    systems["spacy-psa"] = {"viterbi": lambda: LinearChain(potentials).argmax}
    if CRF is not None:
        systems[PEER] = their_tasks(potentials, labels, direction)
    milliseconds: dict[str, dict[str, Any]] = {}
    for task in TASKS:
        functions = {name: tasks[task] for name, tasks in systems.items() if task in tasks}
        milliseconds[task] = measure(functions, repeat)
    size = {"sentences": n_sentences, "tokens": n_tokens, "labels": n_labels}
    return {**size, "milliseconds": milliseconds}


def our_tasks(backend: str, potentials: Potentials, labels: Tensor, direction: Tensor) -> Tasks:
    """Our tasks, each of which returns what can be compared.

    backend (str): The backend.
    potentials (Potentials): The scores.
    labels (Tensor): *Shape:* (N,)
    direction (Tensor): *Shape:* (N, L). The upstream gradient of the marginals.
    RETURNS (Tasks): By name.
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


def their_tasks(potentials: Potentials, labels: Tensor, direction: Tensor) -> Tasks:
    """The same by pytorch-crf.

    potentials (Potentials): The scores, of sentences of one length.
    labels (Tensor): *Shape:* (N,)
    direction (Tensor): *Shape:* (N, L)
    RETURNS (Tasks): By name.
    """
    n_sentences, n_labels = len(potentials.lengths), potentials.n_labels
    crf = CRF(n_labels, batch_first=True)
    crf.transitions.data.copy_(potentials.transitions)
    crf.start_transitions.data.copy_(potentials.start)
    crf.end_transitions.data.copy_(potentials.end)
    emissions = potentials.emissions.view(n_sentences, -1, n_labels)
    tags = labels.view(n_sentences, -1)

    def loss() -> tuple[Tensor, Tensor]:
        crf.zero_grad()
        value = -crf(emissions.detach().requires_grad_(), tags, reduction="mean")
        value.backward()
        return value, crf.transitions.grad

    def marginals() -> tuple[Tensor, Tensor]:
        crf.zero_grad()
        leaf = emissions.transpose(0, 1).detach().requires_grad_()
        mask = torch.ones(leaf.shape[:2], dtype=torch.bool)
        log_z = crf._compute_normalizer(leaf, mask).sum()
        (found,) = torch.autograd.grad(log_z, leaf, create_graph=True)
        found = found.transpose(0, 1).reshape(-1, n_labels)
        (found * direction).sum().backward()
        return found, crf.transitions.grad

    def viterbi() -> Tensor:
        return torch.tensor(crf.decode(emissions)).flatten()

    return {"loss": loss, "marginals": marginals, "viterbi": viterbi}


def measure(functions: Tasks, repeat: int) -> dict[str, dict[str, float]]:
    """Time functions in turn, after one run that does not count.

    functions (Tasks): The functions, by name.
    repeat (int): How often.
    RETURNS (Dict[str, Dict[str, float]]): Milliseconds of each: median, lowest and highest.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(repeat):
        for name, function in functions.items():
            begin = time.process_time()
            function()
            times[name].append(1000 * (time.process_time() - begin))
    return {
        name: {
            "median": round(statistics.median(values), 3),
            "lowest": round(min(values), 3),
            "highest": round(max(values), 3),
        }
        for name, values in times.items()
    }


def to_markdown(results: dict[str, Any]) -> str:
    """Lay out results.

    results (Dict[str, Any]): What `main` writes as JSON.
    RETURNS (str): A description of the machine, and a table for each task.
    """
    machine = results["machine"]
    versions = [name for name in ("torch", "numpy", PEER) if name in machine]
    packages = ", ".join(f"{name} {machine[name]}" for name in versions)
    text = (
        "# Sums over label sequences\n\nMilliseconds of processor time, medians of "
        f"{results['repetitions']} interleaved runs in one process; made by "
        "`python -m benchmarks.crf`. In brackets: how many times as fast as the last column. The "
        "scores are in float32. pytorch-crf has no "
        "marginals: they are the gradient of its log Z, by automatic differentiation.\n\n"
        f"{machine['processor']}, {machine['cores']} cores, threads: {machine['threads']}, "
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


def _cell(medians: dict[str, float], name: str, baseline: str) -> str:
    if name not in medians:
        return "–"
    ratio = f" ({medians[baseline] / medians[name]:.2f})" if baseline in medians else ""
    return f"{medians[name]:,.2f}{ratio}"


if __name__ == "__main__":
    main()
