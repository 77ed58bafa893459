"""What each speed device saves: the time of whole components without it, relative to all on.

    python -m benchmarks.ablation --data corpus/conll2000 --vectors vectors/en

The components learn the chunks of CoNLL-2000, with the vocabulary of all its sentences. Two copies
of a component take turns on the same sentences: one as it is, one without the device (`on`, `off`,
then `off`, `on`, …). A figure is the median of the ratios of their times, so that it is above 1 if
the device saves time. The procedure is repeated, and the smaller of both figures counts; the row
without a device shows the noise. With one thread, the clock counts processor time; with more, wall
time, which requires an idle machine. With `--device cuda`, it counts wall time as well, and each
device has copies of its own, since what a CUDA graph has recorded cannot be switched.
"""

import argparse
import gc
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import torch
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import fix_random_seed
from tqdm import tqdm

from spacy_psa.acceleration.reduced_precision import FULL, REDUCTIONS
from spacy_psa.figures.charts import bar_plot
from spacy_psa.models.network_shim import reduce_pipeline

from .ablation_switches import SWITCHES, TRAINING, Switch, switched_off
from .chunks import read
from .components import make_pipeline
from .pipelines import TAGGED_AT_ONCE, Trainer
from .report import describe, describe_run, make_parser, page, result_name, table, write
from .timing import frozen, make_clock, use_device

NAME = "ablation"
SYSTEMS = ("psa", "bilstm-crf")
WIDTHS = (300, 600)
THREADS = (1, 2)
RUNS = 2
WORTH = 1.08  # the ratio from which a device is kept
# Sentences in a slice of each figure, and in a batch of training
SLICES = {
    "training, 10": (20, 10),
    "training, 32": (32, 32),
    "pipe": (96, TAGGED_AT_ONCE),
    "one by one": (20, 1),
}
# Slices that are not timed. A GPU compiles kernels and records graphs, one for each common shape
WARM_UP = {"cpu": 3, "cuda": 25}
Work = Callable[[], None]


def main() -> None:
    """Run the benchmark, and write `ablation.json`, `ablation.md` and `ablation.svg`."""
    parser = make_parser(__doc__, repeat=5)
    parser.add_argument("--data", type=Path, required=True, help="folder with train.spacy")
    parser.add_argument("--vectors", type=Path, help="pipeline with pretrained vectors")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--hidden", nargs="+", type=int, default=list(WIDTHS))
    parser.add_argument("--threads", nargs="+", type=int, default=list(THREADS))
    parser.add_argument("--precision", default=FULL, choices=[FULL, *REDUCTIONS])
    names = [name for switches in SWITCHES.values() for name in switches]
    parser.add_argument("--devices", nargs="+", default=names, choices=names)
    parser.add_argument("--sentences", type=int, default=0, help="sentences to read, 0 for all")
    parser.add_argument("--add", action="store_true", help="keep the other figures of the file")
    arguments = parser.parse_args()
    use_device(arguments.device, pipelines=True)
    docs = read(arguments.data / "train.spacy", arguments.sentences)
    results = {**describe_run(arguments), "sentences": len(docs)}
    results["clock"] = "processor (1 thread) or wall" if arguments.device == "cpu" else "wall"
    path = arguments.output / f"{result_name(NAME, arguments.device)}.json"
    earlier = json.loads(path.read_text(encoding="utf8"))["ratios"] if arguments.add else {}
    results["ratios"] = {**earlier, **measure(arguments, docs)}
    write(arguments.output, NAME, results, to_markdown(results), draw(results))


def measure(arguments: argparse.Namespace, docs: Sequence[Doc]) -> dict[str, Any]:
    """Measure all figures.

    arguments (Namespace): The options.
    docs (Sequence[Doc]): The sentences.
    RETURNS (Dict[str, Any]): The ratio of each run, by figure and device.
    """
    on_gpu, n_threads = arguments.device != "cpu", torch.get_num_threads()
    switches = {n: s for n, s in SWITCHES[arguments.device].items() if n in arguments.devices}
    # The copies of a pair, and the devices that they are compared without
    groups = [{name: switch} for name, switch in switches.items()] if on_gpu else [switches]
    ratios: dict[str, Any] = {}
    for system in arguments.systems:
        for hidden, group in product(arguments.hidden, groups):
            pair = Pair(system, docs, hidden, arguments)
            for figure in SLICES:
                chosen = {n: s for n, s in group.items() if s.counts(figure, arguments.precision)}
                if not chosen:
                    continue
                pair.prepare(figure, *(chosen.values() if on_gpu else ()))
                for threads in (n_threads,) if on_gpu else arguments.threads:
                    torch.set_num_threads(threads)
                    place = arguments.device if on_gpu else f"{threads} thread(s)"
                    precision = "" if arguments.precision == FULL else f", {arguments.precision}"
                    title = f"{system} {hidden}, {place}: {figure}{precision}"
                    kind = "wall" if on_gpu or threads > 1 else "processor"
                    clock = make_clock(kind, arguments.device)
                    found = pair.compare(chosen, arguments.repeat, clock, title)
                    ratios.setdefault(title, {}).update(found)
                torch.set_num_threads(n_threads)
    return ratios


