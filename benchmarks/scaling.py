"""What a token costs a whole component, by the size of everything, and how much memory.

    OMP_NUM_THREADS=2 python -m benchmarks.scaling

The component is trained on sentences of made-up words, and tags others with `nlp.pipe`, from words
to Docs with tags. One size is changed at a time: the tokens of a sentence, the labels, the
sentences of a batch, the rows of the table of pretrained vectors, the words of the training data.
All sizes take turns (A B A B …) in one process, and a figure is the time of a token in times of
what it takes at the size beside which 1.00 stands, as the ratio of medians. Memory is that of
processes of their own; without a GPU, the largest resident set.
"""

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from spacy.language import Language

from spacy_psa.analysis.plots import bar_plot, line_plot, stack

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
    """Measure, and write `scaling.json`, `scaling.md` and `scaling.svg`."""
    parser = make_parser(__doc__, repeat=3)
    parser.add_argument("--axes", nargs="*", default=list(AXES), choices=list(AXES))
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--tokens", type=int, default=2_000, help="tokens of each timing")
    parser.add_argument("--largest", type=int, help="leave out larger sizes than this")
    parser.add_argument("--hidden", type=int, default=300, help="width of BiLSTM, both directions")
    parser.add_argument("--long", type=int, default=5_000, help="tokens of one long sentence")
    parser.add_argument("--stream", type=int, default=1_000_000, help="tokens to tag in a row")
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
    """Time all systems with all sizes of an axis.

    axis (Axis): The axis.
    arguments (Namespace): The options.
    clock (Callable[[], float]): The time.
    RETURNS (Dict[str, Any]): Microseconds a token by system, way and size.
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
    """Make a component, and what is timed of it.

    system (str): A system of `psa init-config`.
    setting (Setting): What is measured.
    hidden (int): Width of a BiLSTM, both directions together.
    vectors (Optional[Vectors]): A table of vectors that is there already.
    RETURNS (Tuple[Language, Dict[str, Callable]]): The pipeline; what is done, by `WAYS`.
    """
    # Words of every part of the table of vectors
    vocabulary = setting.vectors or VOCABULARY
    lengths = [setting.length] * setting.n_sentences
    sentences = make_sentences(lengths, vocabulary)
    # Twice: words that come once have no embedding of their own
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
    # With words that have no embedding of their own, but a vector if there are any
    new = annotate(nlp, make_sentences(lengths, vocabulary, seed=1), setting.n_labels)
    return nlp, {
        "training": partial(trainer.train, setting.batch, len(docs)),
        "tagging": tagging(nlp, new, whole=True, batch_size=setting.tagged),
    }


def measure_memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure memory.

    arguments (Namespace): The options.
    RETURNS (Dict[str, Any]): MiB of a long sentence by system and case, and of a long run.
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
    """The results as a page.

    results (Dict[str, Any]): What was measured.
    RETURNS (str): Markdown.
    """
    return page("What size costs", NAME, describe(results), tables(results))


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): What the figures are, and the tables."""
    lines = [
        "",
        "What a token takes, in times of what it takes where 1.00 stands (less is faster):",
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
    """RETURNS (Dict): The times of an axis beside that of its base, by system, way and size."""
    base = axis["base"]
    return {
        system: {
            way: {size: time / times[base] for size, time in times.items()}
            for way, times in ways.items()
        }
        for system, ways in axis["microseconds"].items()
    }


def _memory_tables(memory: dict[str, Any], device: str) -> list[str]:
    where = "of the GPU" if device == "cuda" else "of a process"
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
    lines = ["", f"Memory {where} for a step of training on one sentence of {n:,} tokens, MiB:"]
    lines += table(["", "MiB"], rows)
    stream = memory["stream"]
    first = stream["memory"][0]
    lines += ["", f"The largest resident set while {stream['system']} tags with `nlp.pipe`, beside"]
    lines[-1] += " that after the first tenth:"
    cells = [
        [f"{tokens:,}", f"{size / first:.3f}"]
        for tokens, size in zip(stream["tokens"], stream["memory"], strict=True)
    ]
    return lines + table(["tokens", "memory"], cells)


_CASES = {"windows": "in windows", "at once": "the encoder sees it at once"}


def draw(results: dict[str, Any]) -> str:
    """RETURNS (str): A picture for each axis and one for memory, below each other, SVG."""
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
