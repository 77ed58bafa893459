"""A live progress bar for training, with sentences per second and the remaining time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from ..terminal import ProgressBar

SCOPES = ("run", "epoch")


class Progress:
    """A progress bar over the steps of a run or an epoch.

    If the config sets `max_steps`, the number of steps is known from the start. If it only limits
    the epochs, the number is known after the first evaluation with `psa train`, and after the first
    evaluation beyond the first epoch with `spacy train`.

    scope (Optional[str]): "run", "epoch", or None for no bar.
    stream (IO): Where to draw the bar. Nothing is drawn if it is not a terminal.
    max_steps (int): The maximum number of steps; 0 for no limit.
    max_epochs (int): The maximum number of epochs; less than 1 for no limit.
    """

    def __init__(self, scope: str | None, stream: IO, *, max_steps: int, max_epochs: int) -> None:
        self._scope, self._max_steps, self._max_epochs = scope, max_steps, max_epochs
        self._done: int = 0
        self._evaluations: list[tuple[int, int]] = []
        self._length: float | None = None
        # None: draw on terminals only.
        self._bar = ProgressBar(
            total=self._total(),
            disable=None if scope else True,
            leave=False,
            file=stream,
            unit=" steps",
            dynamic_ncols=True,
        )

    def step(self, *, trained: bool) -> None:
        """Advance by one step. Steps of an earlier process, which are only replayed, do not count
        toward the remaining time."""
        self._done += 1
        if self._bar.disable:
            return
        if trained:
            self._bar.update(1)
        else:
            self._bar.initial += 1
            self._bar.n += 1
            self._bar.last_print_n = self._bar.n
        if self._scope == "epoch" and self._length and self._bar.n > self._length:
            self._to_epoch()

    def evaluated(self, info: dict[str, Any]) -> None:
        """Update the estimated length of an epoch after an evaluation, from the information that
        spaCy passes to loggers and, if known, `epochs`, the fractional number of epochs completed.
        """
        self._evaluations.append((info["step"], info["epoch"]))
        if info.get("epochs"):
            self._length = (info["step"] + 1) / info["epochs"]
        else:
            self._length = epoch_length(self._evaluations)
        if self._bar.disable:
            return
        if self._scope == "epoch":
            self._to_epoch()
        self._bar.total = self._total()

    def show(self, speed: float) -> None:
        """Update the speed shown in the bar."""
        if not self._bar.disable and speed:
            self._bar.set_postfix_str(f"{speed:.0f} sentences/s", refresh=False)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the bar while something else is printed."""
        if not self._bar.disable:
            self._bar.clear()
        yield
        if not self._bar.disable:
            self._bar.refresh()

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()

    def _total(self) -> int | None:
        if self._scope == "epoch":
            return round(self._length) if self._length else None
        limits = [self._max_steps] if self._max_steps > 0 else []
        if self._max_epochs > 0 and self._length:
            limits.append(round(self._max_epochs * self._length))
        return min(limits, default=None)

    def _to_epoch(self) -> None:
        """Make the bar count the steps of the current epoch only."""
        if not self._length:
            return
        epoch = int((self._done - 1) / self._length)
        self._bar.set_description_str(f"epoch {epoch + 1}", refresh=False)
        n = self._done - round(epoch * self._length)
        self._bar.initial += n - self._bar.n
        self._bar.n = self._bar.last_print_n = n


def epoch_length(evaluations: Sequence[tuple[int, int]]) -> float | None:
    """Estimate the number of steps in an epoch from the epochs of evaluated steps.

    If step s belongs to epoch e (both counted from 0), an epoch has more than s / (e + 1) and at
    most s / e steps. None during the first epoch."""
    lows = [step / (epoch + 1) for step, epoch in evaluations]
    highs = [step / epoch for step, epoch in evaluations if epoch]
    if not highs:
        return None
    if highs.count(min(highs)) > 1:
        # The bound recurs, so evaluations fall on the first step of an epoch.
        return min(highs)
    # If epochs differ slightly, the bounds may cross, but the true value still lies between them.
    return (max(lows) + min(highs)) / 2.0
