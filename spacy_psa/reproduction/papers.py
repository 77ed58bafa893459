"""The tables of the papers: the reported figures, and the systems and settings they correspond to.

The figures in `papers.json` were copied by hand from the papers, and so was how each trains: seeds,
vectors, and options where a corpus has other settings than the config. Rows are omitted if the
system is only cited; `missing` says what no command reproduces.

Most tables compare systems, which `psa reproduce` trains and scores. Tables of figures that other
commands report for trained pipelines are listings; scores by sentence length are a length figure.
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

METRICS = {"spans": "f1", "ents": "f1", "roles": "f1", "tag": "accuracy", "pos": "accuracy"}
"""The score that papers report for each target."""

METRIC_NAMES = {
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "accuracy": "accuracy",
    "parameters": "million parameters",
    "seconds": "s per epoch",
}
"""The figures reported for a system, and their names in tables."""

PAPER_ONLY_METRICS = {"seconds"}
"""The metrics reported only for the papers: seconds on different machines are not comparable. Our
benchmarks report ratios."""

COMPLETE_PROPOSITIONS = "complete"
"""The name of the accuracy of frames, which is that of complete propositions."""


@dataclass(frozen=True)
class Variant:
    """A modified system, as in an ablation.

    name (str): The name of the variant.
    system (str): The original system, a template of `psa init-config`.
    what (str): A description of the difference.
    settings (Dict[str, Any]): The settings to override, by their names in the config.
    features (Dict[str, str]): The transformer whose last layers stand beside words and characters,
        by language; empty for none.
    """

    name: str
    system: str
    what: str
    settings: Mapping[str, Any]
    features: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper, and how it trains its systems, apart from what their configs say.

    title (str): Authors and title.
    seeds (int): How often it trains each system.
    vectors (Dict[str, str]): The folder of pretrained vectors by corpus, or else by language.
    options (Dict[str, str]): Settings for `psa reproduce` by corpus, or else by language.
    """

    title: str
    seeds: int
    vectors: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Missing:
    """What no command reproduces.

    paper (str): The paper, as a key of `Papers.papers`.
    what (str): Tables and rows.
    why (str): The reason, or what comes closest.
    """

    paper: str
    what: str
    why: str


@dataclass(frozen=True)
class PaperCorpus:
    """A corpus of the tables.

    name (str): The display name.
    data (str): The folder to which its workflow writes train.spacy, dev.spacy and test.spacy.
    lang (str): The language code.
    """

    name: str
    data: str
    lang: str = "en"


