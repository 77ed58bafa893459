"""How everything is timed: in turns, and on any device."""

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import spacy
import torch
from thinc.api import fix_random_seed
from tqdm import tqdm

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
DEVICES = ("cpu", "cuda")
Clock = Callable[[], float]


def make_clock(name: str, device: str = "cpu") -> Clock:
    """A clock that waits for a device before it tells the time.

    name (str): A key of `CLOCKS`.
    device (str): One of `DEVICES`.
    RETURNS (Callable[[], float]): Tells the time in seconds.
    """
    clock = CLOCKS[name]
    if device == "cpu":
        return clock
    if name == "processor":
        raise SystemExit("The processor's clock says nothing about a GPU: choose --clock wall.")

    def synchronized() -> float:
        torch.cuda.synchronize()
        return clock()

    return synchronized


def use_device(device: str, *, pipelines: bool) -> None:
    """Make sure that a device is there.

    device (str): One of `DEVICES`.
    pipelines (bool): Whether pipelines are to be on it, and not tensors alone.
    """
    if device == "cpu":
        return
    if not torch.cuda.is_available():
        raise SystemExit("There is no CUDA device, or PyTorch was built without CUDA.")
    if pipelines:
        spacy.require_gpu()


def take_turns(
    actions: Mapping[str, Callable[[], object]],
    repeat: int,
    clock: Clock,
    what: str = "turns",
    *,
    at_least: float = 0.0,
) -> dict[str, list[float]]:
    """Time actions in turn. What the benchmark itself keeps in memory, corpora and many pipelines,
    is not gone through when Python collects garbage, and no action pays for that of another one.

    actions (Mapping[str, Callable[[], object]]): What to do, by name.
    repeat (int): Turns; one more, before, does not count.
    clock (Callable[[], float]): The time.
    what (str): What the progress bar says.
    at_least (float): Seconds that a turn of an action should take. What is shorter, by its first
        run, is done several times: once alone, it would find caches and threads as others left
        them.
    RETURNS (Dict[str, List[float]]): Seconds of each turn, by name.
    """
    calls = dict.fromkeys(actions, 1)
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    with _frozen():
        for turn in tqdm(range(repeat + 1), desc=what):
            for name, action in actions.items():
                fix_random_seed(0)
                gc.collect()
                start = clock()
                for _ in range(calls[name]):
                    action()
                spent = clock() - start
                if turn:
                    seconds[name].append(spent / calls[name])
                else:
                    calls[name] = 1 + int(at_least / max(spent, 1e-6))
    return seconds


def measure(
    actions: Mapping[str, Callable[[], object]],
    repeat: int,
    clock: Clock,
    what: str = "turns",
    *,
    at_least: float = 0.0,
) -> dict[str, float]:
    """Time actions in turn, see `take_turns`.

    RETURNS (Dict[str, float]): Medians of seconds, by name.
    """
    turns = take_turns(actions, repeat, clock, what, at_least=at_least)
    return {name: statistics.median(times) for name, times in turns.items()}


def repeated(
    action: Callable[[], object], clock: Clock, least: float
) -> tuple[Callable[[], object], int]:
    """Repeat something short, so that it can be timed.

    action (Callable[[], object]): What is done.
    clock (Callable[[], float]): The time.
    least (float): Seconds that the times should take together.
    RETURNS (Tuple[Callable, int]): Does it some times, and how many.
    """
    action()
    times, spent = 1, 0.0
    while spent < least:
        times *= 2
        start = clock()
        for _ in range(times):
            action()
        spent = clock() - start

    def act() -> None:
        for _ in range(times):
            action()

    return act, times


@contextmanager
def _frozen() -> Iterator[None]:
    """Keep the garbage collector from what is there now."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
