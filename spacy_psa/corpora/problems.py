"""How to handle data that a format does not allow: stop, or count and continue."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ..annotation.schemes import Span
from ..errors import Errors

MAX_EXAMPLES = 20


def unexpected(path: str | Path, line: object, problem: str, expected: str) -> str:
    """Format the message for a line that has something else than what is expected."""
    return Errors.P145.format(path=path, line=line, problem=problem, expected=expected)


@dataclass
class Problems:
    """The problems found while reading.

    Readers report problems after which they can continue without dropping a token, and raise all
    others.

    lenient (bool): Whether to count problems instead of raising the first.
    strict (bool): Whether to raise an error for tags of spans that do not fit their scheme.
    patience (int): The number of problems to collect, if not lenient, before they are raised.
    counts (Counter[str]): The number of problems by message code.
    examples (List[str]): The first messages for each code; each names the file and line.
    found (Counter[str]): What was recognised in the data, such as its layout: how often.
    notes (Counter[str]): What was read differently than it is written, or not at all, in files that
        are valid: how often.
    """

    lenient: bool = False
    strict: bool = False
    patience: int = 1
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    _texts: dict[str, str] = field(default_factory=dict)

    def report(self, message: str, count: int = 1) -> None:
        """Report a problem."""
        code = message[1:5]
        if self.counts[code] < MAX_EXAMPLES:
            self.examples.append(message)
        self.counts[code] += count
        if len(self.examples) >= self.patience:
            self.check()

    def check(self) -> None:
        """Raise the last problem found, unless lenient."""
        if self.examples and not self.lenient:
            raise ValueError(self.examples[-1])

    def note(self, what: str, count: int = 1, *, first: str = "") -> None:
        """Count something that users should know of, but that is no problem."""
        text = self._texts.setdefault(what, f"{what} (the first {first})" if first else what)
        self.notes[text] += count

    @property
    def total(self) -> int:
        """The total number of problems."""
        return self.counts.total()


def remedies_once(messages: Sequence[str]) -> list[str]:
    """Shorten messages: of those with the same code, only the last keeps the sentences at its end,
    such as the remedy, that others have as well."""
    last = {message[1:5]: message for message in messages}
    shown = []
    for message in messages:
        parts, others = message.split(". "), last[message[1:5]].split(". ")
        n = 0 if parts == others else min(len(parts), len(others)) - 1
        while n and parts[-n:] != others[-n:]:
            n -= 1
        shown.append(". ".join(parts[:-n]) + "." if n else message)
    return shown


def check_overlaps(
    spans: Iterable[Span],
    path: str | Path,
    line: object,
    layer: str,
    problems: Problems,
    error: str = Errors.P146,
    name: Callable[[Span], object] = tuple,
) -> list[Span]:
    """Remove overlaps, which `doc.ents` does not allow, by keeping the longer of two spans."""
    ordered = sorted(spans)
    if all(left[1] <= right[0] for left, right in pairwise(ordered)):
        return ordered
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (s[0] - s[1], s)):
        other = next((k for k in kept if span[0] < k[1] and k[0] < span[1]), None)
        if other is None:
            kept.append(span)
        else:
            problems.report(
                error.format(
                    path=path, line=line, layer=layer, first=name(other), second=name(span)
                )
            )
    return sorted(kept)
