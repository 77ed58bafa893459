"""Scaling of time per token and memory with the size of input, labels, batches and tables.

    OMP_NUM_THREADS=2 python -m benchmarks.scaling

A component is trained on synthetic sentences, and tags others with `nlp.pipe`, from words to tagged
`Doc` objects. One size is varied at a time: the sentence length, the number of labels, the batch
size, the rows of the table of pretrained vectors, or the number of words in the training data. Runs
of all sizes are interleaved (A B A B …) in one process. A figure is the time per token relative to
the size marked 1.00, as the ratio of medians. Memory is measured in separate processes; without a
GPU, it is the peak resident set size.
"""

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from spacy.language import Language

from spacy_psa.figures.charts import bar_plot, line_plot
from spacy_psa.figures.images import stack

from .memory import ATTENTION_WIDTH, in_child
from .pipelines import Trainer, tagging
from .report import describe, describe_run, make_parser, page, table, write
from .scaling_axes import AXES, LABELS, LENGTH, Axis, Setting
from .synthetic import VOCABULARY, annotate, make_sentences, make_tagger, spell
from .timing import Clock, make_clock, measure, use_device

NAME = "scaling"
SYSTEMS = ("bilstm-crf", "psa")
WAYS = ("training", "tagging")
MIB = 1 << 20


def main() -> None:
    """Run the benchmark, and write `scaling.json`, `scaling.md` and `scaling.svg`."""
    parser = make_parser(__doc__, repeat=3)
    parser.add_argument("--axes", nargs="*", default=list(AXES), choices=list(AXES))
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--tokens", type=int, default=2_000, help="tokens per timing")
    parser.add_argument("--largest", type=int, help="skip larger sizes than this")
    parser.add_argument("--hidden", type=int, default=300, help="BiLSTM width, both directions")
    parser.add_argument("--long", type=int, default=5_000, help="tokens in the long sentence")
    parser.add_argument("--stream", type=int, default=1_000_000, help="tokens to tag in one run")
    arguments = parser.parse_args()
    use_device(arguments.device, pipelines=True)
    clock = make_clock(arguments.clock, arguments.device)
    results: dict[str, Any] = {
        **describe_run(arguments),
        "tokens": arguments.tokens,
        "hidden": arguments.hidden,
        "axes": {name: measure_axis(AXES[name], arguments, clock) for name in arguments.axes},
        "memory": measure_memory(arguments),
    }
    write(arguments.output, NAME, results, to_markdown(results), draw(results))


