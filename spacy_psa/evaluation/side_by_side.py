"""The outputs of two systems for a sentence, side by side with the gold standard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .layers import Unit
from .sentences import ScoredSentence
from .tables import Table

CONTEXT = 2  # words to show around those that differ
ELLIPSIS = "…"
INSIDE, LAST = "│", "└"


@dataclass(frozen=True)
class DifferingSentence:
    """A sentence for which two systems predict different things.

    doc (int): Which document of the data it is in, from 1.
    token (int): Its first token in the document, from 0.
    words (List[str]): Its words.
    gold (List[str]): The gold standard, one text a token: a label where a unit begins, bars down
        to where it ends.
    first (List[str]): The same for the first system.
    second (List[str]): The same for the second one.
    gain (int): How many more units the second system has right, wrong ones subtracted.
    """

    doc: int
    token: int
    words: list[str]
    gold: list[str]
    first: list[str]
    second: list[str]
    gain: int

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All of it, ready for JSON."""
        return asdict(self)


def differs(first: ScoredSentence, second: ScoredSentence) -> bool:
    """RETURNS (bool): Whether two systems predict different things for a sentence."""
    return set(first.predicted) != set(second.predicted)


def columns(units: Sequence[Unit], length: int) -> list[str]:
    """Write units beside their tokens.

    units (Sequence[Unit]): The units.
    length (int): The number of tokens.
    RETURNS (List[str]): For each token, the labels of units that begin there, or a bar for one
        that goes on there.
    """
    cells = [""] * length
    for unit in sorted(units):
        for i in range(unit.start + 1, min(unit.end, length)):
            cells[i] = cells[i] or (INSIDE if i < unit.end - 1 else LAST)
    for i in range(length):
        labels = [unit.label for unit in sorted(units) if unit.start == i]
        cells[i] = "+".join(labels) or cells[i]
    return cells


def side_by_side(first: ScoredSentence, second: ScoredSentence, gain: int) -> DifferingSentence:
    """Put two systems side by side.

    first (ScoredSentence): Gold standard and predictions of the first system.
    second (ScoredSentence): The same sentence with the predictions of the second one.
    gain (int): What the second system has gained.
    RETURNS (DifferingSentence): The sentence.
    """
    length = len(first.words)
    return DifferingSentence(
        doc=first.doc + 1,
        token=first.start,
        words=list(first.words),
        gold=columns(first.gold, length),
        first=columns(first.predicted, length),
        second=columns(second.predicted, length),
        gain=gain,
    )


def sentence_table(sentence: DifferingSentence, names: tuple[str, str]) -> Table:
    """Lay out a sentence: one line a token, those far from any difference left out.

    sentence (DifferingSentence): The sentence.
    names (Tuple[str, str]): The systems.
    RETURNS (Table): Words, gold standard, and predictions.
    """
    s = sentence
    lines = list(zip(s.words, s.gold, s.first, s.second, strict=True))
    at = [i for i, (_, _, one, other) in enumerate(lines) if one != other]
    shown = sorted({j for i in at for j in range(i - CONTEXT, i + CONTEXT + 1)})
    shown = [i for i in shown if 0 <= i < len(lines)]
    rows: list[list[str]] = []
    previous = -1
    for i in [*shown, len(lines)]:
        if i > previous + 1:
            rows.append([ELLIPSIS, "", "", ""])
        if i < len(lines):
            rows.append(list(lines[i]))
        previous = i
    gain = f"{s.gain:+d}".replace("-", "\u2212")
    title = f"Document {s.doc}, token {s.token}: {gain} for {names[1]}"
    return Table(title, ["", "gold", *names], rows, numbers=False)
