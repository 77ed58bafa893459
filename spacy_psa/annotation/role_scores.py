"""Score semantic roles by the rules of the official CoNLL-2005 evaluator.

Published results come from `srl-eval.pl`, so these scores must count in the same way:

- The unit is the argument. It is correct if its role and all of its words are.
- V is counted separately, and excluded from all totals.
- A `C-A1` piece belongs to the last preceding A1. Together they are one argument, which is correct
  if all of its pieces are. Without a preceding A1, it counts as an A1. R-A0 is a role like any
  other.
- A proposition is perfect if it has no missed and no excess arguments. A proposition without
  arguments is perfect if nothing is predicted for it.
- If a proposition is missing from the predictions, or has another verb there, all of its arguments
  count as missed. Predicted propositions that are not in the gold standard are skipped.

SOURCE: srl-eval.pl, by Xavier Carreras and Lluís Màrquez, from the software of the shared task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import Errors
from ..percentages import PRF
from .propositions import Frame, join_continuations
from .schemes import Span

EXCLUDED = frozenset(("V",))
NO_ARGUMENT = "-NONE-"


class Argument(NamedTuple):
    """An argument with all its pieces.

    role (str): The role, without `C-`.
    pieces (Tuple[Tuple[int, int], ...]): Start and end of each piece, in order.
    """

    role: str
    pieces: tuple[tuple[int, int], ...]


@dataclass
class RoleCounts(PRF):
    """Counts of correct, excess and missed arguments.

    correct (int): Arguments in both the gold standard and the predictions (true positives).
    excess (int): Arguments only in the predictions (false positives).
    missed (int): Arguments only in the gold standard (false negatives).
    """

    correct: int = 0
    excess: int = 0
    missed: int = 0

    def __add__(self, other: RoleCounts) -> RoleCounts:
        return RoleCounts(
            self.correct + other.correct, self.excess + other.excess, self.missed + other.missed
        )

    @property
    def predicted(self) -> int:
        return self.correct + self.excess

    @property
    def gold(self) -> int:
        return self.correct + self.missed


@dataclass
class SRLResult:
    """The results of an evaluation.

    arguments (RoleCounts): Counts over all roles except V.
    per_role (Dict[str, RoleCounts]): Counts of each role in the gold standard or the predictions.
    excluded (Dict[str, RoleCounts]): Counts of V.
    sentences (int): Number of sentences.
    propositions (int): Number of gold propositions.
    perfect (int): Number of perfect propositions.
    skipped (int): Number of predicted propositions that are not in the gold standard.
    confusion (Counter): Counts of (gold role, predicted role), for arguments with exactly the same
        pieces. `-NONE-` stands for no such argument.
    """

    arguments: RoleCounts = field(default_factory=RoleCounts)
    per_role: dict[str, RoleCounts] = field(default_factory=dict)
    excluded: dict[str, RoleCounts] = field(default_factory=dict)
    sentences: int = 0
    propositions: int = 0
    perfect: int = 0
    skipped: int = 0
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def complete(self) -> float:
        """RETURNS (float): The share of perfect propositions, 0 to 1."""
        return self.perfect / self.propositions if self.propositions else 0.0

    @property
    def unlabeled(self) -> RoleCounts:
        """RETURNS (RoleCounts): Counts that ignore roles; V is excluded."""
        counts = RoleCounts()
        for (gold, predicted), n in self.confusion.items():
            if gold in EXCLUDED or predicted in EXCLUDED:
                continue
            if gold == NO_ARGUMENT:
                counts.excess += n
            elif predicted == NO_ARGUMENT:
                counts.missed += n
            else:
                counts.correct += n
        return counts

    @property
    def label_accuracy(self) -> float:
        """RETURNS (float): The share of correct roles among arguments with correct words, 0 to 1;
        V is excluded."""
        found = self.unlabeled.correct
        return self.right_labels / found if found else 0.0

    @property
    def right_labels(self) -> int:
        """RETURNS (int): The number of arguments with correct words and role; V is excluded."""
        return sum(n for (g, p), n in self.confusion.items() if g == p and g not in EXCLUDED)

    def add(self, gold: Sequence[Frame], predicted: Sequence[Frame]) -> None:
        """Add the counts of one sentence.

        gold (Sequence[Frame]): The gold frames, of distinct predicates.
        predicted (Sequence[Frame]): The predicted frames.
        RAISES (ValueError): If a token is a predicate twice, or arguments of a frame overlap.
        """
        self.sentences += 1
        pairs, skipped = pair_propositions(gold, predicted, f"Sentence {self.sentences}")
        self.skipped += len(skipped)
        for _, expected, found in pairs:
            self._add_proposition(expected, found)

    def _add_proposition(self, gold: list[Argument], predicted: list[Argument]) -> None:
        self.propositions += 1
        for argument in set(gold) & set(predicted):
            self._count(argument.role, RoleCounts(correct=1))
        for argument in set(predicted) - set(gold):
            self._count(argument.role, RoleCounts(excess=1))
        for argument in set(gold) - set(predicted):
            self._count(argument.role, RoleCounts(missed=1))
        wrong = {argument.role for argument in set(gold) ^ set(predicted)}
        self.perfect += wrong <= EXCLUDED
        roles = {argument.pieces: argument.role for argument in predicted}
        for argument in gold:
            self.confusion[argument.role, roles.pop(argument.pieces, NO_ARGUMENT)] += 1
        for role in roles.values():
            self.confusion[NO_ARGUMENT, role] += 1

    def _count(self, role: str, one: RoleCounts) -> None:
        table = self.excluded if role in EXCLUDED else self.per_role
        table[role] = table.get(role, RoleCounts()) + one
        if role not in EXCLUDED:
            self.arguments += one

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All counts and scores, JSON-serializable."""
        confusion: dict[str, dict[str, int]] = {}
        for (gold, predicted), n in sorted(self.confusion.items()):
            confusion.setdefault(gold, {})[predicted] = n
        return {
            **self.arguments.to_dict(),
            "complete": self.complete,
            "sentences": self.sentences,
            "propositions": self.propositions,
            "perfect": self.perfect,
            "skipped": self.skipped,
            "unlabeled": {**self.unlabeled.to_dict(), "label_accuracy": self.label_accuracy},
            "per_role": {role: self.per_role[role].to_dict() for role in sorted(self.per_role)},
            "excluded": {role: self.excluded[role].to_dict() for role in sorted(self.excluded)},
            "confusion": confusion,
        }


