"""Where does which network help? The systems of the papers and their parts, with several seeds.

    python -m benchmarks.comparisons --corpora corpora --vectors vectors.txt.gz --only against
    python -m benchmarks.comparisons --page

Cells are those of `benchmarks.recipes`, in the same folder, with systems and variants of
`psa reproduce`: a training each, in a process of its own with a file of results. The first seed of
all comes first. What is finished is not trained again, so a run that was stopped goes on. A name
with `+paper` is trained as in its paper, all others by the recipe `best`.
"""

import base64
import json
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacy_psa.evaluation.breakdowns import ByLength
from spacy_psa.evaluation.significance import approximate_randomization
from spacy_psa.figures.charts import line_plot
from spacy_psa.figures.images import stack
from spacy_psa.reproduction.results import summarize

from .recipes import FOLDER, make_parser, missing, run
from .recipes_cell import Cell
from .report import replace_section, table
from .systems import ROOT

GUIDE = ROOT / "docs" / "comparisons.md"
COMMAND = "python -m benchmarks.comparisons"
FIGURE = "comparisons-lengths.svg"
Result = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    title (str): The question.
    corpora (Mapping[str, Optional[int]]): The corpora, and the number of training sentences.
    pairs (Dict[str, Tuple[str, ...]]): Baselines, and what is compared with each.
    seeds (int): The number of seeds.
    lengths (bool): Whether scores by length are of interest.
    """

    title: str
    corpora: Mapping[str, int | None]
    pairs: dict[str, tuple[str, ...]]
    seeds: int
    lengths: bool = False

    def cells(self) -> Iterator[Cell]:
        """YIELDS (Cell): The cells, with the first seed of all first."""
        for seed in range(self.seeds):
            for corpus, size in self.corpora.items():
                for baseline, others in self.pairs.items():
                    for system in (baseline, *others):
                        yield Cell(corpus, size, system, seed)


SMALL = {"wnut17": 1000, "ncbi": 1000, "ewt": 1000, "conll2000": 1000}
PARTS = ("no-token-position", "no-gaussian", "no-bias", "no-first", "no-second")
LONGER = ("-window-2", "-window-20", "+heads-2", "+heads-5", "+log-distance")
COMPARISONS = {
    "against": Comparison("PSA and BiLSTM-CRF", SMALL, {"bilstm-crf": ("psa",)}, 3),
    "paper": Comparison(
        "The same, with the paper's training", SMALL, {"bilstm-crf+paper": ("psa+paper",)}, 3
    ),
    "all": Comparison(
        "The same, with all sentences", dict.fromkeys(SMALL), {"bilstm-crf": ("psa",)}, 3
    ),
    "parts": Comparison(
        "Without a part of PSA, or with M",
        {"conll2000": 1000},
        {"psa": ("psa+no-self", *(f"psa-{part}" for part in PARTS), "bilstm-crf")},
        3,
    ),
    "labels": Comparison(
        "LAN and structured refinement, and their baselines",
        {"ewt": 1000, "brown": 3000},
        {"lan-bilstm-crf": ("lan-bilstm-softmax", "lan"), "refinement-bilstm-crf": ("refinement",)},
        2,
    ),
    "lengths": Comparison(
        "PSA for long sentences",
        {"conll2000": 1000},
        {"psa": ("bilstm-crf", "psa+no-self", *(f"psa{part}" for part in LONGER))},
        3,
        lengths=True,
    ),
}


def main() -> None:
    """Train the cells that are missing, and write the page."""
    parser = make_parser(__doc__, FOLDER, minutes=600.0)
    parser.add_argument("--only", nargs="*", choices=COMPARISONS, default=list(COMPARISONS))
    parser.add_argument("--on", nargs="*", help="only these corpora")
    parser.add_argument("--seeds", type=int, default=3, help="at most so many seeds")
    arguments = parser.parse_args()
    until = time.time() + 60.0 * arguments.minutes
    arguments.output.mkdir(parents=True, exist_ok=True)
    if not arguments.page:
        if arguments.corpora is None:
            parser.error("--corpora is required, unless for --page")
        wanted = (cell for name in arguments.only for cell in COMPARISONS[name].cells())
        cells = [cell for cell in dict.fromkeys(wanted) if cell.seed < arguments.seeds]
        cells = [cell for cell in cells if cell.corpus in (arguments.on or [cell.corpus])]
        cells.sort(key=lambda cell: cell.seed)
        run(missing(cells, arguments.output), arguments, until)
    write_page(arguments.output)


def write_page(folder: Path, guide: Path = GUIDE) -> None:
    """Write the tables of the guide, and the figure of lengths beside the results.

    folder (Path): The folder of the results.
    guide (Path): The page with a part for them.
    """
    lines: list[str] = []
    images: list[str] = []
    for name, comparison in COMPARISONS.items():
        cells = list(comparison.cells())
        lacking = missing(cells, folder)
        lines += ["", f"## {comparison.title}"]
        if lacking:
            command = f"`{COMMAND} --only {name}`"
            lines += ["", f"{len(lacking)} of {len(cells)} trainings are missing: {command}."]
        for corpus, size in comparison.corpora.items():
            found: dict[str, list[Result]] = {}
            for cell in cells:
                if cell.corpus == corpus and cell not in lacking:
                    text = (folder / f"{cell.name}.json").read_text(encoding="utf8")
                    found.setdefault(cell.system, []).append(json.loads(text))
            if not found:
                continue
            title = f"{corpus}, {f'{size:,}' if size else 'all'} sentences"
            lines += _tables(title, comparison, found)
            if comparison.lengths:
                images.append(_draw(title, found))
        if comparison.lengths and images:
            lines += ["", f"![scores by length](../benchmarks/results/recipes/{FIGURE})"]
    texts = [path.read_text(encoding="utf8") for path in folder.glob("*.json")]
    machines = {json.loads(text)["machine"]["processor"] for text in texts}
    if machines:
        lines += ["", f"One thread of {' or '.join(sorted(machines))}."]
    replace_section(guide, COMMAND, lines)
    if images:
        (folder / FIGURE).write_text(stack(images), encoding="utf8")


def _tables(title: str, comparison: Comparison, found: dict[str, list[Result]]) -> list[str]:
    """RETURNS (List[str]): A table of systems and, if of interest, one by length."""
    rows, by_length = [], []
    for baseline, others in comparison.pairs.items():
        for system in (baseline, *others):
            runs = found.get(system, [])
            if not runs:
                continue
            score = summarize(run["best"]["test"] for run in runs)
            star = "*" * any(not run["ended"] for run in runs)
            pairs = [
                (a, b) for a in found.get(baseline, []) for b in runs if a["seed"] == b["seed"]
            ]
            gain = gain_of(pairs) if pairs and system != baseline else ["", ""]
            seconds = np.mean([run["curve"][-1]["seconds"] for run in runs])
            rows.append([f"`{system}`", f"{score}{star}", str(score.n), *gain, f"{seconds:.0f}"])
            by_length.append([f"`{system}`", *map(_percent, lengths(runs).values())])
    header = [title, "test", "seeds", "difference", "p", "seconds"]
    lines = table(header, rows)
    return lines + (table([title, *ByLength().names], by_length) if comparison.lengths else [])


def gain_of(pairs: Sequence[tuple[Result, Result]]) -> list[str]:
    """RETURNS (List[str]): The mean difference of pairs of the same seed, and its p-value: the
    outputs of all seeds for a sentence are swapped together."""
    gains = [b["best"]["test"] - a["best"]["test"] for a, b in pairs]
    first, second = (sum(units(run)[:, 1:] for run in side) for side in zip(*pairs, strict=True))
    test = approximate_randomization(np.asarray(first), np.asarray(second), f1)
    p = "–" if test.p_value is None else f"{test.p_value:.3f}".replace("0.000", "< 0.001")
    return [f"{np.mean(gains):+.2f}".replace("-", "\u2212"), p]


def lengths(runs: Sequence[Result]) -> dict[str, float]:
    """RETURNS (Dict[str, float]): The scores by length of the sentence, over all seeds."""
    counts = np.concatenate([units(run) for run in runs])
    buckets = np.array([ByLength().bucket(int(n)) for n in counts[:, 0]])
    return {name: float(f1(counts[buckets == name, 1:].sum(0))) for name in ByLength().names}


def f1(counts: NDArray) -> NDArray[np.float64]:
    """RETURNS (NDArray): F1 from the numbers of units: gold, predicted and correct. Where each
    token is one, this is accuracy."""
    with np.errstate(invalid="ignore"):
        return 2.0 * counts[..., 2] / (counts[..., 0] + counts[..., 1])


def units(run: Result) -> NDArray[np.int64]:
    """RETURNS (NDArray): For each test sentence, the numbers of tokens and of units: gold,
    predicted and correct."""
    packed = zlib.decompress(base64.b64decode(run["best"]["units"]))
    return np.frombuffer(packed, dtype="<u2").reshape(-1, 4).astype(np.int64)


def _percent(score: float) -> str:
    return "–" if np.isnan(score) else f"{100.0 * score:.2f}"


def _draw(title: str, found: dict[str, list[Result]]) -> str:
    """RETURNS (str): An image of the scores of systems by length."""
    middles = dict(zip(ByLength().names, (3, 7, 15, 30, 50), strict=True))
    lines = {
        name: [(middles[b], 100.0 * s) for b, s in lengths(runs).items() if not np.isnan(s)]
        for name, runs in found.items()
    }
    return line_plot(lines, "tokens", "test score", title)


if __name__ == "__main__":
    main()
