"""Compare two systems on the same sentences: is one better, and where do they differ?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..annotation.propositions import CONTINUATION
from ..figures.tables import DASH, Table, counted, interval, markdown_text, percent, visible
from .sentences import SCORES, WHOLES, ScoredSentence, count
from .significance import TESTS, Interval, TestResult, bootstrap_interval, difference, few_sentences
from .units import Layer, Unit

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
        # Of a set of labels, each system may have chosen another one
        gold=[
            one if one == other else f"{one} or {other}"
            for one, other in zip(
                columns(first.gold, length), columns(second.gold, length), strict=True
            )
        ],
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
    return Table(title, ["", "gold", *names], rows)


@dataclass(frozen=True)
class Differing:
    """The wholes that units are parts of, such as the propositions of arguments.

    name (str): Their name, in the plural.
    total (int): Their number in the gold standard.
    n (int): The number for which the systems' predictions differ.
    """

    name: str
    total: int
    n: int

    def to_dict(self) -> dict[str, int]:
        """The counts by name, for JSON."""
        return {self.name: self.total, f"differing_{self.name}": self.n}


@dataclass(frozen=True)
class Comparison:
    """A comparison of two systems by one score.

    layer (str): The layer that they predict.
    names (Tuple[str, str]): The names of the systems.
    score (str): A name in `SCORES`.
    values (Tuple[float, float]): Their scores, 0 to 1.
    difference (float): The second score minus the first.
    interval (Optional[Tuple[float, float]]): The bootstrap interval of the difference; None for a
        single sentence.
    confidence (float): The confidence level of the interval.
    tests (List[TestResult]): The significance tests of the difference.
    n_sentences (int): The number of sentences.
    better (Tuple[int, int]): The number of sentences in which the first and the second system,
        respectively, has more correct minus incorrect units.
    n_differing (int): The number of sentences in which the predictions differ.
    wholes (Optional[Differing]): The wholes that units are parts of, such as propositions; None if
        there are none.
    sentences (List[DifferingSentence]): Some of the differing sentences, or of the wholes in them,
        those with the greatest gain or loss first.
    """

    layer: str
    names: tuple[str, str]
    score: str
    values: tuple[float, float]
    difference: float
    interval: Interval | None
    confidence: float
    tests: list[TestResult]
    n_sentences: int
    better: tuple[int, int]
    n_differing: int
    wholes: Differing | None = None
    sentences: list[DifferingSentence] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The comparison, for JSON."""
        return {
            "layer": self.layer,
            "systems": list(self.names),
            "score": self.score,
            "values": list(self.values),
            "difference": self.difference,
            "confidence": self.confidence,
            "interval": self.interval and list(self.interval),
            "tests": [asdict(test) for test in self.tests],
            "sentences": self.n_sentences,
            "better_sentences": list(self.better),
            "differing_sentences": self.n_differing,
            **({} if self.wholes is None else self.wholes.to_dict()),
            "differences": [asdict(sentence) for sentence in self.sentences],
        }


