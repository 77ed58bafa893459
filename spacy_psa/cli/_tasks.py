"""Read texts for prediction, and write tasks for annotation tools, in their JSON formats."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import Errors
from ._docbins import read_docs
from ._predictions import words_alone

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

STANDARD_INPUT = "-"

Record = dict[str, Any]
"""The JSON object of a text, which may have other data, e.g. its source."""


def read_texts(source: str, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    """Read texts. Texts without words are skipped."""
    if source == STANDARD_INPUT:
        name, docs = "standard input", _read_standard_input(nlp)
    else:
        name = source
        ending = Path(source.removesuffix(".gz")).suffix if source.endswith(".gz") else None
        read = READERS.get(ending or Path(source).suffix)
        # A DocBin is already compressed
        if read is None or ending == ".spacy":
            raise ValueError(Errors.P354.format(path=source, endings=", ".join(READERS)))
        docs = read(Path(source), nlp)
    n = 0
    for doc, record in docs:
        if any(not token.is_space for token in doc):
            n += 1
            yield doc, record
    if not n:
        raise ValueError(Errors.P353.format(path=name))


def _read_lines(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    from ..corpora.lines import read_lines

    for _, line in read_lines(path):
        yield nlp.make_doc(line.strip()), {}


def _read_json(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    from ..corpora.offset_records import malformed, read_records
    from ..corpora.offset_tasks import flattened

    for place, record in read_records(path):
        record = flattened(record)
        if not isinstance(record.get("text"), str):
            keys = ", ".join(record) or "none"
            problem = f'there is no text under the key "text" (its keys: {keys})'
            raise malformed(path, place, problem)
        yield nlp.make_doc(record["text"]), record


def _read_docbin(path: Path, nlp: Language) -> Iterator[tuple[Doc, Record]]:
    for doc in words_alone(read_docs(path, nlp.vocab), nlp.vocab):
        yield doc, {}


def _read_standard_input(nlp: Language) -> Iterator[tuple[Doc, Record]]:
    from ..corpora.lines import BOM, decoded

    lines = chain.from_iterable(map(bytes.splitlines, typer.get_binary_stream("stdin")))
    for number, line in enumerate(lines, 1):
        text = decoded(line.removeprefix(BOM), number, Path("standard input"))
        yield nlp.make_doc(text.strip()), {}


READERS: dict[str, Callable[[Path, Language], Iterator[tuple[Doc, Record]]]] = {
    ".txt": _read_lines,
    ".jsonl": _read_json,
    ".json": _read_json,
    ".spacy": _read_docbin,
}


DIGITS = 6


@dataclass(frozen=True)
class ScoredSpan:
    """A label with its probability.

    start (int): The first token.
    end (int): The token after the last one.
    label (str): The label.
    score (float): The probability.
    """

    start: int
    end: int
    label: str
    score: float


@dataclass(frozen=True)
class Suggestion:
    """A text with the labels that a component suggests.

    doc (Doc): The text.
    record (Dict[str, Any]): The data that came with the text.
    labelings (List[Tuple[float, List[ScoredSpan]]]): Its labelings with their probabilities, the
        best one first.
    uncertainty (float): The entropy over all labelings, in nats per token.
    """

    doc: Doc
    record: dict[str, Any]
    labelings: list[tuple[float, list[ScoredSpan]]]
    uncertainty: float


class TaskFormat(ABC):
    """The file format of an annotation tool.

    spans_key (Optional[str]): The key of the suggested spans in what came with the text.
    """

    spans_key: str | None = None

    @abstractmethod
    def task(self, suggestion: Suggestion, component: str) -> dict[str, Any]:
        """Create a task."""

    def others(self, record: Record) -> Record:
        """What came with a text and is kept: all but an annotation, beside which a tool or
        `psa convert` would overlook the suggestions, or the other way round.
        """
        from ..corpora.offset_tasks import without_annotation

        kept = without_annotation(record)
        left_out = {self.spans_key, *(["alternatives"] if _is_ours(kept) else [])}
        return {key: value for key, value in kept.items() if key not in left_out}

    def count_replaced(self, suggestions: Sequence[Suggestion]) -> int:
        """The number of texts with an annotation that the suggestions replace."""
        return sum(len(self.others(x.record)) < len(x.record) for x in suggestions)

    def write(self, tasks: Sequence[str]) -> str:
        """Combine tasks into the content of a file: JSON lines."""
        return "".join(f"{task}\n" for task in tasks)

    def dump(self, suggestions: Sequence[Suggestion], component: str) -> str:
        """Create the content of a file of tasks."""
        tasks = (self.task(suggestion, component) for suggestion in suggestions)
        return self.write([json.dumps(task, ensure_ascii=False, allow_nan=False) for task in tasks])


class Lines(TaskFormat):
    """JSON lines, each a text with the spans of its best labeling. Further labelings are in
    "alternatives", which no tool reads.
    """

    spans_key: str

    def task(self, suggestion: Suggestion, component: str) -> dict[str, Any]:
        doc, record = suggestion.doc, self.others(suggestion.record)
        (_, spans), *others = suggestion.labelings
        task = {
            **record,
            "text": doc.text,
            **self._tokens(doc),
            self.spans_key: self._spans(doc, spans),
            "meta": _meta(record, suggestion),
        }
        if others:
            task["alternatives"] = [
                {"score": round(p, DIGITS), self.spans_key: self._spans(doc, found)}
                for p, found in others
            ]
        return task

    def _tokens(self, doc: Doc) -> dict[str, Any]:
        return {}

    @abstractmethod
    def _spans(self, doc: Doc, spans: Sequence[ScoredSpan]) -> list[Any]: ...


class Prodigy(Lines):
    """Tasks for Prodigy's recipes `ner.manual`, `spans.manual` and `pos.correct`."""

    spans_key = "spans"

    def _tokens(self, doc: Doc) -> dict[str, Any]:
        return {
            "tokens": [
                {
                    "text": token.text,
                    "start": token.idx,
                    "end": token.idx + len(token),
                    "id": token.i,
                    "ws": bool(token.whitespace_),
                }
                for token in doc
            ]
        }

    def _spans(self, doc: Doc, spans: Sequence[ScoredSpan]) -> list[dict[str, Any]]:
        return [
            {
                "start": doc[span.start].idx,
                "end": _end(doc, span),
                "token_start": span.start,
                # Unlike spaCy's end, this is the last token itself
                "token_end": span.end - 1,
                "label": span.label,
                "score": round(span.score, DIGITS),
            }
            for span in spans
        ]


