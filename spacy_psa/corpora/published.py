"""Published corpus sizes, and how to count Docs to compare with them.

The figures are in `published.json`, each with its source.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ..errors import Errors, check_choice

if TYPE_CHECKING:
    from spacy.tokens import Doc

PATH = Path(__file__).with_name("published.json")
SPLITS = ("train", "dev", "test", "brown")


@dataclass(frozen=True)
class Figure:
    """A published number, for each split.

    count (str): What is counted: a name in `COUNTS`.
    splits (Dict[str, int]): The published number for each split.
    source (str): Where it is published.
    offset (Dict[str, int]): The published number minus ours, as far as the difference is due to a
        different way of counting.
    why (str): That way of counting.
    unchecked (str): Why the number cannot be used for comparison; empty if it can.
    """

    count: str
    splits: dict[str, int]
    source: str
    offset: dict[str, int] = field(default_factory=dict)
    why: str = ""
    unchecked: str = ""

    def expected(self, split: str) -> int:
        """Our number for a complete copy of the corpus."""
        return self.splits[split] - self.offset.get(split, 0)


@dataclass(frozen=True)
class PublishedCorpus:
    """A corpus that has a workflow.

    name (str): The name of its workflow.
    title (str): A short description.
    license (str): Its license.
    obtain (Optional[str]): How to get it, in one sentence; None if a workflow fetches it.
    where (str): Its URL.
    folder (str): The folder in which the workflow expects it.
    figures (List[Figure]): Its published sizes.
    """

    name: str
    title: str
    license: str
    obtain: str | None
    where: str
    folder: str
    figures: list[Figure]

    @property
    def splits(self) -> list[str]:
        """The splits with published figures."""
        return [split for split in SPLITS if any(split in f.splits for f in self.figures)]

    def checked(self, split: str) -> list[Figure]:
        """The figures of a split that can be used for comparison."""
        return [f for f in self.figures if split in f.splits and not f.unchecked]


@lru_cache(maxsize=1)
def published_corpora() -> dict[str, PublishedCorpus]:
    """All corpora by name."""
    data: dict[str, dict[str, Any]] = json.loads(PATH.read_text(encoding="utf8"))
    return {
        name: PublishedCorpus(
            name=name, **{**entry, "figures": [Figure(**figure) for figure in entry["figures"]]}
        )
        for name, entry in data.items()
    }


def get_published(name: str) -> PublishedCorpus:
    """Look up a corpus."""
    corpora = published_corpora()
    check_choice("corpus", name, corpora)
    return corpora[name]


def read_treebank_stats(path: Path, split: str) -> list[Figure]:
    """Read the sizes in the `stats.xml` of a Universal Dependencies treebank."""
    try:
        sizes = {part.tag: part for part in ElementTree.parse(path).getroot().iterfind("size/*")}
        numbers = sizes[split]
        # If no token is split, the number of words may be missing: it is the number of tokens.
        words = numbers.findtext("words") or numbers.findtext("tokens")
        found = {"sentences": int(numbers.findtext("sentences", "")), "tokens": int(words or "")}
    except (ElementTree.ParseError, KeyError, ValueError) as err:
        raise ValueError(Errors.P174.format(path=path, split=split)) from err
    return [Figure(count, {split: n}, source=path.name) for count, n in found.items()]


class Counter:
    """Count the quantities of the published figures over the Docs of a split."""

    def __init__(self) -> None:
        self.numbers = dict.fromkeys(COUNTS, 0)
        self._labels: dict[str, set[str]] = {count: set() for count in COUNTS}

    def add(self, docs: "Iterable[Doc]") -> None:
        """Count some Docs."""
        for doc in docs:
            for count, (measure, distinct) in COUNTS.items():
                measured = measure(doc)
                if distinct:
                    self._labels[count].update(measured)
                    self.numbers[count] = len(self._labels[count])
                else:
                    self.numbers[count] += sum(1 for _ in measured)


def _sentences(doc: "Doc") -> Iterable[Any]:
    return doc.sents if doc.has_annotation("SENT_START") else [doc]


def _spans_of(key: str) -> "Callable[[Doc], Iterable[Any]]":
    return lambda doc: doc.spans.get(key, ())


def _labels_of(key: str) -> "Callable[[Doc], Iterable[str]]":
    spans_of = _spans_of(key)
    return lambda doc: (span.label_ for span in spans_of(doc))


# What is counted, and whether only distinct values count.
COUNTS: "dict[str, tuple[Callable[[Doc], Iterable[Any]], bool]]" = {
    "sentences": (_sentences, False),
    "tokens": (lambda doc: doc, False),
    "tags": (lambda doc: (token.tag_ for token in doc if token.tag), True),
    "chunks": (_spans_of("chunks"), False),
    "chunk types": (_labels_of("chunks"), True),
    "entities": (lambda doc: doc.ents, False),
    "entity types": (lambda doc: (ent.label_ for ent in doc.ents), True),
    "predicates": (_spans_of("frames"), False),
}


def differences(figures: Iterable[Figure], split: str, numbers: dict[str, int]) -> list[str]:
    """Compare counts with the published ones."""
    found = []
    for figure in figures:
        expected, number = figure.expected(split), numbers[figure.count]
        if number != expected:
            offset = figure.offset.get(split, 0)
            note = f" (published: {figure.splits[split]:,}, since {figure.why})" if offset else ""
            found.append(
                f"{number:,} {figure.count} instead of {expected:,}{note} [{figure.source}]"
            )
    return found


def markdown_table(corpus: PublishedCorpus) -> str:
    """Format the published figures of a corpus."""
    header = ["", *corpus.splits, "source", "remarks"]
    rows = [
        [
            figure.count,
            *(
                f"{n:,}" if (n := figure.splits.get(split)) is not None else ""
                for split in corpus.splits
            ),
            figure.source,
            _remark(figure),
        ]
        for figure in corpus.figures
    ]
    aligns = ["---", *["---:"] * len(corpus.splits), "---", "---"]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, aligns, *rows))


def _remark(figure: Figure) -> str:
    if figure.unchecked:
        return f"not compared: {figure.unchecked}"
    if not figure.why:
        return ""
    offsets = ", ".join(f"{figure.offset.get(split, 0):+,}" for split in figure.splits)
    return f"{figure.why} ({offsets})"