@dataclass(frozen=True)
class Row:
    """A row of a table with the main score as in `METRICS`, in percent, with the decimals that the
    paper prints. Other metrics are in `others`.

    label (str): The name of the row in the paper.
    system (str): The system or variant.
    corpus (str): The name of the corpus.
    target (str): The target.
    part (str): The part of the corpus that is scored: "dev", "test", "brown" or, for both test
        sets together, "combined".
    value (Optional[Decimal]): The score of a single run, or if the paper does not say of how many.
    mean (Optional[Decimal]): The mean over several runs, instead of `value`.
    std (Optional[Decimal]): The standard deviation over these runs.
    max (Optional[Decimal]): The best of these runs.
    others (Dict[str, Decimal]): Other figures that the paper reports, by keys of `METRIC_NAMES`.
    options (Optional[str]): Settings for `psa reproduce` instead of those that the paper has for
        the corpus; None for these.
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
    options: str | None = None

    @property
    def figure(self) -> Decimal | None:
        """The score to compare our means with; None if the paper only shows it in a plot."""
        return self.value if self.mean is None else self.mean


@dataclass(frozen=True)
class PaperItem:
    """A table or figure of a paper.

    paper (str): The paper, as a key of `Papers.papers`.
    number (str): The number of the table as printed; for a figure, e.g. "Fig. 5".
    caption (str): The caption.
    """

    paper: str
    number: str
    caption: str

    @property
    def name(self) -> str:
        """The name in the paper."""
        return self.number if self.number.startswith("Fig.") else f"Table {self.number}"


@dataclass(frozen=True)
class PaperTable(PaperItem):
    """A table that compares systems.

    target (str): The target of most rows.
    rows (List[Row]): The rows.
    metrics (Sequence[str]): The metrics in the paper's order, as keys of `METRIC_NAMES`.
    ablation (bool): Whether the table compares variants of a system, which makes sense on any
        corpus.
    seeds (Optional[int]): How often each system is trained; None as in the paper's other tables.
    """

    target: str
    rows: list[Row]
    metrics: Sequence[str]
    ablation: bool = False
    seeds: int | None = None

    @property
    def our_metrics(self) -> list[str]:
        """The metrics that are reported for our systems."""
        return [metric for metric in self.metrics if metric not in PAPER_ONLY_METRICS]

    def names(self, metrics: Sequence[str]) -> list[str]:
        """The names of metrics."""
        names = (
            {**METRIC_NAMES, "accuracy": COMPLETE_PROPOSITIONS}
            if self.target == "roles"
            else METRIC_NAMES
        )
        return [names[metric] for metric in metrics]


@dataclass(frozen=True)
class ListingRow:
    """A row of a listing.

    label (str): The name of the row in the paper.
    corpus (str): The name of the corpus.
    cells (List[str]): The figures as printed.
    """

    label: str
    corpus: str
    cells: list[str]


@dataclass(frozen=True)
class Listing(PaperItem):
    """A table of figures that commands other than `psa reproduce` report for trained pipelines.

    columns (List[str]): The names of the figures.
    rows (List[ListingRow]): The rows.
    commands (List[str]): The commands that report our figures.
    """

    columns: list[str]
    rows: list[ListingRow]
    commands: list[str]


@dataclass(frozen=True)
class LengthRow:
    """A system whose scores are reported by sentence length. The paper shows a plot.

    system (str): The system.
    corpus (str): The name of the corpus.
    target (str): The target.
    """

    system: str
    corpus: str
    target: str


@dataclass(frozen=True)
class LengthFigure(PaperItem):
    """A figure of scores by sentence length.

    rows (List[LengthRow]): The systems on the corpora.
    """

    rows: list[LengthRow]


@dataclass(frozen=True)
class Papers:
    """The data of the papers.

    papers (Dict[str, Paper]): The papers.
    corpora (Dict[str, PaperCorpus]): The corpora.
    variants (Dict[str, Variant]): The variants of systems.
    contents (List[PaperItem]): Tables, listings and figures, in order.
    missing (List[Missing]): What no command reproduces.
    """

    papers: dict[str, Paper]
    corpora: dict[str, PaperCorpus]
    variants: dict[str, Variant] = field(default_factory=dict)
    contents: list[PaperItem] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    @property
    def tables(self) -> list[PaperTable]:
        """The tables that compare systems."""
        return [place for place in self.contents if isinstance(place, PaperTable)]


@lru_cache(maxsize=1)
def read_papers() -> Papers:
    """The contents of `papers.json`."""
    text = PATH.read_text(encoding="utf8")
    data = json.loads(text)
    contents = json.loads(text, parse_float=Decimal)["tables"]
    return Papers(
        papers={name: Paper(**entry) for name, entry in data["papers"].items()},
        corpora={name: PaperCorpus(**entry) for name, entry in data["corpora"].items()},
        variants={name: Variant(name, **entry) for name, entry in data["variants"].items()},
        contents=[KINDS[entry.get("kind", "table")](entry) for entry in contents],
        missing=[Missing(**entry) for entry in data["missing"]],
    )


def _table(entry: dict[str, Any]) -> PaperTable:
    """Read a table. Its entry holds the default values of its rows."""
    target = entry["target"]
    common = {"corpus": entry["corpus"], "target": target, "part": entry.get("part", "test")}
    return PaperTable(
        **_place(entry),
        target=target,
        rows=[Row(**{**common, **row}) for row in entry["rows"]],
        metrics=entry.get("metrics", [METRICS[target]]),
        ablation=entry.get("ablation", False),
        seeds=entry.get("seeds"),
    )


def _listing(entry: dict[str, Any]) -> Listing:
    common = {"corpus": entry["corpus"]}
    rows = [ListingRow(**{**common, **row}) for row in entry["rows"]]
    return Listing(**_place(entry), columns=entry["columns"], rows=rows, commands=entry["commands"])


def _length_figure(entry: dict[str, Any]) -> LengthFigure:
    return LengthFigure(**_place(entry), rows=[LengthRow(**row) for row in entry["rows"]])


def _place(entry: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry[name] for name in ("paper", "number", "caption")}


KINDS: dict[str, Callable[[dict[str, Any]], PaperItem]] = {
    "table": _table,
    "listing": _listing,
    "lengths": _length_figure,
}
"""How to read an entry of `papers.json`."""
