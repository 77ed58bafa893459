"""Write the table of accuracy and speed in `README.md` from the benchmark results.

python -m benchmarks.readme_table
"""

import argparse
import json
from pathlib import Path
from typing import Any

from .recipes_page import TITLES, Result, describe
from .recipes_peers import PEERS
from .report import table, with_section
from .systems import RESULTS, ROOT

PAGE = ROOT / "README.md"
COMMAND = "python -m benchmarks.readme_table"
# Titles, and the names in the results of recipes and of components
SYSTEMS = (
    ("`psa`", "psa", "psa"),
    ("`bilstm-crf`", "bilstm-crf", "bilstm-crf"),
    ("spaCy's `ner`", "spacy", "ner"),
    ("stanza", "stanza", "stanza"),
    ("flair", "flair", "flair"),
)
CORPORA = ("wnut17", "ncbi")
SPEEDS = {
    "training, 32": "training speed",
    "tagging, pipe": "tagging speed",
    "tagging, one by one": "one by one",
}
PEER = "ner"


def main() -> None:
    """Write the table, or with `--check` say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if it is not up to date")
    arguments = parser.parse_args()
    old = PAGE.read_text(encoding="utf8")
    new = with_section(old, PAGE.name, COMMAND, [*make_table(RESULTS), ""])
    if not arguments.check:
        PAGE.write_text(new, encoding="utf8")
    elif new != old:
        raise SystemExit(f"{PAGE.name} is not up to date: run {COMMAND}")


def make_table(results: Path) -> list[str]:
    """Make the table, and say how its figures were measured.

    results (Path): The folder with the results.
    RETURNS (List[str]): Lines of Markdown.
    """
    cells = trainings(results / "recipes")
    speeds = json.loads((results / "components.json").read_text(encoding="utf8"))
    relative = speeds["relative to"][PEER]
    rows = [
        [
            title,
            *(score(cells.get((corpus, trained), [])) for corpus in CORPORA),
            *(f"{relative[figure][timed]:.2f}" for figure in SPEEDS),
        ]
        for title, trained, timed in SYSTEMS
    ]
    header = ["", *(f"{TITLES[name]}, test F1" for name in CORPORA), *SPEEDS.values()]
    runs = [run for found in cells.values() for run in found]
    return [*table(header, rows), "", f"{about_accuracy(runs)} {about_speed(speeds)}"]


def trainings(folder: Path) -> dict[tuple[str, str], list[Result]]:
    """RETURNS (Dict): The trainings on whole corpora with vectors, by corpus and system."""
    found: dict[tuple[str, str], list[Result]] = {}
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf8"))
        known = result["system"] in {trained for _, trained, _ in SYSTEMS}
        if known and result["corpus"] in CORPORA and result["vectors"] and result["size"] is None:
            found.setdefault((result["corpus"], result["system"]), []).append(result)
    return found


def score(runs: list[Result]) -> str:
    """RETURNS (str): The mean test score, with a star if a limit of time ended a training."""
    return describe(runs) if runs else "–"


def about_accuracy(runs: list[Result]) -> str:
    """RETURNS (str): A sentence or two on how the scores were measured."""
    n = len({run["seed"] for run in runs})
    seeds = f"the mean of up to {n} seeds, with their range" if n > 1 else "1 seed"
    places = " or ".join(sorted({run["machine"]["processor"].split(" (")[0] for run in runs}))
    text = (
        f"[Accuracy](benchmarks/results/recipes/recipes.md): {seeds}, the same pretrained vectors "
        "for all, the pipeline that was best on the development set, one thread of "
        f"{places}. "
    )
    if not all(run["ended"] for run in runs):
        text += "\\*: ended by a limit of time, not by itself, so it may be too low. "
    return text + about_toolkits([run for run in runs if run["system"] in PEERS])


def about_toolkits(runs: list[Result]) -> str:
    """RETURNS (str): A sentence on what other toolkits were trained with."""
    trained = [name for name in PEERS if name in {run["system"] for run in runs}]
    timed = [name for name in PEERS if name not in trained]
    parts = [f"{' and '.join(timed)}: only timed."] if timed else []
    if trained:
        text = f"{' and '.join(trained)}: the toolkit's own training, without language models"
        for run in runs:
            if not run["ended"]:
                minutes = f"{run['best']['seconds'] / 60:.0f} minutes"
                text += f"; {run['system']} was stopped after {minutes}"
        parts.append(f"{text}.")
    return " ".join(parts)


def about_speed(speeds: dict[str, Any]) -> str:
    """RETURNS (str): A sentence or two on how the speeds were measured."""
    machine = speeds["machine"]
    return (
        "[Speed](benchmarks/results/components.md): sentences per second relative to spaCy's "
        f"`{PEER}`, in training (batches of 32), in tagging with `nlp.pipe`, and one by one. "
        f"`{PEER}` has the network of `add_pipe` here; its accuracy in the table is that of "
        "`--optimize accuracy`, a larger and slower one. "
        f"BiLSTMs of {speeds['hidden']} units (twice the recipe's) on CoNLL-2000 chunks; "
        f"{machine['processor']}, {machine['threads']} threads, PyTorch {machine['torch']}, spaCy "
        f"{machine['spacy']}, stanza {machine['stanza']}, flair {machine['flair']}, commit "
        f"{speeds['commit']}, {speeds['date']}."
    )


if __name__ == "__main__":
    main()
