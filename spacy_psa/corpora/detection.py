"""Detect the format of a file by its name, or else by what its columns have."""

import re
import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any

from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS

from ..errors import Errors
from .column_kinds import SPAN_KINDS, Kind, Values, column_values, find_layers, kind, scheme_of
from .formats import FORMATS, Format
from .lines import read_lines
from .samples import Sample, take_sample

# The first columns of comments, in formats that have them.
_FIRST_COLUMNS: dict[tuple[str, ...], str] = {
    ("#begin", "document"): "conll2012",
    ("#", "global.columns"): "conllu",
    ("#", "newdoc"): "conllu",
    ("#", "sent_id"): "conllu",
    ("#", "text"): "conllu",
}
# The beginning of an object, or of a list of objects.
_JSON = re.compile(r'(\[ ?)?(\{ ?"|\[ ?".*\{ ?")')
_N_FIRST = 200
# Formats that are no more than an order of columns.
_ORDERS = {
    ("words", "tags", "chunks"): "conll2000",
    ("words", "tags", "chunks", "ents"): "conll2003",
    ("words", "tags", "ents"): "conll2002",
}
_OPTIONS = {
    "words": "word_column",
    "tags": "pos_column",
    "lemmas": "lemma_column",
    "spaces": "space_column",
    "chunks": "chunk_column",
    "ents": "tag_column",
}
_DESTINATIONS = {
    "tags": "token.tag_",
    "lemmas": "token.lemma_",
    "chunks": "doc.spans",
    "ents": "doc.ents",
    "spaces": "token.whitespace_",
}
_NAMES = {"tags": "tag of the word", "lemmas": "lemma", "spaces": "+ and -"}
# The label of tags without one, as in "B I O".
DEFAULT_LABEL = "ENT"


@dataclass(frozen=True)
class Detection:
    """What a file was found to be.

    form (Format): The format.
    options (Dict[str, Any]): The options of the format with which it is read.
    found (str): What was found, for users.
    has_labels (bool): Whether there was anything but O to tell by.
    """

    form: Format
    options: dict[str, Any]
    found: str
    has_labels: bool = True

    def reads(self, other: "Detection") -> bool:
        """Check whether another file can be read in the same way."""
        left, right = (dict(found.options) for found in (self, other))
        for options in (left, right):
            options.pop("separator", None)
        if right.pop("comment", None) not in (None, left.pop("comment", None)):
            return False
        if other.has_labels:
            return self.form == other.form and left == right
        return all(left.get(n) == right.get(n) for n in ("header", "word_column", "joined_by"))


def detect(path: Path, targets: Collection[str] = ()) -> Detection:
    """Detect the format of a file by its suffix, its first lines, or what its columns have. Tags of
    spans become what the user wants of `TARGETS`: "ents", "spans" or "tag". If it is not certain
    which columns are which, the error says how to set them."""
    owners = [form for form in FORMATS.values() if form.owns(path)]
    if owners:
        # Readers that take folders skip some documents by default.
        form = min(owners, key=lambda form: form.takes_folder)
        return Detection(form, {}, f"Found {form.name}, by the name of the file")
    first = [line.split() for _, line in islice(read_lines(path), _N_FIRST)]
    name = _by_mark([parts for parts in first if parts])
    if name:
        return Detection(FORMATS[name], {}, f"Found {name}, by its first lines")
    sample = take_sample(path, ", ".join(FORMATS))
    columns = [column_values(sample.sentences, sample.width, i) for i in range(sample.width)]
    kinds = [kind(values, sample.width) for values in columns]
    if _is_conllu(columns, kinds):
        return Detection(FORMATS["conllu"], {}, "Found conllu, by its 10 columns")
    layers = find_layers(columns, kinds, targets)
    line = sample.sentences[0][0].line
    if layers.keys() <= {"words", "lemmas", "spaces"}:
        known = "; ".join(
            f"{form.name} ({', '.join(form.columns)})" for form in FORMATS.values() if form.columns
        )
        raise ValueError(
            Errors.P117.format(path=path, line=line, found=sample.width, formats=known)
        )
    name, options = _options(sample, kinds, layers)
    command = " ".join([f"--format {name}", *starmap(_option_text, options.items())])
    texts = [_column_text(columns[i], kinds[i], i, layers) for i in range(sample.width)]
    if min(layers.values()) < layers["words"]:
        raise ValueError(
            Errors.P183.format(path=path, line=line, columns=", ".join(texts), command=command)
        )
    return Detection(
        FORMATS[name],
        options,
        f"Found {name}, {_separator_text(sample)} {', '.join(texts)}. Same as: {command}",
        has_labels="tags" in layers or not {Kind.SPANS, Kind.BARE, Kind.LABELS}.isdisjoint(kinds),
    )


