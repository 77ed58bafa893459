"""Recognise texts with labeled spans as annotation tools export them, in JSON.

SOURCE: https://prodi.gy/docs/api-interfaces, https://doccano.github.io/doccano,
https://labelstud.io/guide/export, which describe what these tools write.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .offset_records import Place, Record
from .problems import Problems, unexpected

# Doccano's names for the spans, the newest last.
_DOCCANO_KEYS = ("annotations", "label", "labels", "entities")
_STUDIO_KEYS = ("annotations", "completions", "drafts")
_LAYOUTS = (
    'Prodigy ("spans"), doccano ("label", "labels" or "entities") or Label Studio ("data" and '
    '"annotations", or JSON-MIN)'
)


class Region(NamedTuple):
    """A labeled span of a text.

    start (int): Its first character.
    end (int): The character after the last one.
    label (str): Its label.
    text (Optional[str]): What the tool says that the span is.
    """

    start: int
    end: int
    label: str
    text: str | None


class Task(NamedTuple):
    """An annotated text.

    text (str): The text.
    regions (List[Optional[Region]]): Its spans; None for each that cannot be read.
    tokens (Optional[List[Record]]): Its tokens, if they are given.
    """

    text: str
    regions: list[Region | None]
    tokens: list[Record] | None = None


@dataclass
class TaskReader:
    """Reads the objects of one file.

    path (Path): The file, for messages.
    problems (Problems): Collects what is not read.
    text_key (str): The key of the text.
    predictions (bool): Whether to read the predictions of texts that are not annotated.
    """

    path: Path
    problems: Problems
    text_key: str = "text"
    predictions: bool = False

    def read(self, place: Place, record: Record) -> Task | None:
        """Read an object."""
        read = {
            "Prodigy": self._prodigy,
            "Label Studio": self._label_studio,
            "Label Studio, JSON-MIN": self._json_min,
            "doccano or spaCy": self._doccano,
        }
        layout = self._layout(record)
        if layout is None:
            self._text(place, record)
            self._skip("without annotated spans")
            return None
        self.problems.found[f"texts in the layout of {layout}"] += 1
        relations = _list(record.get("relations"))
        if relations:
            self.problems.note("relations, not read", len(relations))
        task = read[layout](place, record)
        return task and self._agreed(place, record, layout, task)

    def _agreed(self, place: Place, record: Record, layout: str, task: Task) -> Task:
        """Leave a text unannotated that has other spans under a key that is not read."""
        own = _own_keys(record, layout)
        others = {key: x for key, x in annotation(record).items() if x and key not in own}
        if not others:
            return task
        silent = TaskReader(self.path, Problems(lenient=True))
        read = [task.regions]
        if layout == "Prodigy":
            # The others may have the spans that were not accepted
            read.append(silent._regions(place, _list(record.get("spans"))))
        said = [_spans(regions) for regions in read]
        for key, items in others.items():
            if _spans(silent._regions(place, items)) not in said:
                problem = f'the keys "{own[0]}" and "{key}" have different spans'
                self._report(
                    place, problem, "one annotation of the text: delete the key that does not count"
                )
                return Task(task.text, [None], task.tokens)
        return task

    def _layout(self, record: Record) -> str | None:
        if isinstance(record.get("data"), dict):
            return "Label Studio"
        if isinstance(record.get("spans"), list):
            return "Prodigy"
        if "annotation_id" in record or any(map(_is_min, record.values())):
            return "Label Studio, JSON-MIN"
        if _is_answered(record):
            return "Prodigy"
        if any(isinstance(record.get(key), list) for key in _DOCCANO_KEYS):
            return "doccano or spaCy"
        return None

    def _prodigy(self, place: Place, record: Record) -> Task | None:
        answer = record.get("answer", "accept")
        if answer != "accept":
            self._skip(f"with the answer '{answer}'")
            return None
        if record.get("_is_binary"):
            self.problems.note("texts accepted for one span, read as if there were no others")
        spans = _list(record.get("spans"))
        # Each can have an answer of its own, as where Prodigy has merged those of a text
        kept = [x for x in spans if not isinstance(x, dict) or x.get("answer", answer) == answer]
        if len(kept) < len(spans):
            self.problems.note("spans that were not accepted, left out", len(spans) - len(kept))
        return Task(self._text(place, record), self._regions(place, kept), record.get("tokens"))

    def _doccano(self, place: Place, record: Record) -> Task:
        spans = record[_doccano_key(record)]
        # Old versions call the text "data".
        key = "data" if self.text_key not in record and "data" in record else self.text_key
        return Task(self._text(place, record, key), self._regions(place, spans))

    def _json_min(self, place: Place, record: Record) -> Task:
        spans = [x for value in record.values() if _is_min(value) for x in value]
        return Task(self._text(place, record), self._regions(place, spans))

    def _label_studio(self, place: Place, record: Record) -> Task | None:
        given = [x for key in ("annotations", "completions") for x in _list(record.get(key))]
        done = [x for x in given if isinstance(x, dict) and not x.get("was_cancelled")]
        if not done and given:
            self._skip("whose annotation was cancelled")
            return None
        if not done and self.predictions:
            done = [x for x in _list(record.get("predictions")) if isinstance(x, dict)][:1]
        if not done:
            hint = " but predictions (option predictions=true)" if record.get("predictions") else ""
            self._skip(f"without annotated spans{hint}")
            return None
        if len(done) > 1:
            others = "further annotations of the same texts, not read"
            self.problems.note(others, len(done) - 1)
        chosen = max(done, key=lambda x: bool(x.get("ground_truth")))
        spans = []
        n_others = 0
        for result in _list(chosen.get("result")):
            kind = result.get("type") if isinstance(result, dict) else None
            if kind == "labels":
                spans.append(result.get("value"))
            elif str(kind).endswith("labels"):
                # These are spans as well, so the text would seem to have fewer.
                expected = "type 'labels', of <Labels> in a <Text>"
                self._report(place, f"a result has the type '{kind}'", expected)
                n_others += 1
            else:
                self.problems.note(f"results of the type '{kind}', not read")
        text, regions = self._text(place, record["data"]), self._regions(place, spans)
        return Task(text, [*regions, *[None] * n_others])

    def _text(self, place: Place, record: Record, key: str | None = None) -> str:
        text = record.get(key or self.text_key)
        if isinstance(text, str):
            return text
        found = ", ".join(record) or "none"
        expected = (
            f"one in the layout of {_LAYOUTS}, or the key (--option text_key=…) among {found}"
        )
        problem = f'there is no text under the key "{key or self.text_key}"'
        raise self._error(place, problem, expected)

    def _regions(self, place: Place, items: list[Any]) -> list[Region | None]:
        return [region for item in items for region in self._parsed(place, item)]

    def _parsed(self, place: Place, item: Any) -> Iterator[Region | None]:
        """One region for each label of a span; None if it cannot be read."""
        if isinstance(item, list):
            item = dict(zip(("start", "end", "label"), item, strict=False))
        item = item if isinstance(item, dict) else {"label": item}
        start = item.get("start", item.get("start_offset"))
        end = item.get("end", item.get("end_offset"))
        labels = item["labels"] if isinstance(item.get("labels"), list) else [item.get("label")]
        text = item.get("text")
        for label in labels or [None]:
            region = None
            if not (_is_offset(start) and _is_offset(end) and start < end):
                problem = f"a span goes from {start!r} to {end!r}"
                self._report(place, problem, "two whole numbers, the first one smaller")
            elif not (isinstance(label, str) and label.strip()):
                self._report(place, *_no_label(item, label))
            else:
                if label != label.strip():
                    note = "labels with white space at their ends, which was removed"
                    self.problems.note(note, first=f"in line {place}: {label!r}")
                given = text if isinstance(text, str) else None
                region = Region(start, end, label.strip(), given)
            yield region

    def _skip(self, which: str) -> None:
        self.problems.note(f"texts {which}, skipped")

    def _report(self, place: Place, problem: str, expected: str) -> None:
        self.problems.report(str(self._error(place, problem, expected)))

    def _error(self, place: Place, problem: str, expected: str) -> ValueError:
        return ValueError(unexpected(self.path, place, problem, expected))


def _no_label(item: dict[str, Any], label: object) -> tuple[str, str]:
    """Problem and what was expected, for a span without a label."""
    if label is None and not item.keys() & {"label", "labels"}:
        return f"a span has only the keys {', '.join(item)}", 'the label under the key "label"'
    return f"the label of a span is {label!r}", "a name"


def annotation(record: Record) -> dict[str, list[Any]]:
    """The spans of a text by their keys, in all layouts but that of Label Studio's tasks. Other
    lists, such as `"labels": ["news"]`, are about the text as a whole."""
    return {
        key: value
        for key, value in record.items()
        if isinstance(value, list)
        and (
            key == "spans"
            or _is_min(value)
            or (key in _DOCCANO_KEYS and (not value or _has_spans(value)))
        )
    }


def flattened(record: Record) -> Record:
    """Make an object with a text, also of a task of Label Studio, which has it in "data", or of old
    versions of doccano. Earlier predictions are left out, and lists that say that nobody annotated
    the task."""
    data = record.get("data")
    if isinstance(data, str) and "text" not in record:
        return {"text" if key == "data" else key: value for key, value in record.items()}
    if not isinstance(data, dict):
        return record
    left_out = {"data", "predictions", *(key for key in _STUDIO_KEYS if not record.get(key))}
    return {**{key: value for key, value in record.items() if key not in left_out}, **data}


def without_annotation(record: Record) -> Record:
    """What the object of a text has beside its annotation."""
    keys = set(annotation(record))
    keys |= {key for key in _STUDIO_KEYS if _has_results(record.get(key))}
    is_prodigy = "spans" in keys or _is_answered(record)
    if is_prodigy and record.get("answer") in ("accept", "reject", "ignore"):
        keys.add("answer")
    if "annotation_id" in record:
        keys.add("annotation_id")
    if keys and isinstance(record.get("relations"), list):
        keys.add("relations")
    return {key: value for key, value in record.items() if key not in keys}


def _doccano_key(record: Record) -> str:
    """The key of the spans: the first that has some, or an empty list only if no other is there."""
    keys = [key for key in _DOCCANO_KEYS if isinstance(record.get(key), list)]
    return max(keys, key=lambda key: (_has_spans(record[key]), bool(record[key])))


def _own_keys(record: Record, layout: str) -> list[str]:
    """The keys of the spans that are read."""
    if layout == "Prodigy":
        return ["spans"]
    if layout == "Label Studio":
        return ["annotations"]
    if layout == "doccano or spaCy":
        return [_doccano_key(record)]
    return [key for key, value in record.items() if _is_min(value)] or ["annotation_id"]


def _has_spans(items: list[Any]) -> bool:
    return any(
        _is_offset(item[0] if item else None)
        if isinstance(item, list)
        else isinstance(item, dict) and not item.keys().isdisjoint(("start", "start_offset"))
        for item in items
    )


def _spans(regions: list[Region | None]) -> set[tuple[int, int, str]]:
    return {region[:3] for region in regions if region is not None}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_answered(record: Record) -> bool:
    """Whether this is a text of Prodigy, which can leave out the spans of one that has none, unless
    it labels whole texts. Other tools keep the keys of their input, of which one may be "answer".
    """
    if "answer" not in record or isinstance(record.get("label"), str) or "options" in record:
        return False
    others = [record[key] for key in _DOCCANO_KEYS if isinstance(record.get(key), list)]
    if not others or record["answer"] in ("reject", "ignore"):
        return True
    has_spans = any(isinstance(item, list | dict) for items in others for item in items)
    return record["answer"] == "accept" and not has_spans


def _is_min(value: Any) -> bool:
    """Whether this is a list of spans as in Label Studio's JSON-MIN."""
    items = _list(value)
    return bool(items) and all(isinstance(x, dict) and "labels" in x for x in items)


def _has_results(value: Any) -> bool:
    """Whether this is a list of annotations as in Label Studio's tasks."""
    return any(isinstance(x, dict) and "result" in x for x in _list(value))


def _is_offset(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
