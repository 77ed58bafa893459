"""Roofline analysis: the speed of components compared with the limits of the hardware.

    OMP_NUM_THREADS=2 python -m benchmarks.roofline

Counted per token, in tagging and in training steps: the FLOPs of matrix multiplications (a
multiply-add counts as two), the elements written by all other operations, and the bytes read and
written by all operations, as if there were no cache. Measured on the machine: the rate of matrix
multiplications at the shapes of the BiLSTM, in float32 and bfloat16, and of memory copies. The
floor is the time that the matrix multiplications take at the highest float32 rate. The share of a
component is the floor divided by its time, from words to tagged `Doc` objects or for a training
step including the update.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from spacy_psa.figures.charts import bar_plot

from .counting import Counting
from .pipelines import TAGGED_AT_ONCE, Trainer, tagging
from .report import describe, describe_run, make_parser, page, table, write
from .synthetic import make_sentences, make_tagger, sentence_lengths
from .timing import Clock, make_clock, measure, repeated, use_device

NAME = "roofline"
SYSTEMS = ("bilstm-crf", "bilstm-softmax", "psa", "lan", "refinement", "vaswani", "deepatt")
LABELS = 45
WAYS = {"tagging": TAGGED_AT_ONCE, "training": 10}
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
COPIED = 1 << 26  # bytes
LEAST = 2e-2  # minimum seconds per measurement of a rate


def main() -> None:
    """Run the benchmark, and write `roofline.json`, `roofline.md` and `roofline.svg`."""
    parser = make_parser(__doc__, repeat=3)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument(
        "--sentences", type=int, default=TAGGED_AT_ONCE, help="sentences to process"
    )
    parser.add_argument("--hidden", type=int, default=300, help="BiLSTM width, both directions")
    arguments = parser.parse_args()
    use_device(arguments.device, pipelines=True)
    clock = make_clock(arguments.clock, arguments.device)
    rates = measure_rates(arguments.hidden, arguments.device, arguments.repeat, clock)
    results: dict[str, Any] = {
        **describe_run(arguments),
        "hidden": arguments.hidden,
        "rates": rates,
        "systems": {},
    }
    sentences = make_sentences(sentence_lengths(arguments.sentences))
    n_tokens = sum(map(len, sentences))
    actions: dict[str, dict[str, Callable[[], object]]] = {way: {} for way in WAYS}
    for system in arguments.systems:
        nlp, docs = make_tagger(
            system,
            sentences,
            LABELS,
            hidden=arguments.hidden,
            gpu=arguments.device != "cpu",
        )
        trainer = Trainer(nlp, docs)
        actions["tagging"][system] = tagging(nlp, docs, whole=True)
        actions["training"][system] = partial(trainer.train, WAYS["training"], len(docs))
        results["systems"][system] = {way: count(actions[way][system], n_tokens) for way in WAYS}
    best = max(rates["products"]["float32"].values())
    for way in WAYS:
        seconds = measure(actions[way], arguments.repeat, clock, way)
        for system, time in seconds.items():
            found = results["systems"][system][way]
            found["floor"] = 1000 * found["products"] / best
            found["seconds"] = 1000 * time / n_tokens
            found["share"] = found["floor"] / found["seconds"]
    write(arguments.output, NAME, results, to_markdown(results), draw(results))


def count(action: Callable[[], object], n_tokens: int) -> dict[str, float]:
    """Count the operations of an action.

    action (Callable[[], object]): The action.
    n_tokens (int): The number of tokens it processes.
    RETURNS (Dict[str, float]): FLOPs of matrix multiplications, elements written by other
        operations, and bytes, all per token.
    """
    action()  # exclude one-time initialization from the counts
    with Counting() as counting:
        action()
    return {
        "products": counting.products / n_tokens,
        "others": counting.others / n_tokens,
        "bytes": counting.bytes / n_tokens,
    }


def measure_rates(hidden: int, device: str, repeat: int, clock: Clock) -> dict[str, Any]:
    """Measure the rates that the machine achieves.

    hidden (int): The width of the BiLSTM, both directions together.
    device (str): The device.
    repeat (int): The number of repetitions.
    clock (Callable[[], float]): The clock.
    RETURNS (Dict[str, Any]): FLOPs per second of matrix multiplications by type and shape, and
        bytes per second of memory copies.
    """
    width, gates = hidden // 2, 2 * hidden
    shapes = {
        "inputs of 10 sentences": (250, 200, gates),
        "inputs of 256 sentences": (6_400, 200, gates),
        "a step of 10 sentences": (10, width, gates),
        "a step of 256 sentences": (256, width, gates),
        "1,024 × 1,024 × 1,024": (1024, 1024, 1024),
    }
    actions: dict[str, Callable[[], object]] = {}
    amounts: dict[str, float] = {}
    for type_name, dtype in TYPES.items():
        for name, (n, k, m) in shapes.items():
            a = torch.randn(n, k, device=device, dtype=dtype)
            b = torch.randn(m, k, device=device, dtype=dtype)
            product = partial(torch.nn.functional.linear, a, b)
            key = f"{type_name}/{name}"
            actions[key], times = repeated(product, clock, LEAST)
            amounts[key] = 2.0 * n * k * m * times
    source = torch.zeros(COPIED // 4, device=device)
    actions["copy"], times = repeated(partial(source.clone().copy_, source), clock, LEAST)
    amounts["copy"] = 2.0 * COPIED * times
    seconds = measure(actions, repeat, clock, "rates")
    rates = {name: amounts[name] / time for name, time in seconds.items()}
    return {
        "products": {t: {name: rates[f"{t}/{name}"] for name in shapes} for t in TYPES},
        "bytes": rates["copy"],
    }


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    return page("Roofline", NAME, describe(results), tables(results))


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): A description of the figures, and the tables."""
    rates = results["rates"]
    best = max(rates["products"]["float32"].values())
    lines = ["", "Matrix multiplications at the shapes of a BiLSTM of width "]
    lines[-1] += (
        f"{results['hidden']}: GFLOP/s, and the rate relative to the highest float32 rate. The "
        f"memory bandwidth of copies is {rates['bytes'] / 1e9:.1f} GB/s: operations with fewer "
        f"than {best / rates['bytes']:.1f} FLOP per byte are memory-bound, unless their data is in "
        "a cache."
    )
    names = list(rates["products"]["float32"])
    rows = [
        [name, *(cell for t in TYPES for cell in _rate(rates["products"][t][name], best))]
        for name in names
    ]
    lines += table(["product", *(c for t in TYPES for c in (f"{t}: GFLOP/s", "relative"))], rows)
    lines += [
        "",
        "Computation per token, including padding: FLOPs of matrix multiplications, elements "
        "written by all other operations ('million others'), bytes moved by all operations, and "
        "the share of the component's time that the matrix multiplications would take at the "
        "highest float32 rate (the floor):",
    ]
    for way in WAYS:
        rows = []
        for system, ways in results["systems"].items():
            found = ways[way]
            amounts = [f"{found[name] / 1e6:.3f}" for name in ("products", "others", "bytes")]
            intensity = f"{found['products'] / found['bytes']:.1f}"
            rows.append([system, *amounts, intensity, f"{found['share']:.1%}"])
        header = [way, "MFLOP", "million others", "MB", "FLOP a byte", "floor / time"]
        lines += table(header, rows)
    return lines


def _rate(rate: float, best: float) -> tuple[str, str]:
    return f"{rate / 1e9:,.1f}", f"{rate / best:.2f}"


def draw(results: dict[str, Any]) -> str:
    """RETURNS (str): A plot of floor / time for each component, as SVG."""
    shares = {
        way: {system: 100 * ways[way]["share"] for system, ways in results["systems"].items()}
        for way in WAYS
    }
    return bar_plot(
        shares,
        "system",
        "floor / time (%)",
        "Matrix multiplication floor relative to measured time",
    )


if __name__ == "__main__":
    main()
