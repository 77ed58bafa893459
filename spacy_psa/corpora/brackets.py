"""Columns of spans in start-end brackets: `(A0*`, `*`, `*)`, as CoNLL-2005 and CoNLL-2012 have."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from ..annotation.schemes import Span
from ..errors import Errors
from .columns import Row
from .problems import Problems

NOTHING = "*"
VERB = "V"
# "(DATE)", without the asterisk, is how CoNLL-2012 has named entities of one token. Marks of
# several brackets are read, so that a nested one can be told from one that is no mark at all.
_MARK = re.compile(r"((?:\([^()*\s]+)*)\*?(\)*)", re.ASCII)


def read_brackets(
    rows: Sequence[Row], marks: Sequence[str], column: str, path: str | Path, problems: Problems
) -> list[Span]:
    """Read the spans of a column of a sentence.

    rows (Sequence[Row]): The rows of the sentence, for the numbers of their lines.
    marks (Sequence[str]): What the column has in each of them.
    column (str): The name of the column, for messages.
    path (Union[str, Path]): The file, for messages.
    problems (Problems): Takes brackets that are no marks, nested, never closed or never opened. If
        lenient, nested spans are kept, spans that are not closed end with the sentence, and other
        marks count as `*`.
    RETURNS (List[Span]): Start, end and label of each span, in the order of the file.
    RAISES (ValueError): If there is such a problem and problems are not lenient.
    """
    # Most columns of most sentences have nothing in them.
    if marks.count(NOTHING) == len(marks):
        return []
    spans: list[Span] = []
    # Each open span has its place in `spans` from the start, so that they come out in file order.
    open_spans: list[int] = []
    for i, mark in enumerate(marks):
        if mark == NOTHING:
            continue
        parsed = _parse_mark(mark)
        if parsed is None:
            problem, expected = f"'{mark}' in the column {column}", "marks (LABEL*, *, *), (LABEL*)"
            _report(path, rows[i].line, problem, expected, problems)
            continue
        labels, n_closed = parsed
        for label in labels:
            if open_spans:
                _, _, outer = spans[open_spans[-1]]
                problem = f"'{mark}' in the column {column} opens a span within the open ({outer}*"
                _report(path, rows[i].line, problem, "spans that are not nested", problems)
            open_spans.append(len(spans))
            spans.append((i, len(marks), label))
        for _ in range(n_closed):
            if not open_spans:
                problem = f"'{mark}' in the column {column} closes a span, but none is open"
                _report(path, rows[i].line, problem, "a span that was opened by (LABEL*", problems)
                break
            place = open_spans.pop()
            start, _, label = spans[place]
            spans[place] = (start, i + 1, label)
    for place in open_spans:
        start, _, label = spans[place]
        problem = f"({label}* in the column {column} is not closed by the end of the sentence"
        _report(path, rows[start].line, problem, "*) in the line of its last word", problems)
    return spans


@lru_cache(maxsize=65536)
def _parse_mark(mark: str) -> tuple[list[str], int] | None:
    """The labels that a mark opens, and how many spans it closes; None if it is no mark."""
    match = _MARK.fullmatch(mark)
    return (match[1].split("(")[1:], len(match[2])) if mark and match else None


def read_propositions(
    rows: Sequence[Row],
    columns: Sequence[Sequence[str]],
    targets: Sequence[int],
    path: str | Path,
    problems: Problems,
) -> list[tuple[int, list[Span]]] | None:
    """Read the arguments of all predicates of a sentence.

    The columns are those of the targets, in order. Where there are more, as in corpora that do not
    give the lemma of each predicate, the predicate is the first token of the argument V.

    rows (Sequence[Row]): The rows of the sentence, for the numbers of their lines.
    columns (Sequence[Sequence[str]]): The columns of brackets.
    targets (Sequence[int]): The tokens that are marked as predicates.
    path (Union[str, Path]): The file, for messages.
    problems (Problems): Takes wrong brackets, see `read_brackets`.
    RETURNS (Optional[List[Tuple[int, List[Span]]]]): Predicate and arguments for each column; None
        if the numbers of columns and predicates do not agree.
    RAISES (ValueError): If brackets are wrong and problems are not lenient.
    """
    if len(columns) < len(targets):
        return None
    arguments = [
        read_brackets(rows, marks, f"of proposition {n}", path, problems)
        for n, marks in enumerate(columns, start=1)
    ]
    if len(columns) == len(targets):
        return list(zip(targets, arguments, strict=True))
    verbs = [verb_of(spans) for spans in arguments]
    predicates = [verb for verb in verbs if verb is not None]
    if len(set(predicates)) < len(columns) or not set(targets) <= set(predicates):
        return None
    return list(zip(predicates, arguments, strict=True))


def verb_of(arguments: Iterable[Span]) -> int | None:
    """The first token of the argument V.

    arguments (Iterable[Span]): Start, end and label of each argument.
    RETURNS (Optional[int]): The index of the token; None if there is no V.
    """
    return next((start for start, _, label in arguments if label == VERB), None)


def write_brackets(
    spans: Iterable[Span], length: int, fail: Callable[[str], Exception]
) -> list[str]:
    """Write spans as a column of brackets.

    spans (Iterable[Span]): Start, end and label, in any order.
    length (int): The number of tokens of the sentence.
    fail (Callable[[str], Exception]): Makes the error, given what is wrong.
    RETURNS (List[str]): A mark for each token.
    RAISES (ValueError): If spans overlap, or if a label cannot stand in a mark; see `fail`.
    """
    marks = [NOTHING] * length
    taken_to = 0
    for start, end, label in sorted(spans):
        if start < taken_to:
            raise fail(f"the span {label} ({start}-{end}) overlaps another one")
        if not label or any(sign in label for sign in "()*"):
            raise fail(f"the label '{label}' is empty or has one of the signs ( ) *")
        marks[start] = f"({label}{NOTHING}"
        marks[end - 1] += ")"
        taken_to = end
    return marks


def _report(path: str | Path, line: int, problem: str, expected: str, problems: Problems) -> None:
    message = Errors.P145.format(path=path, line=line, problem=problem, expected=expected)
    problems.report(message)