def _by_mark(lines: Sequence[Sequence[str]]) -> str | None:
    """The format whose mark is in the first lines."""
    if _JSON.match(" ".join(chain.from_iterable(lines[:3]))):
        return "offsets"
    width = Counter(len(parts) for parts in lines if parts[0] != "#").most_common(1)
    for parts in lines:
        name = _FIRST_COLUMNS.get(tuple(parts[:2]))
        # Other formats have the comments of CoNLL-U, too.
        if name and (parts[1] in ("document", "global.columns") or not width or width[0][0] == 10):
            return name
    return None


def _is_conllu(columns: Sequence[Values], kinds: Sequence[Kind]) -> bool:
    """Whether there are ten columns, of which the first is a number and the fourth universal."""
    if len(columns) != 10 or kinds[0] is not Kind.NUMBERS:
        return False
    return set(chain.from_iterable(columns[3])) <= {*UNIVERSAL_TAGS, "_"}


def _options(
    sample: Sample, kinds: Sequence[Kind], layers: dict[str, int]
) -> tuple[str, dict[str, Any]]:
    """The name of the format that has these columns, and its options."""
    if sample.joined_by and sample.width == 3:
        layers.setdefault("tags", 1)
    options: dict[str, Any] = {}
    main = next(layer for layer in ("ents", "chunks", "tags") if layer in layers)
    for layer, index in layers.items():
        option = "tag_column" if layer == main else _OPTIONS[layer]
        default = {"words": 0, main: sample.width - 1}.get(layer)
        if index != default:
            options[option] = index
    if kinds[layers[main]] is Kind.BARE and main != "tags":
        options["label"] = DEFAULT_LABEL
    if kinds[layers[main]] is Kind.LABELS and main != "tags":
        options["prefixes"] = False
    for name in ("separator", "comment", "header", "joined_by"):
        if getattr(sample, name):
            options[name] = getattr(sample, name)
    order = tuple(sorted(layers, key=layers.__getitem__))
    name = _ORDERS.get(order, "iob") if len(layers) == sample.width else "iob"
    # Where the formats of these orders have the columns
    is_plain = options.items() <= {"pos_column": 1, "chunk_column": 2}.items()
    # In CoNLL-2000, there are no document boundaries
    if name != "iob" and is_plain and not (name == "conll2000" and sample.has_boundaries):
        return name, {}
    if layers.keys() == {"words", "tags"} and not sample.has_boundaries:
        return "tagged", options
    return "iob", options if main == "ents" else {**options, "layer": main}


def _separator_text(sample: Sample) -> str:
    if sample.joined_by:
        return f"tokens joined by '{sample.joined_by}' in lines of sentences:"
    return f"columns separated by {'tabs' if sample.separator else 'white space'}:"


def _option_text(name: str, value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value).replace("\t", "\\t")
    return f"--option {shlex.quote(f'{name}={text}')}"


def _column_text(values: Values, found: Kind, index: int, layers: dict[str, int]) -> str:
    """What a column has, and where it goes."""
    layer = next((layer for layer, i in layers.items() if i == index), None)
    if layer == "words":
        return "word"
    text = found.value
    if found is Kind.SPANS:
        text = f"spans in {scheme_of(values)}"
    elif layer is not None and found not in SPAN_KINDS:
        text = _NAMES[layer]
    return f"{text} → {_DESTINATIONS[layer]}" if layer else f"{text} (not read)"
