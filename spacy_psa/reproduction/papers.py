"""The tables of the papers: what each reports of which system, and what that is in a config.

The figures are copied by hand from the papers, and stand in `papers.json`. Rows of systems that
are cited only, or need contextual embeddings or other corpora, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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

    label (str): What the paper calls it.
    system (str): The system, or the variant of one.
    corpus (str): The name of the corpus.
    target (str): What is predicted.
    part (str): Of which part of the corpus the scores are: "dev", "test" or "brown".
    value (Optional[Decimal]): A figure of one run, or of which nothing is said.
    mean (Optional[Decimal]): The mean over several runs, in place of `value`.
    std (Optional[Decimal]): Their standard deviation.
    max (Optional[Decimal]): The best of them.
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

    @property
    def figure(self) -> Decimal | None:
        """RETURNS (Optional[Decimal]): The figure that means are compared with; None if the paper
        has it in a plot alone.
        """
        return self.value if self.mean is None else self.mean


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper.

    paper (str): The paper: a key of `Papers.titles`.
    number (str): The number of the table, as it is printed; "Fig. 5" of a figure.
    caption (str): What it is about.
    task (str): The task.
    rows (List[Row]): Its rows.
    ablation (bool): Whether it compares variants of a system, which makes sense on any corpus.
    """

    paper: str
    number: str
    caption: str
    task: str
    rows: list[Row]
    ablation: bool = False

    @property
    def name(self) -> str:
        """RETURNS (str): What the paper calls it."""
        return self.number if self.number.startswith("Fig.") else f"Table {self.number}"


@dataclass(frozen=True)
class Papers:
    """What is known of the papers.

    titles (Dict[str, str]): Authors and titles.
    corpora (Dict[str, PaperCorpus]): The corpora.
    variants (Dict[str, Variant]): The variants of systems.
    tables (List[PaperTable]): The tables.
    """

    titles: dict[str, str]
    corpora: dict[str, PaperCorpus]
    variants: dict[str, Variant] = field(default_factory=dict)
    tables: list[PaperTable] = field(default_factory=list)


@lru_cache(maxsize=1)
def read_papers() -> Papers:
    """RETURNS (Papers): What stands in `papers.json`."""
    text = PATH.read_text(encoding="utf8")
    data = json.loads(text)
    tables = json.loads(text, parse_float=Decimal)["tables"]
    return Papers(
        titles=data["papers"],
        corpora={name: PaperCorpus(**entry) for name, entry in data["corpora"].items()},
        variants={name: Variant(name, **entry) for name, entry in data["variants"].items()},
        tables=[_table(entry) for entry in tables],
    )


def _table(entry: dict[str, Any]) -> PaperTable:
    """A table; what most of its rows have in common is said once."""
    task = entry["task"]
    common = {
        "corpus": entry["corpus"],
        "target": entry.get("target", TARGETS[task][0]),
        "part": entry.get("part", "test"),
    }
    return PaperTable(
        paper=entry["paper"],
        number=entry["number"],
        caption=entry["caption"],
        task=task,
        rows=[Row(**{**common, **row}) for row in entry["rows"]],
        ablation=entry.get("ablation", False),
    )
