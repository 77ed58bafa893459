"""The pages of `python -m benchmarks.transformers`: all of its results, and a table in the guide.

python -m benchmarks.transformers_page
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from .cells import grouped
from .comparisons import gain_of
from .recipes_page import TITLES
from .report import replace_section, table
from .systems import ROOT

RESULTS = Path(__file__).parent / "results" / "transformers"
GUIDE = ROOT / "docs" / "transformers.md"
COMMAND = "python -m benchmarks.transformers_page"
FIELDS = ("corpus", "limit", "updates", "precision", "system", "rate", "factor")
# What the guide compares: sentences, updates, precision, and rates
COMPARED = (0, 600, "bf16", 1e-3, 0.05)
SYSTEMS = {"psa": "PSA", "bilstm-crf": "BiLSTM-CRF", "crf": "CRF alone", "spacy": "spaCy"}


def write_page(folder: Path) -> None:
    """Write the table of all results in a folder."""
    rows = grouped(folder.glob("*.json"), FIELDS)
    lines = [
        "# On a pretrained transformer",
        "",
        "Written by `python -m benchmarks.transformers`. Scores in %, F1 or, for `ewt`, accuracy: "
        "of the development set and of the test set, with the deviation over seeds. All systems "
        "have the same transformer, updates and batches. The precision is that of the transformer "
        "in training.",
        "",
        "| corpus | sentences | updates | precision | system | rate | transformer's | seeds | dev "
        "| test | words/s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (corpus, limit, updates, precision, system, rate, factor), found in rows.items():
        dev, test = (spread([result[part] for result in found]) for part in ("dev", "test"))
        speed = mean(result["words_per_second"] for result in found)
        lines.append(
            f"| {corpus} | {limit or 'all'} | {updates:,} | {precision or 'fp32'} | {system} "
            f"| {rate:g} | {rate * factor:g} | {len(found)} | {dev} | {test} | {speed:,.0f} |"
        )
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf8")


def spread(values: list[float]) -> str:
    """RETURNS (str): Mean and deviation."""
    deviation = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    return f"{mean(values):.2f}{deviation}"


def write_guide(folder: Path = RESULTS, guide: Path = GUIDE) -> None:
    """Write the test scores of one training in the guide.

    folder (Path): The folder with the results.
    guide (Path): The page with a part for them.
    """
    replace_section(guide, COMMAND, [*summary(folder), ""])


def summary(folder: Path) -> list[str]:
    """RETURNS (List[str]): A table of the test scores of systems by corpus, and one of their
    differences."""
    cells: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for (corpus, limit, updates, precision, system, *rates), found in grouped(
        folder.glob("*.json"), FIELDS
    ).items():
        if (limit, updates, precision, *rates) == COMPARED:
            cells.setdefault(corpus, {})[system] = found
    trained = {system for systems in cells.values() for system in systems}
    shown = [system for system in SYSTEMS if system in trained]
    corpora = [corpus for corpus in TITLES if corpus in cells]
    scores = [
        [TITLES[corpus], *(describe(cells[corpus].get(system, [])) for system in shown)]
        for corpus in corpora
    ]
    pairs = list(combinations(shown, 2))
    gains = [[TITLES[name], *(compare(cells[name], *pair) for pair in pairs)] for name in corpora]
    titles = [f"{SYSTEMS[first]} − {SYSTEMS[second]}" for first, second in pairs]
    return [
        *table(["test score", *(SYSTEMS[system] for system in shown)], scores),
        *table(["difference", *titles], gains),
    ]


def compare(found: dict[str, list[dict[str, Any]]], first: str, second: str) -> str:
    """RETURNS (str): By how much a system is better than another one with the same seeds whose
    predictions are known, with the p-value of a randomization test."""
    pairs = [
        ({"best": b}, {"best": a})
        for a in found.get(first, [])
        for b in found.get(second, [])
        if a["seed"] == b["seed"] and "units" in a and "units" in b
    ]
    if not pairs:
        return "–"
    gain, p = gain_of(pairs)
    seeds = f"{len(pairs)} seeds, " if len(pairs) > 1 else ""
    return f"{gain} ({seeds}p {p if p.startswith('<') else f'= {p}'})"


def describe(found: Sequence[dict[str, Any]]) -> str:
    """RETURNS (str): The mean test score, its deviation, and the number of seeds."""
    if not found:
        return "–"
    seeds = f" ({len(found)} seeds)" if len(found) > 1 else ""
    return spread([result["test"] for result in found]) + seeds


if __name__ == "__main__":
    write_page(RESULTS)
    write_guide()
