"""The results that `psa reproduce` writes for each system and seed, and summaries over seeds."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import Errors
from .papers import METRICS

FORMAT = 1
SCORES = ("precision", "recall", "f1", "accuracy")
# The JSON types of the fields of a result
KINDS: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "dict": dict}


@dataclass(frozen=True)
class TrainingSettings:
    """The training settings, other than the seed, in which results of the same system may differ.

    max_epochs (int): The number of epochs in the config; 0 for no limit.
    vectors (str): A description of the pretrained vectors; empty for none.
    options (str): The settings given for all systems; empty for none.
    """

    max_epochs: int
    vectors: str
    options: str

    def __str__(self) -> str:
        plural = "s" * (self.max_epochs != 1)
        limited = self.max_epochs > 0
        epochs = f"{self.max_epochs} epoch{plural}" if limited else "no limit of epochs"
        vectors = f"vectors {self.vectors}" if self.vectors else "no pretrained vectors"
        options = f", `{self.options}`" if self.options else ""
        return f"{epochs}, {vectors}{options}"


@dataclass(frozen=True)
class Result:
    """The result of one training.

    corpus (str): The name of the corpus.
    target (str): The target.
    system (str): The system.
    seed (int): The seed.
    config (str): The SHA-256 of config and training data, which identifies a run.
    data (Dict[str, str]): The SHA-256 of train.spacy, dev.spacy and test.spacy, and of brown.spacy
        if there is one.
    max_epochs (int): The number of epochs in the config; 0 for no limit.
    vectors (str): A description of the pretrained vectors; empty for none.
    options (str): The settings given for all systems; empty for none.
    epochs (float): The number of epochs trained.
    best_epoch (float): The number of epochs after which the pipeline was best and was scored.
    dev (Dict[str, float]): Precision, recall, F1 and accuracy on the development set, 0 to 1.
    test (Dict[str, float]): The same on the test set.
    parameters (Dict[str, int]): The number of parameters: "all" and "without words".
    seconds (float): The training time.
    device (str): The device used for training: "cpu" or "gpu".
    versions (Dict[str, str]): The versions of Python and the main packages used for training.
    brown (Optional[Dict[str, float]]): The scores on the second test set of CoNLL-2005; None if
        there is none.
    combined (Optional[Dict[str, float]]): The scores on both test sets together; None if there is
        only one.
    lengths (Optional[Dict[str, Dict[str, float]]]): The scores on the test set by sentence length;
        None for semantic roles, for documents with several sentences, and in files that do not
        have this field.
    """

    corpus: str
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
    def place(self) -> tuple[str, str, str, int, TrainingSettings]:
        """The key of the result. A file has one result per key."""
        return self.corpus, self.target, self.system, self.seed, self.training

    @property
    def training(self) -> TrainingSettings:
        """The training settings that it shares with other seeds."""
        return TrainingSettings(self.max_epochs, self.vectors, self.options)

    def has(self, part: str) -> bool:
        """Whether there are scores on a part of the corpus."""
        return getattr(self, part) is not None

    def score(self, part: str, metric: str | None = None) -> float:
        """Get a score or the number of parameters."""
        if metric == "parameters":
            return self.parameters["all"] / 1e6
        return 100.0 * getattr(self, part)[metric or METRICS[self.target]]


@dataclass(frozen=True)
class Summary:
    """A summary of scores over seeds, in percent.

    mean (float): The mean.
    std (Optional[float]): The sample standard deviation (n - 1); None for a single score.
    max (float): The best score.
    n (int): The number of scores.
    """

    mean: float
    std: float | None
    max: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.2f}" if self.std is None else f"{self.mean:.2f} ± {self.std:.2f}"


def summarize(scores: Iterable[float]) -> Summary:
    """Summarize scores."""
    values = list(scores)
    std = statistics.stdev(values) if len(values) > 1 else None
    return Summary(statistics.fmean(values), std, max(values), len(values))


def read_results(path: Path) -> list[Result]:
    """Read a results file."""
    if not path.is_file():
        raise ValueError(Errors.P109.format(path=path))
    try:
        data = json.loads(path.read_text(encoding="utf8"))
    except ValueError as error:
        raise ValueError(Errors.P396.format(path=path, problem=error)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        problem = f"it does not have format {FORMAT}"
        raise ValueError(Errors.P396.format(path=path, problem=problem))
    entries = data.get("results", [])
    if not isinstance(entries, list):
        raise ValueError(Errors.P396.format(path=path, problem="its results are not a list"))
    entries = [_with_names_of_today(entry) for entry in entries]
    for i, entry in enumerate(entries, 1):
        wrong = _problem(entry)
        if wrong is not None:
            raise ValueError(Errors.P396.format(path=path, problem=f"its result {i} {wrong}"))
    return [Result(**entry) for entry in entries]


def _with_names_of_today(entry: Any) -> Any:
    """A result with the names that earlier commits had, in those of today. They had tasks, too."""
    if not isinstance(entry, dict) or "task" not in entry:
        return entry
    new = {key: value for key, value in entry.items() if key != "task"}
    new["target"] = "roles" if new.get("target") == "frames" else new.get("target")
    new["system"] = re.sub(r"^transformer(?=-|$)", "vaswani", str(new.get("system")))
    return new


def _problem(entry: Any) -> str | None:
    """Say what is wrong with an entry of a results file, if anything."""
    if not isinstance(entry, dict):
        return "is not an object"
    optional = {field.name for field in fields(Result) if field.default is not MISSING}
    different = ({field.name for field in fields(Result)} ^ set(entry)) - optional
    if different:
        return f"lacks '{min(different)}' or should not have it"
    for field in fields(Result):
        value = entry.get(field.name)
        is_none = value is None and field.name in optional
        if not (is_none or isinstance(value, KINDS[str(field.type).partition("[")[0]])):
            return f"has a value other than {field.type} in '{field.name}'"
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
    """Whether all names have numbers."""
    return isinstance(figures, dict) and all(
        isinstance(figures.get(name), int | float) for name in names
    )


def to_json(results: Sequence[Result]) -> str:
    """The text of a results file."""
    data: dict[str, Any] = {"format": FORMAT, "results": [asdict(result) for result in results]}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def add_or_replace(results: Sequence[Result], new: Result) -> list[Result]:
    """Add a result, replacing the one with the same key if there is one."""
    kept = {result.place: result for result in results}
    kept[new.place] = new
    return list(kept.values())


def by_training(results: Iterable[Result]) -> dict[TrainingSettings, list[Result]]:
    """Group results that only differ in the seed."""
    groups: dict[TrainingSettings, list[Result]] = {}
    for result in results:
        groups.setdefault(result.training, []).append(result)
    return groups
