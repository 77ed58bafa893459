"""Interleaved timing, and the clocks."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable

import pytest
import torch

from benchmarks import timing


def passing(*durations: float) -> tuple[timing.Clock, Callable[[], None]]:
    """A clock, and an action that takes the given durations, one per call."""
    remaining = iter(durations)
    now = 0.0

    def work() -> None:
        nonlocal now
        now += next(remaining)

    return lambda: now, work


def test_medians_leave_the_first_turn_out() -> None:
    clock, work = passing(100, 7, 9, 8)
    assert timing.measure({"a": work}, 3, clock) == {"a": 8}


def test_what_is_short_is_done_several_times_in_a_turn() -> None:
    cold, tried, turns = [0.3], [0.06] * (1 + 2 + 4), [0.01] * 4 + [0.04] * 4
    clock, work = passing(*cold, *tried, *turns)
    found = timing.measure({"a": work}, 2, clock, at_least=0.2)
    assert found == {"a": pytest.approx(0.025)}


def test_actions_take_turns() -> None:
    order: list[str] = []
    actions = {name: lambda name=name: order.append(name) for name in "ab"}
    timing.measure(actions, 2, timing.make_clock("processor"))
    assert order == ["a", "b"] * 3


def test_the_time_of_a_gpu_is_told_after_it_has_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: calls.append("synchronize"))
    monkeypatch.setitem(timing.CLOCKS, "wall", lambda: float(len(calls)))
    assert timing.make_clock("wall", "cuda")() == 1.0
    with pytest.raises(SystemExit, match="choose --clock wall"):
        timing.make_clock("processor", "cuda")


def test_a_device_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="no CUDA device"):
        timing.use_device("cuda", pipelines=True)
    timing.use_device("cpu", pipelines=True)


def test_what_is_in_memory_before_is_no_garbage_to_be_looked_for() -> None:
    frozen: list[int] = []
    act = {"a": lambda: frozen.append(gc.get_freeze_count())}
    gc.unfreeze()
    timing.measure(act, 1, time.process_time)
    assert min(frozen) > 1000
    assert gc.get_freeze_count() == 0
    # What is frozen before, as in these tests, stays so
    gc.freeze()
    timing.measure(act, 1, time.process_time)
    assert gc.get_freeze_count() > 1000


def test_an_action_does_not_pay_for_the_garbage_of_another_one() -> None:
    collected: list[str] = []

    class Garbage:
        def __init__(self) -> None:
            self.itself = self

    def leave() -> None:
        weakref.finalize(Garbage(), collected.append, "before")

    def look() -> None:
        collected.append("look")

    timing.measure({"leave": leave, "look": look}, 1, time.process_time)
    assert collected == ["before", "look"] * 2


def test_what_is_short_is_repeated() -> None:
    done: list[int] = []
    act, times = timing.repeated(lambda: done.append(1), lambda: len(done) * 0.006, 0.02)
    assert times == 4
    assert len(done) == 1 + 1 + 2 + 4
    act()
    assert len(done) == 1 + 1 + 2 + 4 + times
