"""A live progress bar for training: sentences a second, and the time that is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from tqdm import tqdm

SCOPES = ("run", "epoch")


class Progress:
    """A progress bar over the steps of a run, or of an epoch.

    How many steps there are is known from the start if the config says so (`max_steps`). If it
    limits the epochs, it is known from the first evaluation on under `psa train`, and from the
    first evaluation after the first epoch on under `spacy train`.

    scope (Optional[str]): "run", "epoch", or None for no bar.
    stream (IO): Where to draw it; nothing is drawn if that is not a terminal.
    max_steps (int): The steps of the run; 0 for any number.
    max_epochs (int): The epochs of the run; less than 1 for any number.
    """

    def __init__(self, scope: str | None, stream: IO, *, max_steps: int, max_epochs: int) -> None:
        self._scope = scope
        self._max_steps = max_steps
        self._max_epochs = max_epochs
        self._done: int = 0
        self._evaluations: list[tuple[int, int]] = []
        self._length: float | None = None
        # None: drawn on terminals only.
        self._bar = tqdm(
            total=self._total(),
            disable=None if scope else True,
            leave=False,
            file=stream,
            unit=" steps",
            dynamic_ncols=True,
        )

    def step(self, *, trained: bool) -> None:
        """Go one step on.

        trained (bool): Whether the step has been done just now. One that an earlier process has
            done says nothing about the time that is left.
        """
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
        """Learn from an evaluation how long an epoch is.

        info (Dict[str, Any]): What spaCy tells loggers, and `epochs`, the epochs completed with
            fractions, if that is known.
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
        """Draw the bar.

        speed (float): Sentences a second.
        """
        if not self._bar.disable and speed:
            self._bar.set_postfix_str(f"{speed:.0f} sentences/s", refresh=False)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the bar away while something else is printed."""
        if not self._bar.disable:
            self._bar.clear()
        yield
        if not self._bar.disable:
            self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        self._bar.close()

    def _total(self) -> int | None:
        if self._scope == "epoch":
            return round(self._length) if self._length else None
        limits = [self._max_steps] if self._max_steps > 0 else []
        if self._max_epochs > 0 and self._length:
            limits.append(round(self._max_epochs * self._length))
        return min(limits, default=None)

    def _to_epoch(self) -> None:
        """Count the steps of this epoch, not those of all."""
        if not self._length:
            return
        epoch = int((self._done - 1) / self._length)
        self._bar.set_description_str(f"epoch {epoch + 1}", refresh=False)
        n = self._done - round(epoch * self._length)
        self._bar.initial += n - self._bar.n
        self._bar.n = self._bar.last_print_n = n


def epoch_length(evaluations: Sequence[tuple[int, int]]) -> float | None:
    """Find out how many steps an epoch has from which steps belonged to which.

    Step s of epoch e, both counted from 0, says that an epoch has more than s / (e + 1) and at most
    s / e steps.

    evaluations (Sequence[Tuple[int, int]]): Steps, and the epoch of each.
    RETURNS (Optional[float]): The steps of an epoch; None if there was only one so far.
    """
    lows = [step / (epoch + 1) for step, epoch in evaluations]
    highs = [step / epoch for step, epoch in evaluations if epoch]
    if not highs:
        return None
    if highs.count(min(highs)) > 1:
        # Again and again the same: evaluations fall on the first step of an epoch.
        return min(highs)
    # Where epochs differ a little, so that the two cross, the truth is in between all the same.
    return (max(lows) + min(highs)) / 2.0
