"""Span columns in start-end brackets, `(A0*`, `*`, `*)`, as used by CoNLL-2005 and CoNLL-2012, and
the escapes of brackets in words, as in the Penn Treebank. Columns of arguments can be in BIO, too.

SOURCE: The README files of Treebank-2 (LDC95T7) and the OntoNotes 5.0 release notes (LDC2013T19).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from ..annotation.schemes import Span, get_scheme
from .columns import Row
from .problems import Problems, unexpected

NOTHING = "*"
VERB = "V"
# CoNLL-2012 writes single-token named entities as "(DATE)", without the asterisk. Marks with
# several brackets are matched too, to distinguish nested spans from malformed marks.
_MARK = re.compile(r"((?:\([^()*\s]+)*)\*?(\)*)", re.ASCII)
_TAG = re.compile(r"O|[BI]-[^()*\s]+")


def read_brackets(
    rows: Sequence[Row], marks: Sequence[str], column: str, path: str | Path, problems: Problems
) -> list[Span]:
    """Read the spans in one column of a sentence."""
    # Most columns of most sentences are empty.
    if marks.count(NOTHING) == len(marks):
        return []
    spans: list[Span] = []
    # Spans are added to `spans` when they open, which keeps them in file order.
    open_spans: list[int] = []
    for i, mark in [(i, mark) for i, mark in enumerate(marks) if mark != NOTHING]:
        parsed = _parse_mark(mark)
        if parsed is None:
            problem, expected = f"'{mark}' in column {column}", "marks (LABEL*, *, *), (LABEL*)"
            _report(path, rows[i].line, problem, expected, problems)
            continue
        labels, n_closed = parsed
        if len(labels) == n_closed == 1 and not open_spans:
            # Half of all spans have one token
            spans.append((i, i + 1, labels[0]))
            continue
        for label in labels:
            if open_spans:
                _, _, outer = spans[open_spans[-1]]
                problem = f"'{mark}' in column {column} opens a span inside ({outer}*"
                _report(path, rows[i].line, problem, "spans that are not nested", problems)
            open_spans.append(len(spans))
            spans.append((i, len(marks), label))
        for _ in range(n_closed):
            if not open_spans:
                problem = f"'{mark}' in column {column} closes a span, but none is open"
                _report(path, rows[i].line, problem, "a span opened by (LABEL*", problems)
                break
            place = open_spans.pop()
            start, _, label = spans[place]
            spans[place] = (start, i + 1, label)
    for place in open_spans:
        start, _, label = spans[place]
        problem = f"({label}* in column {column} is not closed by the end of the sentence"
        _report(path, rows[start].line, problem, "*) on the line of its last word", problems)
    return spans


@lru_cache(maxsize=65536)
def _parse_mark(mark: str) -> tuple[list[str], int] | None:
    """The labels that a mark opens and the number of spans it closes; None if it is not a mark."""
    match = _MARK.fullmatch(mark)
    return (match[1].split("(")[1:], len(match[2])) if mark and match else None


def read_propositions(
    rows: Sequence[Row],
    columns: Sequence[Sequence[str]],
    targets: Sequence[int],
    path: str | Path,
    problems: Problems,
) -> list[tuple[int, list[Span]]] | None:
    """Read the arguments of all predicates in a sentence.

    There is one column per target, in order. If there are more columns than targets, as in corpora
    that do not give the lemma of each predicate, each predicate is the first token of its argument
    V.
    """
    if len(columns) < len(targets):
        return None
    arguments = [
        _read_arguments(rows, marks, f"proposition {n}", path, problems)
        for n, marks in enumerate(columns, start=1)
    ]
    if len(columns) == len(targets):
        for target, spans in zip(targets, arguments, strict=True):
            heads = [(start, end) for start, end, label in spans if label == VERB]
            if heads and not any(start <= target < end for start, end in heads):
                what = f"propositions in {path} whose V is elsewhere than their target"
                problems.note(what, first=f"of line {rows[target].line}")
        return list(zip(targets, arguments, strict=True))
    verbs = [verb_of(spans) for spans in arguments]
    predicates = [verb for verb in verbs if verb is not None]
    if len(set(predicates)) < len(columns) or not set(targets) <= set(predicates):
        return None
    return list(zip(predicates, arguments, strict=True))


def are_marks(column: Sequence[str]) -> bool:
    """Check whether a column can be that of a predicate's arguments: brackets or BIO tags."""
    return all("*" in mark for mark in column) or _are_tags(column)


def _are_tags(column: Sequence[str]) -> bool:
    return all(map(_TAG.fullmatch, column))


def _read_arguments(
    rows: Sequence[Row], marks: Sequence[str], column: str, path: str | Path, problems: Problems
) -> list[Span]:
    """Read the column of a predicate's arguments."""
    if not _are_tags(marks):
        return read_brackets(rows, marks, column, path, problems)
    scheme = get_scheme("BIO")
    for i, _ in scheme.problems(marks):
        what = f"arguments in {path} that begin with I, not B, read as conlleval reads them"
        problems.note(what, first=f"{marks[i]} in line {rows[i].line}")
    return scheme.decode(marks)


def verb_of(arguments: Iterable[Span]) -> int | None:
    """Get the first token of the argument V."""
    return next((start for start, _, label in arguments if label == VERB), None)


def write_brackets(
    spans: Iterable[Span], length: int, fail: Callable[[str], Exception]
) -> list[str]:
    """Write spans as a bracket column."""
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
    problems.report(unexpected(path, line, problem, expected))


BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LCB-": "{",
    "-RCB-": "}",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LAB-": "<",
    "-RAB-": ">",
}
# OntoNotes escapes punctuation in transcribed speech, but not in written text.
SPOKEN_PUNCTUATION = {"/.": ".", "/?": "?", "/-": "-", "/,": ",", "/!": "!"}


def unescape_treebank(word: str) -> str:
    """Undo the escapes of the Penn Treebank: `-LRB-` is `(`, `1\\/2` is `1/2`, `\\*` is `*`."""
    if word in BRACKETS:
        return BRACKETS[word]
    if "\\" in word:
        return word.replace("\\/", "/").replace("\\*", "*").replace("\\|", "|")
    return word


def unescape_ontonotes(word: str) -> str:
    """Undo the escapes of OntoNotes: those of the treebank, and `/.` for `.` in speech."""
    return SPOKEN_PUNCTUATION.get(word) or unescape_treebank(word)