def compare(
    first: Sequence[ScoredSentence],
    second: Sequence[ScoredSentence],
    layer: Layer,
    names: tuple[str, str] = ("A", "B"),
    *,
    score: str | None = None,
    tests: Sequence[str] = tuple(TESTS),
    n_trials: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    limit: int = 10,
) -> Comparison:
    """Compare two systems.

    first (Sequence[ScoredSentence]): Gold standard and predictions of the first system.
    second (Sequence[ScoredSentence]): The same sentences with predictions of the second system.
    layer (Layer): The layer that they predict.
    names (Tuple[str, str]): The names of the systems.
    score (Optional[str]): A name in `SCORES`; defaults to the layer's main score.
    tests (Sequence[str]): Names in `TESTS`.
    n_trials (int): The number of resamples or permutations for the tests and the interval.
    confidence (float): The confidence level of the interval.
    seed (int): The random seed.
    limit (int): The maximum number of differing sentences to keep.
    RETURNS (Comparison): The comparison.
    RAISES (ValueError): If the score does not apply to the layer.
    """
    score = score or layer.main_score
    layer.check_score(score)
    function = SCORES[score]
    counts = count(first), count(second)
    gains = net(counts[1]) - net(counts[0])
    differing = [pair for pair in zip(first, second, strict=True) if differs(*pair)]
    parts = [
        part
        for one, other in differing
        for part in zip(one.wholes(), other.wholes(), strict=True)
        if differs(*part)
    ]
    shown = sorted(parts, key=lambda part: -abs(_gain(*part)))[:limit]
    wholes = Differing(layer.whole, int(counts[0][:, WHOLES].sum()), len(parts))
    values = [float(np.nan_to_num(function(n.sum(0)))) for n in counts]
    settings: dict[str, Any] = {"n_trials": n_trials, "seed": seed}
    return Comparison(
        layer=layer.name,
        names=names,
        score=score,
        values=(values[0], values[1]),
        difference=difference(*counts, function),
        interval=bootstrap_interval(*counts, function, confidence=confidence, **settings),
        confidence=confidence,
        tests=[TESTS[name](*counts, function, **settings) for name in tests],
        n_sentences=len(first),
        better=(int((gains < 0).sum()), int((gains > 0).sum())),
        n_differing=len(differing),
        wholes=wholes if layer.whole else None,
        sentences=[side_by_side(*part, _gain(*part)) for part in shown],
    )


def net(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the number of correct minus incorrect predicted units."""
    predicted, correct = counts[:, 1], counts[:, 2]
    return correct - (predicted - correct)


def _gain(first: ScoredSentence, second: ScoredSentence) -> int:
    return int(net(count([second]))[0] - net(count([first]))[0])


def comparison_table(comparison: Comparison) -> Table:
    """Format a comparison as a table."""
    c = comparison
    rows = [[name, f"{percent(value)} %"] for name, value in zip(c.names, c.values, strict=True)]
    rows.append(["difference", f"{100 * c.difference:+.2f} %".replace("-", "\u2212")])
    ends = DASH if c.interval is None else f"{interval(c.interval)} %"
    rows.append([f"{100 * c.confidence:g}% interval", ends])
    for test in c.tests:
        exact = f", exact: all {test.n_trials:,} permutations" if test.exact else ""
        p_value = DASH if test.p_value is None else f"{test.p_value:.4f}"
        rows.append([f"p ({test.name}{exact})", p_value])
    return Table(f"{c.layer}: {c.score}", ["", "value"], rows)


def summary(comparison: Comparison) -> str:
    """The number of sentences in which the systems differ, and which is better there; on a separate
    line, a warning if there are few sentences.
    """
    c = comparison
    sentences, differing = counted(c.n_sentences, "sentences"), f"{c.n_differing:,}"
    if c.wholes is not None:
        sentences += f" with {counted(c.wholes.total, c.wholes.name)}"
        differing += f", for {counted(c.wholes.n, c.wholes.name)}"
    text = (
        f"{sentences}; different predictions in {differing}; "
        f"{c.names[0]} better in {c.better[0]:,}, {c.names[1]} in {c.better[1]:,}."
    )
    return "\n".join(filter(None, [text, few_sentences(c.n_sentences, "intervals and p-values")]))


def to_markdown(comparisons: Sequence[Comparison], title: str) -> str:
    """Format comparisons in Markdown."""
    parts = [f"# {markdown_text(title)}\n"]
    for comparison in comparisons:
        text = markdown_text(summary(comparison))
        parts += [comparison_table(comparison).to_markdown(plain=True), f"{text}\n"]
        tables = (sentence_table(s, comparison.names) for s in comparison.sentences)
        parts += [table.to_markdown(plain=True) for table in tables]
    return "\n".join(parts)
