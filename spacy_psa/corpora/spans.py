"""Read spans from a column of tags, and check that the tags follow a single label scheme."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..annotation.schemes import OUTSIDE, Span, get_scheme, read_spans, split_tag
from ..errors import Errors
from .columns import Row
from .problems import Problems

# Maps the prefixes of BILOU and BMES, which read_spans does not know, to BIOES.
_OTHER_LETTERS = {"L": "E", "U": "S", "M": "I"}
# The schemes in which they can occur: BIO and others have I, but neither E nor S.
_SCHEMES_WITH_OTHERS = (None, "BIOES")
_KNOWN_PREFIXES = frozenset("BIES")
# "" is the tag of a line without valid columns, if problems are lenient; "." is from conlleval.
_OUTSIDE_TAGS = frozenset((OUTSIDE, ".", ""))


@dataclass
class SpanColumn:
    """A column of tags in one file.

    If no label scheme is given, any is read: BIO, IOB1, IO, BIOES, BILOU and BMES. The file must
    then be consistent in how spans start: with I in IOB1 and IO, but never with I in the others.

    path (Union[str, Path]): The file, for messages.
    index (int): The index of the column.
    columns (Sequence[str]): The names of all columns, for messages.
    scheme (Optional[str]): The name of the required label scheme.
    problems (Problems): Collects invalid tags. The spans are then read as in conlleval.
    """

    path: str | Path
    index: int
    columns: Sequence[str]
    scheme: str | None = None
    problems: Problems = field(default_factory=Problems)
    _first_b: tuple[int, str] | None = None
    _first_i: tuple[int, str] | None = None
    _n_i: int = 0

    def __post_init__(self) -> None:
        if self.scheme is not None:
            get_scheme(self.scheme)

    def read(self, rows: Sequence[Row]) -> list[Span]:
        """Read the spans of a sentence.

        rows (Sequence[Row]): The rows of the sentence.
        RETURNS (List[Span]): The spans, read as in conlleval.
        RAISES (ValueError): If there is an invalid tag and `problems` is not lenient.
        """
        tags = [row.columns[self.index] for row in rows]
        if any(tag not in _OUTSIDE_TAGS for tag in tags):
            tags = self._checked(rows, tags)
            return read_spans(tags)
        return []

    def _checked(self, rows: Sequence[Row], tags: list[str]) -> list[str]:
        """The tags with prefixes that read_spans knows, and O for malformed tags."""
        checked = []
        for row, tag in zip(rows, tags, strict=True):
            prefix, label = split_tag(tag)
            if self.scheme in _SCHEMES_WITH_OTHERS:
                prefix = _OTHER_LETTERS.get(prefix, prefix)
            if tag not in _OUTSIDE_TAGS and not label:
                self.problems.report(
                    Errors.P116.format(
                        path=self.path,
                        line=row.line,
                        tag=tag,
                        column=self.columns[self.index],
                        columns=", ".join(self.columns),
                    )
                )
                checked.append(OUTSIDE)
                continue
            if label and prefix not in _KNOWN_PREFIXES:
                allowed = "B-, I-, E- or S- (in BILOU L- and U-, in BMES M-)"
                self._report(row.line, tag, f"O or a tag with {allowed} was expected")
            checked.append(f"{prefix}-{label}" if label else OUTSIDE)
        if self.scheme is not None:
            for i, message in get_scheme(self.scheme).problems(checked):
                self._report(rows[i].line, tags[i], message.partition("] ")[2].rstrip("."))
        else:
            self._check_beginnings(rows, checked)
        return checked

    def _check_beginnings(self, rows: Sequence[Row], tags: Sequence[str]) -> None:
        """Check for a mix of schemes: B after O (or S), and I where no span is open."""
        previous_prefix, previous_label = OUTSIDE, ""
        for row, tag in zip(rows, tags, strict=True):
            prefix, label = split_tag(tag)
            if prefix == "S" or (prefix == "B" and previous_prefix == OUTSIDE):
                if self._first_b is None:
                    self._first_b = (row.line, row.columns[self.index])
                    if self._first_i is not None:
                        self._report_beginning(*self._first_i, count=self._n_i)
            elif prefix in ("I", "E") and (
                previous_prefix in (OUTSIDE, "E", "S") or label != previous_label
            ):
                if self._first_b is not None or prefix == "E":
                    self._report_beginning(row.line, row.columns[self.index])
                else:
                    self._first_i = self._first_i or (row.line, row.columns[self.index])
                    self._n_i += 1
            previous_prefix, previous_label = prefix, label

    def _report_beginning(self, line: int, tag: str, count: int = 1) -> None:
        if self._first_b is None:
            problem = f"there is no open span to end, so B-{split_tag(tag)[1]} was expected"
        else:
            other_line, other = self._first_b
            problem = (
                f"no span with that label is open, so B-{split_tag(tag)[1]} was expected, as in "
                f"line {other_line}, where '{other}' begins a span (in IOB1, it would not)"
            )
        self._report(line, tag, problem, count)

    def _report(self, line: int, tag: str, problem: str, count: int = 1) -> None:
        self.problems.report(
            Errors.P144.format(
                path=self.path,
                line=line,
                tag=tag,
                column=self.columns[self.index],
                problem=problem,
            ),
            count,
        )
