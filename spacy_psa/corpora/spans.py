"""Read spans from a column of tags, and find the tags that do not fit the scheme of the others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from types import TracebackType

from ..annotation.schemes import OUTSIDE, Span, get_scheme, read_spans, split_tag
from ..errors import Errors
from .columns import Row
from .problems import Problems

# Maps the prefixes of BILOU and BMES, which read_spans does not know, to BIOES.
_OTHER_LETTERS = {"L": "E", "U": "S", "M": "I"}
_KNOWN_PREFIXES = frozenset("BIES")
# "" is the tag of a line without valid columns, if problems are lenient; "." is from conlleval.
_OUTSIDE_TAGS = frozenset((OUTSIDE, ".", ""))
# Of the schemes that fit equally well, the first is the scheme of the column. IO is part of IOB1.
_CANDIDATES = ("BIO", "IOB1", "BIOES")

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
    _read: dict[str, str] = field(default_factory=dict)
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
        """Read the spans of a sentence.

        rows (Sequence[Row]): The rows of the sentence.
        RETURNS (List[Span]): The spans, read as in conlleval.
        RAISES (ValueError): If there is an invalid tag and `problems` is not lenient.
        """
        tags = [row.columns[self.index] for row in rows]
        if not self._valid.issuperset(tags):
            self._check(tags, rows)
        read = [self._read[tag] for tag in tags]
        if read.count(OUTSIDE) == len(read):
            return []
        pairs = list(pairwise((None, *tags, None)))
        self._counts.update(pairs)
        if not self._lines.keys() >= set(pairs):
            for pair, row in zip(pairs, (*rows, rows[-1]), strict=True):
                self._lines.setdefault(pair, row.line)
        return list(_read_stretches(read))

    def _check(self, tags: Sequence[str], rows: Sequence[Row]) -> None:
        for tag, row in zip(tags, rows, strict=True):
            prefix, label = split_tag(tag)
            prefix = _OTHER_LETTERS.get(prefix, prefix)
            is_outside = tag in _OUTSIDE_TAGS
            self._read[tag] = f"{prefix}-{label}" if label and not is_outside else OUTSIDE
            if is_outside or (label and prefix in _KNOWN_PREFIXES):
                self._valid.add(tag)
                continue
            self.problems.report(
                Errors.P116.format(
                    path=self.path,
                    line=row.line,
                    tag=tag,
                    column=self.columns[self.index],
                    columns=", ".join(self.columns),
                )
            )

    def _report_misfits(self) -> None:
        candidates = _CANDIDATES if self.scheme is None else (self.scheme,)
        misfits = [self._misfits(name) for name in candidates]
        found = min(misfits, key=lambda pairs: sum(map(self._counts.__getitem__, pairs)))
        if not found:
            return
        n = sum(self._counts[pair] for pair in found)
        first = min(found, key=self._lines.__getitem__)
        line, example = self._lines[first], _describe(*first)
        name, column = candidates[misfits.index(found)], self.columns[self.index]
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

    def _misfits(self, name: str) -> list[Pair]:
        """The pairs whose second tag is not in the scheme, or not after the first."""
        scheme = get_scheme(name)
        found = []
        for pair in self._counts:
            read = [tag and self._read[tag] for tag in pair]
            # Those in the letters of BILOU and BMES are only in BIOES.
            previous, tag = (
                after if name == "BIOES" or after == OUTSIDE else before
                for before, after in zip(pair, read, strict=True)
            )
            follows = not scheme.knows(previous) or scheme.may_follow(previous, tag)
            is_valid = pair[1] is None or pair[1] in self._valid
            if is_valid and not (scheme.knows(tag) and follows):
                found.append(pair)
        return found


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
