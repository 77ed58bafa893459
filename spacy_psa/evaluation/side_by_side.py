"""Show the outputs of two systems side by side with the gold standard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..annotation.propositions import CONTINUATION
from ..figures.tables import Table, visible
from .sentences import ScoredSentence
from .units import Unit

CONTEXT = 2  # words to show around differences
ELLIPSIS = "…"
INSIDE, LAST = "│", "└"


@dataclass(frozen=True)
class DifferingSentence:
    """A sentence, or one of its wholes, for which the predictions of two systems differ.

    doc (int): The number of its document in the data, from 1.
    token (int): The index of its first token in the document, from 0.
    words (List[str]): Its words.
    gold (List[str]): The gold units, one string per token: a label where a unit begins, then bars
        down to its end.
    first (List[str]): The same for the first system.
    second (List[str]): The same for the second system.
    anchor (Optional[int]): The token that the units belong to, e.g. the predicate, relative to the
        sentence; None if units of the layer have no anchors.
    gain (int): The gain of the second system in correct minus incorrect units.
    """

    doc: int
    token: int
    words: list[str]
    gold: list[str]
    first: list[str]
    second: list[str]
    gain: int
    anchor: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The sentence, for JSON."""
        return asdict(self)


def differs(first: ScoredSentence, second: ScoredSentence) -> bool:
    """Whether the predictions of two systems differ for a sentence."""
    return set(first.predicted) != set(second.predicted)


def columns(units: Sequence[Unit], length: int) -> list[str]:
    """Format units token by token."""
    cells = [""] * length
    for unit in sorted(units):
        for start, end in unit.pieces:
            for i in range(max(0, start + 1), min(end, length)):
                cells[i] = cells[i] or (INSIDE if i < end - 1 else LAST)
    begins: dict[int, list[str]] = {}
    for unit in sorted(units):
        for start, _ in unit.pieces:
            label = unit.label if start == unit.start else CONTINUATION + unit.label
            begins.setdefault(start, []).append(label)
    return ["+".join(begins.get(i, [])) or cell for i, cell in enumerate(cells)]


def side_by_side(first: ScoredSentence, second: ScoredSentence, gain: int) -> DifferingSentence:
    """Put the predictions of two systems side by side."""
    length = len(first.words)
    return DifferingSentence(
        doc=first.doc + 1,
        token=first.start,
        words=list(first.words),
        gold=columns(first.gold, length),
        first=columns(first.predicted, length),
        second=columns(second.predicted, length),
        gain=gain,
        anchor=first.anchors[0] if first.anchors else None,
    )


def sentence_table(sentence: DifferingSentence, names: tuple[str, str]) -> Table:
    """Format a sentence with one row per token, without tokens far from any difference."""
    s = sentence
    seen = [visible(word) for word in s.words]
    words = [f"[{word}]" if i == s.anchor else word for i, word in enumerate(seen)]
    lines = list(zip(words, s.gold, s.first, s.second, strict=True))
    at = [i for i, (_, _, one, other) in enumerate(lines) if one != other]
    if s.anchor is not None:
        at.append(s.anchor)
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
    of = "" if s.anchor is None else f", '{seen[s.anchor]}' (token {s.token + s.anchor})"
    title = f"Document {s.doc}, token {s.token}{of}: {gain} for {names[1]}"
    return Table(title, ["", "gold", *names], rows, numbers=False)
