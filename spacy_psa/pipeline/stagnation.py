"""Notice that a training goes nowhere: evaluations of which each predicts nothing of use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Warnings, warn

# So many are no accident
EVALUATIONS = 3


class StagnationMonitor:
    """Count the evaluations in a row, with updates between them, that find nothing. spaCy evaluates
    after the very first update, which says nothing and does not count.
    """

    def __init__(self) -> None:
        self._updates = 1
        self._idle = 0
        self._has_warned = False

    def observe(
        self,
        name: str,
        updates: int,
        predicted: Sequence[str],
        n_tokens: int,
        scores: Mapping[str, Any],
    ) -> None:
        """Take note of an evaluation, and warn once."""
        if updates <= self._updates or not n_tokens:
            return
        self._updates = updates
        numbers = [value for value in scores.values() if isinstance(value, (int, float))]
        perfect = min(numbers, default=0.0) >= 1.0
        what = None
        if not predicted:
            what = "nothing at all"
        elif len(set(predicted)) == 1 and len(predicted) >= n_tokens and not perfect:
            what = f"the same label, '{predicted[0]}', for all tokens"
        elif numbers and not any(numbers):
            what = "nothing that is correct"
        self._idle = 0 if what is None else self._idle + 1
        if self._idle >= EVALUATIONS and not self._has_warned:
            self._has_warned = True
            warn(Warnings.W435.format(name=name, updates=updates, n=self._idle, what=what))
