"""The page and figures of the recipes' benchmark, from the result files of its cells."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from .recipes_cell import SYSTEMS
from .recipes_figures import NAMES, figures
from .recipes_peers import PEERS
from .recipes_variants import VARIANTS
from .report import page, replace_section, table
from .systems import ROOT

NAME = "recipes"
GUIDE = ROOT / "docs" / "recipes.md"
COMMAND = "python -m benchmarks.recipes --page"
TITLES = {
    "wnut17": "WNUT-17",
    "ncbi": "NCBI disease",
    "conll2000": "CoNLL-2000",
    "ewt": "EWT, XPOS",
    "fr": "French, UPOS",
    "cs": "Czech, XPOS",
}
Result = dict[str, Any]
Key = tuple[str, bool]  # corpus, and whether there are vectors


def read_results(folder: Path) -> list[Result]:
    """RETURNS (List[Result]): The results of this benchmark in a folder, which may have others."""
    results = (json.loads(path.read_text("utf8")) for path in sorted(folder.glob("*.json")))
    return [result for result in results if is_shown(result)]


def is_shown(result: Result) -> bool:
    """RETURNS (bool): Whether a result is of this benchmark, not of `benchmarks.comparisons`."""
    system, _, variant = result["system"].partition("+")
    known = system in SYSTEMS or system in PEERS
    return known and (not variant or variant in VARIANTS) and result["corpus"] in TITLES


def write_page(results: Sequence[Result], folder: Path) -> None:
    """Write recipes.md, and the figures recipes.svg, recipes-time.svg and recipes-updates.svg.

    folder (Path): The folder to write to.
    """
    if not results:
        print(f"{folder} has no results.")
        return
    machines = sorted({result["machine"]["processor"] for result in results})
    intro = (
        f"Each figure is of one training on one thread of {' or '.join(machines)}. 'Test' is the "
        "score of the pipeline that was best on the development set, the mean of the seeds, with "
        "their range in parentheses. Seconds are of processor time, without evaluation, until that "
        "pipeline was there; those of other toolkits are of all of their training. A star marks "
        "trainings that a limit of time ended."
    )
    images = figures(by_corpus(results))
    shown = [f"![{NAMES[ending]}]({NAME}{ending}.svg)" for ending in images]
    body = ["", "\n\n".join(shown), *tables(results), *tried(results)]
    text = page("Recipes from little to much data", NAME, intro, body)
    (folder / f"{NAME}.md").write_text(text, encoding="utf8")
    for ending, image in images.items():
        (folder / f"{NAME}{ending}.svg").write_text(image, encoding="utf8")


def by_corpus(results: Sequence[Result]) -> dict[str, list[Result]]:
    """RETURNS (Dict[str, List[Dict]]): The results but for variants, by the name of the corpus."""
    keys = [(corpus, vectors) for corpus in TITLES for vectors in (True, False)]
    found: dict[str, list[Result]] = {title(key): [] for key in keys}
    for result in results:
        if "+" not in result["system"]:
            found[title((result["corpus"], result["vectors"]))].append(result)
    return {name: group for name, group in found.items() if group}


def write_guide(results: Sequence[Result], guide: Path = GUIDE) -> None:
    """Write the scores in the guide.

    guide (Path): The page with a part for them.
    """
    replace_section(guide, COMMAND, summary(results))


def summary(results: Sequence[Result]) -> list[str]:
    """RETURNS (List[str]): A table of the scores on all corpora."""
    groups = grouped(results)
    sizes = sorted(common_sizes(results))
    rows = [
        [f"{title(key)}, `{name}`", *(describe(runs[n]) if n in runs else "–" for n in sizes)]
        for key, systems in groups.items()
        for name, runs in systems.items()
        if "+" not in name
    ]
    about = "The mean of the seeds, with their range in parentheses where there are several."
    if not all(run["ended"] for run in results):
        about += (
            " A star marks trainings that a limit of time ended, not their own early stopping, so "
            "that more time may bring more."
        )
    return [*table(["test score", *map(size_name, sizes)], rows), "", about, ""]


def grouped(results: Sequence[Result]) -> dict[Key, dict[str, dict[float, list[Result]]]]:
    """RETURNS (Dict): The results by corpus and vectors, system and size."""
    found: dict[Key, dict[str, dict[float, list[Result]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for result in results:
        size = float("inf") if result["size"] is None else result["size"]
        found[result["corpus"], result["vectors"]][result["system"]][size].append(result)
    return found


def common_sizes(results: Sequence[Result]) -> set[float]:
    """RETURNS (Set[float]): The sizes with results of several systems: at others, only variants of
    the recipe were tried."""
    systems: dict[float, set[str]] = defaultdict(set)
    for runs in grouped(results).values():
        for name, sizes in runs.items():
            for size in sizes if "+" not in name else ():
                systems[size].add(name)
    return {size for size, names in systems.items() if len(names) > 1}


def tables(results: Sequence[Result]) -> list[str]:
    """RETURNS (List[str]): A table for each corpus: systems by the number of sentences."""
    lines: list[str] = []
    common = common_sizes(results)
    for key, systems in grouped(results).items():
        shown = {name: runs for name, runs in systems.items() if "+" not in name}
        sizes = sorted({size for runs in shown.values() for size in runs} & common)
        if not sizes:
            continue
        lines += ["", f"## {title(key)}"]
        rows = [
            [name, *(describe(runs[size]) if size in runs else "–" for size in sizes)]
            for name, runs in shown.items()
        ]
        lines += table(["test score", *map(size_name, sizes)], rows)
        rows = [
            [name, *(seconds(runs[size]) if size in runs else "–" for size in sizes)]
            for name, runs in shown.items()
        ]
        lines += table(["updates; seconds", *map(size_name, sizes)], rows)
    return lines


def tried(results: Sequence[Result]) -> list[str]:
    """RETURNS (List[str]): A table of what was tried for the recipe of PSA, for each corpus."""
    lines: list[str] = []
    for key, systems in grouped(results).items():
        found = {
            name.removeprefix("psa+"): runs for name, runs in systems.items() if "psa+" in name
        }
        if not found:
            continue
        sizes = sorted({size for runs in found.values() for size in runs})
        rows = [
            [about, *(scores(runs.get(size, [])) for size in sizes)]
            for about, runs in [
                ("the recipe", systems["psa"]),
                *((about, found.get(name, {})) for name, (about, _) in VARIANTS.items()),
            ]
            if runs
        ]
        lines += ["", f"### {title(key)}"]
        lines += table(["", *map(size_name, sizes)], rows)
    if not lines:
        return []
    about = (
        "One difference each from the recipe, for PSA: development and test score, the mean of so "
        "many seeds."
    )
    return ["", "## What was tried", "", about, *lines]


def title(key: Key) -> str:
    """RETURNS (str): The name of a corpus, and that there are no vectors."""
    corpus, vectors = key
    name = TITLES.get(corpus, corpus)
    return name if vectors else f"{name}, without vectors"


def size_name(size: float) -> str:
    """RETURNS (str): A number of sentences in words."""
    return "all" if size == float("inf") else f"{int(size):,}"


def describe(runs: Sequence[Result]) -> str:
    """RETURNS (str): The mean test score, its range over several seeds, and a star if a limit of
    time ended a training."""
    found = [run["best"]["test"] for run in runs]
    spread = f" ({min(found):.1f}–{max(found):.1f})" if len(found) > 1 else ""
    return f"{mean(found):.2f}{spread}{'' if all(run['ended'] for run in runs) else '*'}"


def seconds(runs: Sequence[Result]) -> str:
    """RETURNS (str): Updates and processor time until the best pipeline, of the first seed."""
    best = runs[0]["best"]
    return f"{best['step']:,}; {best['seconds']:,.0f}"


def scores(runs: Sequence[Result]) -> str:
    """RETURNS (str): The best score on the development set, and the test score: the mean of the
    seeds, and their number."""
    if not runs:
        return "–"
    dev, test = (mean(run["best"][part] for run in runs) for part in ("dev", "test"))
    return f"{dev:.2f}, {test:.2f} ({len(runs)})"
