"""The tables of the papers: what each reports of which system, and what that is in a config.

The figures are copied by hand from the papers, and stand in `papers.json`. Rows of systems that
are cited only, or need contextual embeddings or other corpora, are left out.

Most tables compare systems, which `psa reproduce` trains and scores. What another command tells of
trained pipelines is a listing, and scores by the length of sentences are a figure of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("papers.json")

TARGETS: dict[str, tuple[str, ...]] = {
    "chunk": ("spans",),
    "ner": ("ents",),
    "pos": ("tag", "pos"),
    "srl": ("frames",),
}
"""What the component of a task predicts: the first one if nothing is said."""

METRICS = {"spans": "f1", "ents": "f1", "frames": "f1", "tag": "accuracy", "pos": "accuracy"}
"""The score that papers report of it."""

METRIC_NAMES = {
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "accuracy": "accuracy",
    "parameters": "million parameters",
    "seconds": "s an epoch",
}
"""What is told of a system, and how it is called."""

THEIRS = {"seconds"}
"""What only the papers tell: seconds of one machine say nothing of another one. Our benchmarks have
ratios."""

COMPLETE = "complete"
"""What the accuracy of frames is called: that of whole propositions."""


@dataclass(frozen=True)
class Variant:
    """A system of which something is changed, as in an ablation.

    name (str): Its name.
    system (str): The system: a template of `psa init-config`.
    what (str): What differs.
    settings (Dict[str, Any]): The settings that are replaced, by their names in the config.
    """

    name: str
    system: str
    what: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class PaperCorpus:
    """A corpus of the tables.

    name (str): What it is called.
    data (str): Where its workflow puts train.spacy, dev.spacy and test.spacy.
    lang (str): The code of its language.
    """

    name: str
    data: str
    lang: str = "en"


@dataclass(frozen=True)
class Row:
    """A row of a table, and its figure, in percent, with the decimals that the paper prints.

    It is that of `METRICS`; those of other metrics are in `others`.

    label (str): What the paper calls it.
    system (str): The system, or the variant of one.
    corpus (str): The name of the corpus.
    target (str): What is predicted.
    part (str): Of which part of the corpus the scores are: "dev", "test", "brown" or, for both
        test sets together, "combined".
    value (Optional[Decimal]): A figure of one run, or of which nothing is said.
    mean (Optional[Decimal]): The mean over several runs, in place of `value`.
    std (Optional[Decimal]): Their standard deviation.
    max (Optional[Decimal]): The best of them.
    others (Dict[str, Decimal]): What else the paper tells of it, by keys of `METRIC_NAMES`.
    """

    label: str
    system: str
    corpus: str
    target: str
    part: str
    value: Decimal | None = None
    mean: Decimal | None = None
    std: Decimal | None = None
    max: Decimal | None = None
    others: Mapping[str, Decimal] = field(default_factory=dict)

    @property
    def figure(self) -> Decimal | None:
        """RETURNS (Optional[Decimal]): The figure that means are compared with; None if the paper
        has it in a plot alone.
        """
        return self.value if self.mean is None else self.mean


@dataclass(frozen=True)
class Place:
    """Where something stands in a paper.

    paper (str): The paper: a key of `Papers.titles`.
    number (str): The number of the table, as it is printed; "Fig. 5" of a figure.
    caption (str): What it is about.
    """

    paper: str
    number: str
    caption: str

    @property
    def name(self) -> str:
        """RETURNS (str): What the paper calls it."""
        return self.number if self.number.startswith("Fig.") else f"Table {self.number}"


@dataclass(frozen=True)
class PaperTable(Place):
    """A table that compares systems.

    task (str): The task.
    rows (List[Row]): Its rows.
    metrics (Sequence[str]): What it tells of each, as the paper orders it: keys of `METRIC_NAMES`.
    ablation (bool): Whether it compares variants of a system, which makes sense on any corpus.
    """

    task: str
    rows: list[Row]
    metrics: Sequence[str]
    ablation: bool = False

    @property
    def our_metrics(self) -> list[str]:
        """RETURNS (List[str]): Those of the metrics that are told of our systems."""
        return [metric for metric in self.metrics if metric not in THEIRS]

    def names(self, metrics: Sequence[str]) -> list[str]:
        """RETURNS (List[str]): What metrics are called."""
        names = {**METRIC_NAMES, "accuracy": COMPLETE} if self.task == "srl" else METRIC_NAMES
        return [names[metric] for metric in metrics]


@dataclass(frozen=True)
class ListingRow:
    """A row of a listing.

    label (str): What the paper calls it.
    corpus (str): The name of the corpus.
    cells (List[str]): The figures, as they are printed.
    """

    label: str
    corpus: str
    cells: list[str]


@dataclass(frozen=True)
class Listing(Place):
    """A table of what other commands tell of pipelines that are trained.

    columns (List[str]): What the figures are.
    rows (List[ListingRow]): Its rows.
    commands (List[str]): The commands that tell ours.
    """

    columns: list[str]
    rows: list[ListingRow]
    commands: list[str]


@dataclass(frozen=True)
class LengthRow:
    """A system whose scores are told by the length of sentences; the paper shows a plot.

    system (str): The system.
    corpus (str): The name of the corpus.
    task (str): The task.
    """

    system: str
    corpus: str
    task: str


@dataclass(frozen=True)
class LengthFigure(Place):
    """A figure of scores by the length of sentences.

    rows (List[LengthRow]): The systems on the corpora.
    """

    rows: list[LengthRow]


@dataclass(frozen=True)
class Papers:
    """What is known of the papers.

    titles (Dict[str, str]): Authors and titles.
    corpora (Dict[str, PaperCorpus]): The corpora.
    variants (Dict[str, Variant]): The variants of systems.
    contents (List[Place]): Tables, listings and figures, in order.
    """

    titles: dict[str, str]
    corpora: dict[str, PaperCorpus]
    variants: dict[str, Variant] = field(default_factory=dict)
    contents: list[Place] = field(default_factory=list)

    @property
    def tables(self) -> list[PaperTable]:
        """RETURNS (List[PaperTable]): The tables that compare systems."""
        return [place for place in self.contents if isinstance(place, PaperTable)]


@lru_cache(maxsize=1)
def read_papers() -> Papers:
    """RETURNS (Papers): What stands in `papers.json`."""
    text = PATH.read_text(encoding="utf8")
    data = json.loads(text)
    contents = json.loads(text, parse_float=Decimal)["tables"]
    return Papers(
        titles=data["papers"],
        corpora={name: PaperCorpus(**entry) for name, entry in data["corpora"].items()},
        variants={name: Variant(name, **entry) for name, entry in data["variants"].items()},
        contents=[KINDS[entry.get("kind", "table")](entry) for entry in contents],
    )


def _table(entry: dict[str, Any]) -> PaperTable:
    """A table; what most of its rows have in common is said once."""
    task = entry["task"]
    target = entry.get("target", TARGETS[task][0])
    common = {"corpus": entry["corpus"], "target": target, "part": entry.get("part", "test")}
    return PaperTable(
        **_place(entry),
        task=task,
        rows=[Row(**{**common, **row}) for row in entry["rows"]],
        metrics=entry.get("metrics", [METRICS[target]]),
        ablation=entry.get("ablation", False),
    )


def _listing(entry: dict[str, Any]) -> Listing:
    common = {"corpus": entry["corpus"]}
    rows = [ListingRow(**{**common, **row}) for row in entry["rows"]]
    return Listing(**_place(entry), columns=entry["columns"], rows=rows, commands=entry["commands"])


def _length_figure(entry: dict[str, Any]) -> LengthFigure:
    return LengthFigure(**_place(entry), rows=[LengthRow(**row) for row in entry["rows"]])


def _place(entry: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry[name] for name in ("paper", "number", "caption")}


KINDS: dict[str, Callable[[dict[str, Any]], Place]] = {
    "table": _table,
    "listing": _listing,
    "lengths": _length_figure,
}
"""How to read an entry of `papers.json`."""