def measure_axis(axis: Axis, arguments: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """Time all systems at all sizes of an axis.

    axis (Axis): The axis.
    arguments (Namespace): The options.
    clock (Callable[[], float]): The clock.
    RETURNS (Dict[str, Any]): The microseconds per token, by system, training or tagging, and size.
    """
    largest = arguments.largest or max(axis.sizes)
    sizes = [size for size in axis.sizes if size <= largest] or [min(axis.sizes)]
    actions: dict[str, dict[str, Callable[[], object]]] = {way: {} for way in WAYS}
    tokens: dict[str, int] = {}
    for size in sizes:
        setting = axis.make(size, arguments.tokens)
        table_of_vectors = None
        for system in arguments.systems:
            nlp, acts = prepare(system, setting, arguments.hidden, table_of_vectors)
            table_of_vectors = nlp.vocab.vectors if setting.vectors else None
            for way, act in acts.items():
                actions[way][f"{system}/{size}"] = act
                tokens[f"{system}/{size}"] = setting.n_sentences * setting.length
    found: dict[str, Any] = {system: {} for system in arguments.systems}
    for way in WAYS:
        seconds = measure(actions[way], arguments.repeat, clock, f"{axis.title}, {way}")
        for system in arguments.systems:
            times = {str(n): seconds[f"{system}/{n}"] / tokens[f"{system}/{n}"] for n in sizes}
            found[system][way] = {n: round(1e6 * time, 3) for n, time in times.items()}
    base = axis.base if axis.base in sizes else sizes[0]
    return {"title": axis.title, "base": str(base), "microseconds": found}


def prepare(
    system: str, setting: Setting, hidden: int, vectors: Any = None
) -> tuple[Language, dict[str, Callable[[], object]]]:
    """Make a pipeline, and the actions to time.

    system (str): A system of `psa init-config`.
    setting (Setting): The setting to measure.
    hidden (int): The width of the BiLSTM, both directions together.
    vectors (Optional[Vectors]): An existing table of vectors to reuse.
    RETURNS (Tuple[Language, Dict[str, Callable]]): The pipeline, and the actions by `WAYS`.
    """
    # Words from all parts of the table of vectors
    vocabulary = setting.vectors or VOCABULARY
    lengths = [setting.length] * setting.n_sentences
    sentences = make_sentences(lengths, vocabulary)
    # Twice, since words that occur once get no trainable embedding
    others = [spell(number) for number in range(setting.words)] * 2
    extra = [others[i : i + 1_000] for i in range(0, len(others), 1_000)]
    nlp, docs = make_tagger(
        system,
        [*sentences, *extra],
        setting.n_labels,
        hidden=hidden,
        vectors=setting.vectors if vectors is None else vectors,
    )
    docs = docs[: len(sentences)]
    trainer = Trainer(nlp, docs)
    # Includes words without a trainable embedding, which have a vector if there is a table
    new = annotate(nlp, make_sentences(lengths, vocabulary, seed=1), setting.n_labels)
    return nlp, {
        "training": partial(trainer.train, setting.batch, len(docs)),
        "tagging": tagging(nlp, new, whole=True, batch_size=setting.tagged),
    }


def measure_memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure memory.

    arguments (Namespace): The options.
    RETURNS (Dict[str, Any]): The MiB for a long sentence, by system and case, and for a long run.
    """
    long, device = arguments.long, arguments.device
    found: dict[str, Any] = {"long": long, "sentence": {}, "stream": {}}
    with tempfile.TemporaryDirectory() as folder:
        for system in arguments.systems:
            path = Path(folder) / system
            nlp, _ = make_tagger(
                system, make_sentences([LENGTH] * 400), LABELS, hidden=arguments.hidden
            )
            nlp.to_disk(path)
            found["sentence"][system] = {
                case: round(in_child(case, str(path), long, device)["memory"], 1)
                for case in ("windows", "at once")
            }
        attention = in_child("additive", "-", long, device)["memory"]
        found["attention"] = round(attention, 1)
        found["broadcasting"] = round(long * long * ATTENTION_WIDTH * 4 / MIB, 1)
        first = arguments.systems[0]
        stream = in_child("stream", str(Path(folder) / first), arguments.stream, device)
        found["stream"] = {"system": first, **stream}
    return found


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    return page("Scaling and memory", NAME, describe(results), tables(results))


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): A description of the figures, and the tables."""
    lines = [
        "",
        "Time per token, relative to the size marked 1.00 (lower is faster):",
    ]
    for axis in results["axes"].values():
        ratios = relative(axis)
        columns = [f"{system}, {way}" for system, ways in ratios.items() for way in ways]
        sizes = list(next(iter(next(iter(ratios.values())).values())))
        rows = [
            [
                f"{int(size):,}",
                *(f"{ways[way][size]:.2f}" for ways in ratios.values() for way in ways),
            ]
            for size in sizes
        ]
        lines += table([axis["title"], *columns], rows)
    return lines + _memory_tables(results["memory"], results["device"])


def relative(axis: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """RETURNS (Dict): The times of an axis relative to its base, by system, way and size."""
    base = axis["base"]
    return {
        system: {
            way: {size: time / times[base] for size, time in times.items()}
            for way, times in ways.items()
        }
        for system, ways in axis["microseconds"].items()
    }


def _memory_tables(memory: dict[str, Any], device: str) -> list[str]:
    where = "GPU memory" if device == "cuda" else "Process memory"
    n = memory["long"]
    rows = [
        [f"{system}, {_CASES[case]}", f"{size:,.0f}"]
        for system, cases in memory["sentence"].items()
        for case, size in cases.items()
    ]
    rows.append(
        [f"additive attention alone, {ATTENTION_WIDTH} wide", f"{memory['attention']:,.0f}"]
    )
    rows.append(["one tensor of all pairs, by broadcasting", f"{memory['broadcasting']:,.0f}"])
    lines = ["", f"{where} for one training step on a sentence of {n:,} tokens, in MiB:"]
    lines += table(["", "MiB"], rows)
    stream = memory["stream"]
    first = stream["memory"][0]
    lines += ["", f"Peak resident set size while {stream['system']} tags with `nlp.pipe`, relative"]
    lines[-1] += " to that after the first tenth:"
    cells = [
        [f"{tokens:,}", f"{size / first:.3f}"]
        for tokens, size in zip(stream["tokens"], stream["memory"], strict=True)
    ]
    return lines + table(["tokens", "memory"], cells)


_CASES = {"windows": "in windows", "at once": "the encoder sees it at once"}


def draw(results: dict[str, Any]) -> str:
    """RETURNS (str): A plot for each axis and one for memory, stacked, as SVG."""
    label = "time of a token, relative"
    images = []
    for axis in results["axes"].values():
        bars = {
            f"{system}, {way}": {f"{int(size):,}": ratio for size, ratio in times.items()}
            for system, ways in relative(axis).items()
            for way, times in ways.items()
        }
        images.append(bar_plot(bars, axis["title"], label, f"By {axis['title']}"))
    stream = results["memory"]["stream"]
    points = [(float(n), m) for n, m in zip(stream["tokens"], stream["memory"], strict=True)]
    title = f"Memory of {stream['system']}, tagging"
    images.append(line_plot({"": points}, "tokens", "MiB", title, y_range=(0, 1)))
    return stack(images)


if __name__ == "__main__":
    main()
