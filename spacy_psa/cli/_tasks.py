"""Tasks for annotation tools: Prodigy's and Label Studio's JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacy.tokens import Doc

DIGITS = 6


@dataclass(frozen=True)
class ScoredSpan:
    """A label with its probability.

    start (int): The first token.
    end (int): The token after the last one.
    label (str): The label.
    score (float): How probable it is.
    """

    start: int
    end: int
    label: str
    score: float


@dataclass(frozen=True)
class Suggestion:
    """A text with what a component makes of it.

    doc (Doc): The text.
    record (Dict[str, Any]): What came with the text.
    labelings (List[Tuple[float, List[ScoredSpan]]]): Ways to label it with their probabilities, the
        best one first.
    uncertainty (float): The entropy of all ways to label it, in nats for a token.
    """

    doc: Doc
    record: dict[str, Any]
    labelings: list[tuple[float, list[ScoredSpan]]]
    uncertainty: float


class TaskFormat(ABC):
    """What an annotation tool reads."""

    @abstractmethod
    def task(self, suggestion: Suggestion, component: str) -> dict[str, Any]:
        """Make a task.

        suggestion (Suggestion): The text and its labels.
        component (str): The name of the component.
        RETURNS (Dict[str, Any]): The task. What came with the text is kept.
        """

    @abstractmethod
    def write(self, tasks: Sequence[str]) -> str:
        """Put tasks into a file.

        tasks (Sequence[str]): The tasks, as JSON.
        RETURNS (str): The content of the file.
        """

    def dump(self, suggestions: Sequence[Suggestion], component: str) -> str:
        """Make a file of tasks.

        suggestions (Sequence[Suggestion]): The texts and their labels.
        component (str): The name of the component.
        RETURNS (str): The content of the file.
        """
        tasks = (self.task(suggestion, component) for suggestion in suggestions)
        return self.write([json.dumps(task, ensure_ascii=False, allow_nan=False) for task in tasks])


class Prodigy(TaskFormat):
    """Lines of JSON, as Prodigy's recipes `ner.manual`, `spans.manual` and `pos.correct` read them.
    Further ways to label a text stand under "alternatives", which Prodigy leaves alone.
    """

    def task(self, suggestion: Suggestion, component: str) -> dict[str, Any]:
        doc, record = suggestion.doc, suggestion.record
        (score, spans), *others = suggestion.labelings
        meta = record.get("meta")
        task = {
            **record,
            "text": doc.text,
            "tokens": [
                {
                    "text": token.text,
                    "start": token.idx,
                    "end": token.idx + len(token),
                    "id": token.i,
                    "ws": bool(token.whitespace_),
                }
                for token in doc
            ],
            "spans": self._spans(doc, spans),
            "meta": {
                **(meta if isinstance(meta, dict) else {}),
                "score": round(score, DIGITS),
                "uncertainty": round(suggestion.uncertainty, DIGITS),
            },
        }
        if others:
            task["alternatives"] = [
                {"score": round(p, DIGITS), "spans": self._spans(doc, found)} for p, found in others
            ]
        return task

    def write(self, tasks: Sequence[str]) -> str:
        return "".join(f"{task}\n" for task in tasks)

    def _spans(self, doc: Doc, spans: Sequence[ScoredSpan]) -> list[dict[str, Any]]:
        return [
            {
                "start": doc[span.start].idx,
                "end": _end(doc, span),
                "token_start": span.start,
                # Other than spaCy's, it is the last token itself
                "token_end": span.end - 1,
                "label": span.label,
                "score": round(span.score, DIGITS),
            }
            for span in spans
        ]


class LabelStudio(TaskFormat):
    """A list of tasks, as Label Studio imports them, for a labeling config with
    `<Labels name="label" toName="text">` and `<Text name="text" value="$text"/>`. Each way to label
    a text is a prediction.
    """

    def task(self, suggestion: Suggestion, component: str) -> dict[str, Any]:
        doc = suggestion.doc
        data = {**suggestion.record, "text": doc.text}
        data["uncertainty"] = round(suggestion.uncertainty, DIGITS)
        predictions = [
            {
                "model_version": component if rank == 1 else f"{component} #{rank}",
                "score": round(score, DIGITS),
                "result": [self._region(doc, span, rank) for span in spans],
            }
            for rank, (score, spans) in enumerate(suggestion.labelings, 1)
        ]
        return {"data": data, "predictions": predictions}

    def write(self, tasks: Sequence[str]) -> str:
        return "[\n" + ",\n".join(tasks) + "\n]\n"

    def _region(self, doc: Doc, span: ScoredSpan, rank: int) -> dict[str, Any]:
        start, end = doc[span.start].idx, _end(doc, span)
        return {
            "id": f"{rank}-{span.start}-{span.end}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {
                "start": start,
                "end": end,
                "text": doc.text[start:end],
                "labels": [span.label],
            },
            "score": round(span.score, DIGITS),
        }


def _end(doc: Doc, span: ScoredSpan) -> int:
    """The character after the last one of a span."""
    last = doc[span.end - 1]
    return last.idx + len(last)


FORMATS: dict[str, TaskFormat] = {"prodigy": Prodigy(), "label-studio": LabelStudio()}