class LabelStudio(TaskFormat):
    """A list of tasks to import in Label Studio, for a labeling config with
    `<Labels name="label" toName="text">` and `<Text name="text" value="$text"/>`. Each labeling of
    a text is a prediction.
    """

    def task(self, suggestion: Suggestion, component: str) -> dict[str, Any]:
        doc = suggestion.doc
        data = {**self.others(suggestion.record), "text": doc.text}
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


class Doccano(Lines):
    """Texts to import in doccano, in a project of sequence labeling. It has no place for the
    probabilities of spans, and shows other keys as metadata.
    """

    spans_key = "label"

    def _spans(self, doc: Doc, spans: Sequence[ScoredSpan]) -> list[list[int | str]]:
        return [[doc[span.start].idx, _end(doc, span), span.label] for span in spans]


def _is_ours(record: Record) -> bool:
    """Whether "alternatives" are those of an earlier run, which would contradict the new ones."""
    found = record.get("alternatives")
    keys = [{"score", form.spans_key} for form in FORMATS.values() if isinstance(form, Lines)]
    return isinstance(found, list) and all(isinstance(x, dict) and x.keys() in keys for x in found)


def _meta(record: Record, suggestion: Suggestion) -> dict[str, Any]:
    """What came with a text as its metadata, and the probability of the best labeling."""
    meta = record.get("meta")
    if not isinstance(meta, dict):  # which it is in Prodigy
        meta = {} if meta is None else {"meta": meta}
    return {
        **meta,
        "score": round(suggestion.labelings[0][0], DIGITS),
        "uncertainty": round(suggestion.uncertainty, DIGITS),
    }


def _end(doc: Doc, span: ScoredSpan) -> int:
    """The end offset of a span in characters (exclusive)."""
    last = doc[span.end - 1]
    return last.idx + len(last)


FORMATS: dict[str, TaskFormat] = {
    "prodigy": Prodigy(),
    "label-studio": LabelStudio(),
    "doccano": Doccano(),
}