def srl_eval(gold: Iterable[Sequence[Frame]], predicted: Iterable[Sequence[Frame]]) -> SRLResult:
    """Score predicted frames against gold frames.

    gold (Iterable[Sequence[Frame]]): The gold frames of each sentence.
    predicted (Iterable[Sequence[Frame]]): The predicted frames of each sentence.
    RETURNS (SRLResult): The counts and scores.
    RAISES (ValueError): If the numbers of sentences differ, a token is a predicate twice, or
        arguments of a frame overlap.
    """
    gold, predicted = list(gold), list(predicted)
    if len(gold) != len(predicted):
        raise ValueError(Errors.P107.format(gold=len(gold), predicted=len(predicted)))
    result = SRLResult()
    for expected, found in zip(gold, predicted, strict=True):
        result.add(expected, found)
    return result


def pair_propositions(
    gold: Sequence[Frame], predicted: Sequence[Frame], where: str
) -> tuple[list[tuple[int, list[Argument], list[Argument]]], list[int]]:
    """Pair predicted with gold propositions: the gold ones, in order of their predicates, as
    (predicate, gold arguments, predicted arguments), without predicted arguments if the proposition
    is missing or has another verb; and the predicates that are only in the predictions. `where` is
    what messages call the text."""
    expected, found = _by_predicate(gold, where), _by_predicate(predicted, where)
    pairs: list[tuple[int, list[Argument], list[Argument]]] = []
    for token, frame in sorted(expected.items()):
        other = found.get(token)
        if other is not None and not _same_verb(frame, other):
            other = None
        arguments = [] if other is None else arguments_of(other, where)
        pairs.append((token, arguments_of(frame, where), arguments))
    return pairs, sorted(found.keys() - expected.keys())


def arguments_of(frame: Frame, where: str) -> list[Argument]:
    """Read the arguments of a frame in order, including V, with their pieces joined. `where` is
    what messages call the text."""
    spans: list[Span] = sorted(frame.arguments)
    for (_, end, role), (start, _, other) in pairwise(spans):
        if start < end:
            raise ValueError(
                Errors.P327.format(where=where, token=frame.predicate, first=role, second=other)
            )
    joined = join_continuations([role for _, _, role in spans])
    return [Argument(role, tuple(spans[i][:2] for i in places)) for role, places in joined]


def _by_predicate(frames: Sequence[Frame], where: str) -> dict[int, Frame]:
    found = {frame.predicate: frame for frame in frames}
    if len(found) < len(frames):
        twice = Counter(frame.predicate for frame in frames).most_common(1)[0][0]
        raise ValueError(Errors.P326.format(where=where, token=twice))
    return found


def _same_verb(gold: Frame, predicted: Frame) -> bool:
    """Whether the verbs agree, as far as their lemmas are known."""
    return None in (gold.lemma, predicted.lemma) or gold.lemma == predicted.lemma