class Pair:
    """Two copies of a component that do the same work.

    system (str): The component.
    docs (Sequence[Doc]): The sentences.
    hidden (int): The width of the BiLSTM, both directions together.
    arguments (Namespace): The vectors; the precision, of training and, afterwards, tagging; and
        the device.
    """

    def __init__(
        self, system: str, docs: Sequence[Doc], hidden: int, arguments: argparse.Namespace
    ) -> None:
        self.docs, self.precision = docs, arguments.precision
        self.warm_up, on_gpu = WARM_UP[arguments.device], arguments.device != "cpu"
        self.pipelines = [
            make_pipeline(
                system, docs, arguments.vectors, hidden, precision=self.precision, gpu=on_gpu
            )
            for _ in range(2)
        ]
        self.trainers = [Trainer(nlp, docs) for nlp in self.pipelines]
        self.is_reduced = False

    def prepare(self, figure: str, *off: Switch) -> None:
        """Warm up, and reduce the precision before the first tagging.

        figure (str): A key of `SLICES`.
        *off (Switch): The device without which the second copy warms up, too.
        """
        if not (figure.startswith(TRAINING) or self.is_reduced or self.precision == FULL):
            for nlp in self.pipelines:
                reduce_pipeline(nlp, self.precision)
            self.is_reduced = True
        self.slices = [self._slices(i, figure) for i in range(2)]
        for _ in range(self.warm_up):
            for slices, switches in zip(self.slices, ((), off), strict=True):
                with switched_off(Switch(tuple(o for switch in switches for o in switch.off))):
                    next(slices)()

    def _slices(self, which: int, figure: str) -> Iterator[Work]:
        """Endless slices of work."""
        n, size = SLICES[figure]
        n = min(n, len(self.docs))
        nlp, trainer = self.pipelines[which], self.trainers[which]
        if figure.startswith(TRAINING):
            examples = cycle(trainer.examples)
            while True:
                batches = [list(islice(examples, size)) for _ in range(n // size)]
                yield lambda: train(nlp, batches, trainer.optimizer)  # noqa: B023 - run at once
        words = cycle([[token.text for token in doc] for doc in self.docs])
        while True:
            made = [Doc(nlp.vocab, words=w) for w in islice(words, n)]
            yield lambda: tag(nlp, made, size)  # noqa: B023 - run at once

    def compare(
        self, switches: dict[str, Switch], repeat: int, clock: Callable[[], float], what: str
    ) -> dict[str, list[float]]:
        """Time the work with and without each device.

        switches (Dict[str, Switch]): The devices.
        repeat (int): How often to time each of them in each run.
        clock (Callable[[], float]): The clock.
        what (str): The label of the progress bar.
        RETURNS (Dict[str, List[float]]): The median ratio of each run, by device.
        """
        found: dict[str, list[float]] = {name: [] for name in switches}
        for _ in range(RUNS):
            ratios: dict[str, list[float]] = {name: [] for name in switches}
            with frozen():
                for turn in tqdm(range(repeat), desc=what, mininterval=10):
                    for name, switch in switches.items():
                        ratios[name].append(self._ratio(switch, clock, turn % 2 == 1))
            for name, values in ratios.items():
                found[name].append(round(statistics.median(values), 3))
        return found

    def _ratio(self, switch: Switch, clock: Callable[[], float], is_reversed: bool) -> float:
        spent = {}
        work = dict(enumerate(map(next, self.slices)))
        gc.collect()  # quick, since what the benchmark itself keeps is exempt
        for off in (True, False) if is_reversed else (False, True):
            fix_random_seed(0)
            with switched_off(switch if off else Switch(())):
                start = clock()
                work[int(off)]()
                spent[off] = clock() - start
        return spent[True] / spent[False]


def train(nlp: Language, batches: list[list[Any]], optimizer: Any) -> None:
    """Train a pipeline."""
    for examples in batches:
        nlp.update(examples, sgd=optimizer, losses={})


def tag(nlp: Language, docs: list[Doc], batch_size: int) -> None:
    """Tag documents, at once or one by one."""
    if batch_size == 1:
        for doc in docs:
            nlp(doc)
    else:
        for _ in nlp.pipe(docs, batch_size=batch_size):
            pass


def smallest(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """RETURNS (Dict[str, Dict[str, float]]): The smallest ratio of all runs, by device, figure."""
    found: dict[str, dict[str, float]] = {}
    for figure, ratios in results["ratios"].items():
        for device, runs in ratios.items():
            found.setdefault(device, {})[figure] = min(runs)
    return found


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    lines = tables(results)
    for figure, ratios in results["ratios"].items():
        n_runs = max(map(len, ratios.values()))
        rows = [[device, *(f"{ratio:.2f}" for ratio in runs)] for device, runs in ratios.items()]
        lines += ["", f"**{figure}**"]
        lines += table(["without", *(f"run {i + 1}" for i in range(n_runs))], rows)
    return page("Speed devices", NAME, describe(results), lines)


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): The largest figures of each device."""
    lines = [
        "",
        "Time of whole components without each device, relative to all on (above 1, the device "
        f"saves time): the figures in which it saves most, each the smaller of {RUNS} runs. A "
        f"device is worth keeping from {WORTH} in one figure.",
    ]
    rows = []
    for device, ratios in smallest(results).items():
        best = sorted(ratios, key=lambda figure: -ratios[figure])[:3]
        median = statistics.median(ratios.values())
        figures = [f"{ratios[f]:.2f} ({f})" for f in best]
        rows.append([device, f"{median:.2f}", *figures, *["–"] * (3 - len(best))])
    return lines + table(["without", "median", "most", "second", "third"], rows)


def draw(results: dict[str, Any]) -> str:
    """RETURNS (str): A figure of the largest and the median ratio of each device, as SVG."""
    found = smallest(results)
    series = {
        "most": {device: max(ratios.values()) for device, ratios in found.items()},
        "median": {device: statistics.median(ratios.values()) for device, ratios in found.items()},
    }
    return bar_plot(series, "without", "time, all on = 1", "Speed devices", y_range=(0.9, 1.1))


if __name__ == "__main__":
    main()
