"""The model card of a trained pipeline: what it was trained on, how good, sure and fast it is."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..figures.tables import Table, interval, markdown_text, percent
from .breakdowns import Breakdown
from .report import Report

N_LABELS = 20
N_WEAKEST = 3
FEWEST = 10  # units of a group that may be called weak
BEHIND = 0.05  # F1 below the total
GIVEN = (
    ", except roles: their component is given the sentence boundaries of the data and, if it is "
    "configured for given predicates, those of the data"
)


@dataclass(frozen=True)
class Trust:
    """How far the probabilities of a component can be trusted.

    component (str): The component.
    unit (str): What has a probability: "tokens" or "spans".
    n (int): The number of predictions.
    correct (float): The share of correct predictions, 0 to 1; NaN if there are none.
    confidence (float): Their mean probability; NaN if there are none.
    error (float): The expected calibration error, 0 to 1, over ten bins; NaN if there are none.
    """

    component: str
    unit: str
    n: int
    correct: float
    confidence: float
    error: float


@dataclass(frozen=True)
class Speed:
    """The speed of a pipeline.

    words (int): The number of words annotated.
    seconds (float): The time that took.
    machine (str): The processor and the number of threads.
    """

    words: int
    seconds: float
    machine: str

    @property
    def rate(self) -> float:
        """Words per second."""
        return self.words / self.seconds


@dataclass(frozen=True)
class Card:
    """What a user needs to know about a trained pipeline.

    data (str): The name of the data that it was evaluated on.
    reports (List[Report]): The evaluation of each component, at least one.
    trust (List[Trust]): The quality of the probabilities.
    speed (Optional[Speed]): The speed; None if it was not measured.
    checksums (Dict[str, str]): The SHA-256 of each file of the pipeline, by its path in the folder.
    size (int): The size of all files in bytes.
    """

    data: str
    reports: Sequence[Report]
    trust: Sequence[Trust] = ()
    speed: Speed | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    size: int = 0

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The card, for JSON."""
        return {
            "data": self.data,
            "reports": [report.to_dict() for report in self.reports],
            "calibration": [_numbers(vars(trust)) for trust in self.trust],
            "speed": None
            if self.speed is None
            else {**vars(self.speed), "words_per_second": self.speed.rate},
            "size": self.size,
            "sha256": dict(self.checksums),
        }

    def to_markdown(self) -> str:
        """RETURNS (str): The sections that follow spaCy's table of the pipeline in its README."""
        return "\n".join(line for part in self._sections() for line in part)

    def _sections(self) -> Iterator[Iterator[str]]:
        yield self._scores()
        if self.trust:
            yield self._probabilities()
        yield self._weaknesses()
        if self.speed is not None:
            yield self._speed()
        if self.checksums:
            yield self._files()

    def _scores(self) -> Iterator[str]:
        rows = [
            [
                report.title,
                "F1" if report.main_score == "f1" else report.main_score,
                percent(report.scores[report.main_score]),
                interval(report.intervals[report.main_score]),
                f"{report.n_sentences:,}",
            ]
            for report in self.reports
        ]
        header = [
            "layer",
            "score",
            "%",
            f"{100 * self.reports[0].confidence:g}% interval",
            "sentences",
        ]
        yield Table(f"Scores on {self.data}", header, rows).to_markdown(plain=True)
        # Wholes, such as propositions, are given as they are in the gold standard
        given = any(report.wholes is not None for report in self.reports)
        yield f"Predicted from the words alone{GIVEN * given}. All scores are percentages.\n"
        for report in self.reports:
            labels = report.breakdowns.get("label")
            if labels is not None and len(labels.rows) > 1:
                yield _label_table(report, labels)

    def _probabilities(self) -> Iterator[str]:
        rows = [
            [t.component, t.unit, f"{t.n:,}", *map(percent, (t.confidence, t.correct, t.error))]
            for t in self.trust
        ]
        header = ["component", "of", "predictions", "probability", "correct", "error"]
        yield Table("Probabilities", header, rows).to_markdown(plain=True)
        yield (
            "The mean probability of the predictions beside the share that is correct, and the "
            "expected calibration error: the mean gap between the two, over ten bins.\n"
        )

    def _weaknesses(self) -> Iterator[str]:
        yield "### Known weaknesses\n"
        found = [line for report in self.reports for line in weaknesses(report)]
        yield from (f"- {markdown_text(line)}" for line in found)
        yield (
            "- It was evaluated on text of the kind it was trained on. Other kinds of text give "
            "lower scores.\n"
        )

    def _speed(self) -> Iterator[str]:
        speed = self.speed
        assert speed is not None
        yield "### Speed\n"
        yield (
            f"{speed.rate:,.0f} words per second with `nlp.pipe` ({speed.words:,} words, "
            f"{markdown_text(speed.machine)}).\n"
        )

    def _files(self) -> Iterator[str]:
        yield "### Files\n"
        yield f"{self.size / 1e6:.1f} MB. SHA-256:\n"
        yield "```"
        yield from (f"{digest}  {path}" for path, digest in self.checksums.items())
        yield "```\n"


def weaknesses(report: Report) -> list[str]:
    """Name what a component does markedly worse than the rest, of what was seen often enough.

    RETURNS (List[str]): A sentence each for the weakest labels, unknown words and sentence lengths.
    """
    total = report.total.counts.f1
    found = []
    for name, breakdown in report.breakdowns.items():
        groups = [row for row in breakdown.rows if row.counts.gold >= FEWEST]
        groups = sorted(
            (row for row in groups if row.counts.f1 < total - BEHIND), key=lambda row: row.counts.f1
        )
        if groups:
            shown = ", ".join(f"{row.name} {percent(row.counts.f1)}" for row in groups[:N_WEAKEST])
            by = f"By {report.label}" if name == "label" else breakdown.title
            found.append(f"{report.title}. {by}: F1 {shown}; in all {percent(total)}.")
    return found


def describe_processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Describe the processor: its name and, if Linux knows them, its family and model numbers,
    since virtual machines give generations that differ twofold in speed the same name."""
    fields = {}
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf8").splitlines():
            key, _, value = line.partition(":")
            fields[key.strip()] = value.strip()
    name = fields.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in fields and "model" in fields:
        name += f" (family {fields['cpu family']}, model {fields['model']})"
    return name


def _label_table(report: Report, labels: Breakdown) -> str:
    rows = sorted(labels.rows, key=lambda row: -row.counts.gold)[:N_LABELS]
    left = len(labels.rows) - len(rows)
    title = f"{report.title}, by label" + (f" (the {N_LABELS} most frequent)" if left else "")
    values = [
        [
            row.name,
            f"{row.counts.gold:,}",
            *(f"{score:.2f}" for score in row.counts.percentages),
            interval(row.interval),
        ]
        for row in rows
    ]
    header = ["label", "gold", "precision", "recall", "F1", "F1 interval"]
    return Table(title, header, values).to_markdown(plain=True)


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    # JSON has no NaN
    return {name: None if value != value else value for name, value in values.items()}
