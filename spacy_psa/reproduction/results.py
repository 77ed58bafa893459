"""What `psa reproduce` writes: a result for each system and seed, and what follows from several."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import Errors
from .papers import METRICS

FORMAT = 1
SCORES = ("precision", "recall", "f1", "accuracy")
# What the fields of a result are in JSON
KINDS: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "dict": dict}


@dataclass(frozen=True)
class Training:
    """In what trainings of the same system differ, beside the seed.

    max_epochs (int): The epochs of the config; 0 for any number.
    vectors (str): The pretrained vectors, in words; empty for none.
    options (str): The settings that were given for all systems; empty for none.
    """

    max_epochs: int
    vectors: str
    options: str

    def __str__(self) -> str:
        epochs = f"{self.max_epochs} epochs" if self.max_epochs > 0 else "no limit of epochs"
        vectors = f"vectors {self.vectors}" if self.vectors else "no pretrained vectors"
        options = f", `{self.options}`" if self.options else ""
        return f"{epochs}, {vectors}{options}"


@dataclass(frozen=True)
class Result:
    """The result of one training.

    corpus (str): The name of the corpus.
    task (str): The task.
    target (str): What was predicted.
    system (str): The system.
    seed (int): The seed.
    config (str): The SHA-256 of config and training data, by which a run is known.
    data (Dict[str, str]): The SHA-256 of train.spacy, dev.spacy and test.spacy, and of brown.spacy
        if there is one.
    max_epochs (int): The epochs of the config; 0 for any number.
    vectors (str): The pretrained vectors, in words; empty for none.
    options (str): The settings that were given for all systems; empty for none.
    epochs (float): The epochs that were trained.
    best_epoch (float): The epochs after which the pipeline was best, which is the one scored.
    dev (Dict[str, float]): Precision, recall, F1 and accuracy on the development set, 0 to 1.
    test (Dict[str, float]): The same on the test set.
    parameters (Dict[str, int]): How many there are: "all" and "without words".
    seconds (float): How long it was trained.
    device (str): On what: "cpu" or "gpu".
    versions (Dict[str, str]): Those of Python and of the packages that matter, in training.
    brown (Optional[Dict[str, float]]): The scores on the second test set of CoNLL-2005; None
        without it.
    combined (Optional[Dict[str, float]]): Those on both test sets together; None without it.
    lengths (Optional[Dict[str, Dict[str, float]]]): Those on the sentences of the test set by
        their length; None of roles, of documents that have several sentences, and of results from
        before there was such a thing.
    """

    corpus: str
    task: str
    target: str
    system: str
    seed: int
    config: str
    data: dict[str, str]
    max_epochs: int
    vectors: str
    options: str
    epochs: float
    best_epoch: float
    dev: dict[str, float]
    test: dict[str, float]
    parameters: dict[str, int]
    seconds: float
    device: str
    versions: dict[str, str]
    brown: dict[str, float] | None = None
    combined: dict[str, float] | None = None
    lengths: dict[str, dict[str, float]] | None = None

    @property
    def place(self) -> tuple[str, str, str, str, int]:
        """RETURNS (Tuple): Where it belongs: a file has one result for each."""
        return self.corpus, self.task, self.target, self.system, self.seed

    @property
    def training(self) -> Training:
        """RETURNS (Training): What it has in common with the other seeds."""
        return Training(self.max_epochs, self.vectors, self.options)

    def has(self, part: str) -> bool:
        """RETURNS (bool): Whether there are scores on a part of the corpus."""
        return getattr(self, part) is not None

    def score(self, part: str, metric: str | None = None) -> float:
        """A score, or another figure that papers report.

        part (str): "dev", "test" or, if they are there, "brown" and "combined".
        metric (Optional[str]): "precision", "recall", "f1" or "accuracy", in percent, or
            "parameters", in millions. None for the score that papers report of the target.
        RETURNS (float): The figure.
        """
        if metric == "parameters":
            return self.parameters["all"] / 1e6
        return 100.0 * getattr(self, part)[metric or METRICS[self.target]]


@dataclass(frozen=True)
class Summary:
    """Scores over seeds, in percent.

    mean (float): Their mean.
    std (Optional[float]): Their standard deviation (n - 1); None for a single one.
    max (float): The best one.
    n (int): How many there are.
    """

    mean: float
    std: float | None
    max: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.2f}" if self.std is None else f"{self.mean:.2f} ± {self.std:.2f}"


def summarize(scores: Iterable[float]) -> Summary:
    """Sum scores up.

    scores (Iterable[float]): One or more scores.
    RETURNS (Summary): Mean, standard deviation, best one and number.
    """
    values = list(scores)
    std = statistics.stdev(values) if len(values) > 1 else None
    return Summary(statistics.fmean(values), std, max(values), len(values))


def read_results(path: Path) -> list[Result]:
    """Read a file of results.

    path (Path): The JSON file.
    RETURNS (List[Result]): The results.
    RAISES (ValueError): If there is no such file, or if it is none of results.
    """
    if not path.is_file():
        raise ValueError(Errors.P109.format(path=path))
    try:
        data = json.loads(path.read_text(encoding="utf8"))
    except ValueError as error:
        raise ValueError(Errors.P396.format(path=path, problem=error)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        problem = f"it is not in format {FORMAT}"
        raise ValueError(Errors.P396.format(path=path, problem=problem))
    entries = data.get("results", [])
    if not isinstance(entries, list):
        raise ValueError(Errors.P396.format(path=path, problem="its results are no list"))
    for i, entry in enumerate(entries, 1):
        wrong = _problem(entry)
        if wrong is not None:
            raise ValueError(Errors.P396.format(path=path, problem=f"its result {i} {wrong}"))
    return [Result(**entry) for entry in entries]


def _problem(entry: Any) -> str | None:
    """Say what is wrong with an entry of a file, if anything is."""
    if not isinstance(entry, dict):
        return "is no object"
    optional = {field.name for field in fields(Result) if field.default is not MISSING}
    different = ({field.name for field in fields(Result)} ^ set(entry)) - optional
    if different:
        return f"lacks or should not have '{min(different)}'"
    for field in fields(Result):
        value = entry.get(field.name)
        is_none = value is None and field.name in optional
        if not (is_none or isinstance(value, KINDS[str(field.type).partition("[")[0]])):
            return f"has something else than {field.type} in '{field.name}'"
    if entry["target"] not in METRICS:
        return f"has the unknown target '{entry['target']}'"
    buckets = entry.get("lengths") or {}
    parts = {name: entry.get(name) for name in ("dev", "test", "brown", "combined")}
    for name, scores in (*parts.items(), *buckets.items()):
        if scores is not None and not _has_numbers(scores, SCORES):
            return f"lacks a score in '{name}': it needs {', '.join(SCORES)}"
    if not _has_numbers(entry["parameters"], ("all",)):
        return "lacks the number of 'all' parameters"
    return None


def _has_numbers(figures: Any, names: Sequence[str]) -> bool:
    """RETURNS (bool): Whether all of the names have numbers."""
    return isinstance(figures, dict) and all(
        isinstance(figures.get(name), int | float) for name in names
    )


def to_json(results: Sequence[Result]) -> str:
    """RETURNS (str): The text of a file of results."""
    data: dict[str, Any] = {"format": FORMAT, "results": [asdict(result) for result in results]}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def put(results: Sequence[Result], new: Result) -> list[Result]:
    """Add a result, in place of the one that had its place.

    results (Sequence[Result]): The results so far.
    new (Result): The new one.
    RETURNS (List[Result]): All of them.
    """
    kept = {result.place: result for result in results}
    kept[new.place] = new
    return list(kept.values())


def by_training(results: Iterable[Result]) -> dict[Training, list[Result]]:
    """Group results that differ in the seed alone.

    results (Iterable[Result]): Results of one system on one corpus.
    RETURNS (Dict[Training, List[Result]]): By how they were trained.
    """
    groups: dict[Training, list[Result]] = {}
    for result in results:
        groups.setdefault(result.training, []).append(result)
    return groups
