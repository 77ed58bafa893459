"""Read training logs: JSON lines, or the table that spaCy prints."""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Errors, Warnings, warn
from ..training.logger import FILE_NAME
from ..training.progress import epoch_length

PLAIN_NAMES = {"train", "training", "log", "stdout"}
CUT = "..."  # the end of names that spaCy has truncated
COLOR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
# The console shows two decimals of the main score.
ROUNDING = 0.005 + 1e-9


@dataclass(frozen=True)
class Evaluation:
    """An evaluation, that is, a line of a training log.

    step (int): The step, from 0.
    epoch (int): The epoch, from 0.
    score (float): The main score, from 0 to 1; NaN if unknown.
    scores (Dict[str, float]): All known scores; NaN for those that were logged without a number.
    losses (Dict[str, float]): The losses since the previous evaluation, by component; NaN for those
        that were logged without a number.
    epochs (Optional[float]): The number of completed epochs, with fractions, if known.
    """

    step: int
    epoch: int
    score: float
    scores: dict[str, float]
    losses: dict[str, float]
    epochs: float | None = None

    def score_of(self, name: str) -> float | None:
        """Find a score."""
        if not name:
            return self.score
        if name in self.scores:
            return self.scores[name]
        cut = [s for key, s in self.scores.items() if CUT in key and name.startswith(_stem(key))]
        return cut[0] if len(cut) == 1 else None


@dataclass(frozen=True)
class Run:
    """A training run.

    name (str): The name of the run.
    evaluations (Sequence[Evaluation]): The evaluations, ordered by step.
    """

    name: str
    evaluations: Sequence[Evaluation]

    @property
    def epochs(self) -> list[float] | None:
        """The number of completed epochs, with fractions, at each evaluation, as logged or
        estimated; None if it is unknown.
        """
        logged = [e.epochs for e in self.evaluations if e.epochs is not None]
        if len(logged) == len(self.evaluations):
            return logged
        length = epoch_length([(e.step, e.epoch) for e in self.evaluations])
        return None if length is None else [(e.step + 1) / length for e in self.evaluations]


def read_run(path: Path, name: str = "") -> Run:
    """Read the log of a training run."""
    file_ = path / FILE_NAME if path.is_dir() else path
    if not file_.is_file():
        raise ValueError(Errors.P292.format(path=path))
    data = file_.read_bytes()
    # PowerShell writes what a command prints in UTF-16
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    content = COLOR.sub("", data.decode(encoding, errors="replace"))
    lines = content.splitlines()
    found: dict[int, Evaluation] = {}
    for evaluation in _json_lines(lines, file_) if _is_json(lines) else _table(lines):
        found = {step: e for step, e in found.items() if step < evaluation.step}
        found[evaluation.step] = evaluation
    if not found:
        raise ValueError(Errors.P293.format(path=file_))
    says_nothing = file_.stem in PLAIN_NAMES
    default = file_.resolve().parent.name if says_nothing else file_.stem
    return Run(name or default, list(found.values()))


def _is_json(lines: Sequence[str]) -> bool:
    return next((line.lstrip() for line in lines if line.strip()), "").startswith("{")


def _json_lines(lines: Sequence[str], path: Path) -> Iterator[Evaluation]:
    damaged = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except ValueError:
            # The last line may be that of a run that was killed.
            if line.strip() and number < len(lines):
                damaged.append(number)
            continue
        if isinstance(entry, dict) and {"step", "epoch", "score", "losses"} <= set(entry):
            try:
                yield _from_json(entry)
            except (AttributeError, TypeError, ValueError, OverflowError) as error:
                problem = f"this is no evaluation ({error})"
                expected = "one as spacy_psa.JsonlLogger.v1 writes it, or no line"
                raise ValueError(
                    Errors.P145.format(path=path, line=number, problem=problem, expected=expected)
                ) from error
    if damaged:
        warn(Warnings.W453.format(path=path, n=len(damaged), line=damaged[0]))


def _from_json(entry: dict[str, Any]) -> Evaluation:
    scores = {name: _number(value) for name, value in entry.get("scores", {}).items()}
    if "words" not in entry:
        # From `spacy.ConsoleLogger.v3`, which writes percentages.
        scores = {name: value / (1 if name == "speed" else 100) for name, value in scores.items()}
    epochs = entry.get("epochs")
    return Evaluation(
        step=int(entry["step"]),
        epoch=int(entry["epoch"]),
        score=_number(entry["score"]),
        scores=scores,
        losses={name: _number(value) for name, value in entry["losses"].items()},
        epochs=None if epochs is None else float(epochs),
    )


def _number(value: Any) -> float:
    """A logged number; NaN for null, since training continues without a score or a loss."""
    return float(value) if isinstance(value, int | float) else math.nan


def _table(lines: Sequence[str]) -> Iterator[Evaluation]:
    """The rows of all tables in the lines. A resumed run prints a second table."""
    columns: list[str] = []
    rows: list[dict[str, float]] = []
    for line in lines:
        cells = re.split(r"\s{2,}", line.strip())
        if cells[:2] == ["E", "#"]:
            columns = _distinct(cells)
            continue
        values = line.split()
        if not columns or len(values) != len(columns):
            continue
        try:
            rows.append(dict(zip(columns, map(float, values), strict=True)))
        except ValueError:
            continue
    precise = _precise_score(rows)
    for row in rows:
        yield _from_row(row, precise)


def _from_row(row: dict[str, float], precise: str | None) -> Evaluation:
    names = [name for name in row if name not in ("e", "#", "score") and not _is_loss(name)]
    scores = {name: row[name] / (1 if name == "speed" else 100) for name in names}
    return Evaluation(
        step=int(row["#"]),
        epoch=int(row["e"]),
        score=scores[precise] if precise else row["score"],
        scores=scores,
        losses={name.removeprefix("loss "): row[name] for name in row if _is_loss(name)},
    )


def _precise_score(rows: Sequence[dict[str, float]]) -> str | None:
    """The first column that matches the main score in all rows, but has more decimals."""
    for name in rows[0] if rows else []:
        agrees = (abs(row.get(name, -1.0) / 100 - row["score"]) <= ROUNDING for row in rows)
        if name not in ("e", "#", "score") and not _is_loss(name) and all(agrees):
            return name
    return None


def _is_loss(name: str) -> bool:
    return name.startswith("loss ")


def _distinct(names: Sequence[str]) -> list[str]:
    """Lowercase names, numbered if they were truncated to the same name."""
    found: list[str] = []
    for name in map(str.lower, names):
        same = sum(other.partition(" (")[0] == name for other in found)
        found.append(f"{name} ({same + 1})" if same else name)
    return found


def _stem(name: str) -> str:
    return name.partition(CUT)[0]
