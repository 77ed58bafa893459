"""Read spans from a column of tags, and find the tags that do not fit the scheme of the others."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from types import TracebackType

from ..annotation.schemes import OUTSIDE, Span, get_scheme, read_spans, split_tag
from ..errors import Errors
from .columns import Row, names_columns
from .problems import Problems

# Maps the prefixes of BILOU and BMES, which read_spans does not know, to BIOES.
_OTHER_LETTERS = {"L": "E", "U": "S", "M": "I"}
_KNOWN_PREFIXES = frozenset("BIES")
# "" is the tag of a line without valid columns, if problems are lenient; "." is from conlleval.
_OUTSIDE_TAGS = frozenset((OUTSIDE, ".", ""))
# Of the schemes that fit equally well, the first is the scheme of the column. IO is part of IOB1.
_CANDIDATES = ("BIO", "IOB1", "BIOES")
_HEADER = " The line seems to be a header: to skip it, set --format iob with --option header=true."

Pair = tuple[str | None, str | None]
"""A tag and the one before it; None for what is outside the sentence."""


@dataclass
class SpanColumn:
    """A column of tags in one file, in BIO, IOB1, IO, BIOES, BILOU or BMES.

    Tags in files often have a few that do not fit the scheme of the others, such as B after O in
    IOB1. Since all tags are read as in conlleval, they do not keep the file from being read: they
    are counted, and reported at the end of the `with` statement that the column is used in.

    path (Union[str, Path]): The file, for messages.
    index (int): The index of the column.
    columns (Sequence[str]): The names of all columns, for messages.
    scheme (Optional[str]): The name of the label scheme; None for the one that fits most tags.
    problems (Problems): Collects invalid tags, and those that do not fit the scheme.
    """

    path: str | Path
    index: int
    columns: Sequence[str]
    scheme: str | None = None
    problems: Problems = field(default_factory=Problems)
    _valid: set[str] = field(default_factory=set)
    _known: dict[str, str] = field(default_factory=dict)
    _counts: Counter[Pair] = field(default_factory=Counter)
    _lines: dict[Pair, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.scheme is not None:
            get_scheme(self.scheme)

    def __enter__(self) -> "SpanColumn":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Report the tags that do not fit, also if only the first sentences were asked for."""
        if kind is None or issubclass(kind, GeneratorExit):
            self._report_misfits()

    def read(self, rows: Sequence[Row]) -> list[Span]:
        """Read the spans of a sentence."""
        tags = [row.columns[self.index] for row in rows]
        if not self._valid.issuperset(tags):
            self._check(tags, rows)
        tags = [self._known[tag] for tag in tags]
        if tags.count(OUTSIDE) == len(tags):
            return []
        pairs = list(pairwise((None, *tags, None)))
        self._counts.update(pairs)
        if not self._lines.keys() >= set(pairs):
            for pair, row in zip(pairs, (*rows, rows[-1]), strict=True):
                self._lines.setdefault(pair, row.line)
        return list(_read_stretches([_in_bioes(tag) for tag in tags]))

    def _check(self, tags: Sequence[str], rows: Sequence[Row]) -> None:
        for tag, row in zip(tags, rows, strict=True):
            is_first = not self._known
            label = split_tag(tag)[1]
            is_outside = tag in _OUTSIDE_TAGS
            self._known[tag] = tag if label and not is_outside else OUTSIDE
            if is_outside or (label and _is_known(tag)):
                self._valid.add(tag)
                continue
            self.problems.report(
                Errors.P116.format(
                    path=self.path,
                    line=row.line,
                    tag=tag,
                    column=self.columns[self.index],
                    columns=", ".join(self.columns),
                    header=_HEADER if is_first and names_columns(row.columns) else "",
                )
            )

    def _report_misfits(self) -> None:
        name, found = find_misfits(self._counts, self.scheme)
        if not found:
            return
        n = sum(self._counts[pair] for pair in found)
        first = min(found, key=self._lines.__getitem__)
        line, example, column = self._lines[first], _describe(*first), self.columns[self.index]
        if self.problems.strict:
            raise ValueError(
                Errors.P144.format(
                    path=self.path, line=line, example=example, column=column, scheme=name, n=n
                )
            )
        what = f"tags in column {column} of {self.path} that do not fit its scheme, {name}, and are"
        self.problems.note(
            f"{what} read as conlleval reads them", n, first=f"in line {line}: {example}"
        )


def find_misfits(counts: Mapping[Pair, int], scheme: str | None = None) -> tuple[str, list[Pair]]:
    """Find the tags that are not in the scheme of the others, or not after their predecessors."""
    candidates = _CANDIDATES if scheme is None else (scheme,)
    misfits = {name: [pair for pair in counts if not _fits(*pair, name)] for name in candidates}
    name = min(misfits, key=lambda name: sum(map(counts.__getitem__, misfits[name])))
    prefixes = {tag[0] for _, tag in counts if tag}
    written = name
    if scheme is None and name == "BIOES" and not prefixes.isdisjoint(_OTHER_LETTERS):
        written = "BMES" if "M" in prefixes else "BILOU"
    elif scheme is None and name == "IOB1" and "B" not in prefixes:
        written = "IO"
    return written, misfits[name]


def _fits(previous: str | None, tag: str | None, name: str) -> bool:
    scheme = get_scheme(name)
    if name == "BIOES":
        previous, tag = previous and _in_bioes(previous), tag and _in_bioes(tag)
    if tag is not None and not scheme.knows(tag):
        return not _is_known(tag)
    return not scheme.knows(previous) or scheme.may_follow(previous, tag)


def _is_known(tag: str) -> bool:
    """Whether the tag is one of some scheme; others are reported where they are."""
    return tag == OUTSIDE or (_in_bioes(tag)[0] in _KNOWN_PREFIXES and tag[1:2] == "-")


@lru_cache(maxsize=65536)
def _in_bioes(tag: str) -> str:
    return _OTHER_LETTERS.get(tag[0], tag[0]) + tag[1:] if tag[1:2] == "-" else tag


def _read_stretches(tags: Sequence[str]) -> Iterator[Span]:
    """Read tags as in conlleval. What is outside separates: none changes how others are read."""
    start = 0
    for is_outside, group in groupby(tags, OUTSIDE.__eq__):
        stretch = list(group)
        if not is_outside:
            for first, end, label in read_spans(stretch):
                yield start + first, start + end, label
        start += len(stretch)


def _describe(previous: str | None, tag: str | None) -> str:
    if previous is None:
        return f"'{tag}' at the start of a sentence"
    return (
        f"'{previous}' at the end of a sentence" if tag is None else f"'{tag}' after '{previous}'"
    )
