"""What to do about data that a format does not allow: stop, or count and go on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ..annotation.schemes import Span
from ..errors import Errors

MAX_EXAMPLES = 20


@dataclass
class Problems:
    """The problems met while reading.

    Readers report what they can go on after, in a way that drops no token; all else they raise.

    lenient (bool): Count problems. Otherwise the first one is raised.
    counts (Counter[str]): How many there were, by the code of the message.
    examples (List[str]): The first messages of each code; each names file and line.
    """

    lenient: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def report(self, message: str, count: int = 1) -> None:
        """Report a problem.

        message (str): A filled-in message of `Errors`, which names file, line and expectation.
        count (int): How many there are of the kind.
        RAISES (ValueError): If not lenient.
        """
        if not self.lenient:
            raise ValueError(message)
        code = message[1:5]
        if self.counts[code] < MAX_EXAMPLES:
            self.examples.append(message)
        self.counts[code] += count

    @property
    def total(self) -> int:
        """RETURNS (int): How many problems there were."""
        return self.counts.total()


def check_overlaps(
    spans: Iterable[Span], path: str | Path, line: int, layer: str, problems: Problems
) -> list[Span]:
    """Keep spans that do not overlap, as doc.ents needs them: of two, the longer one.

    spans (Iterable[Span]): Start, end and label.
    path (Union[str, Path]): The file, for the message.
    line (int): The line of the first word of the sentence.
    layer (str): What the spans are, for the message.
    problems (Problems): Takes each pair that overlaps.
    RETURNS (List[Span]): The spans that remain, in order.
    RAISES (ValueError): If spans overlap and problems are not lenient.
    """
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
                Errors.P146.format(path=path, line=line, layer=layer, first=other, second=span)
            )
    return sorted(kept)
