"""Interleaved timing, on a CPU or a GPU."""

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
    """Make a clock that synchronizes with the device before it reads the time.

    name (str): A key of `CLOCKS`.
    device (str): One of `DEVICES`.
    RETURNS (Callable[[], float]): The clock, in seconds.
    """
    clock = CLOCKS[name]
    if device == "cpu":
        return clock
    if name == "processor":
        raise SystemExit("Processor time says nothing about a GPU: choose --clock wall.")

    def synchronized() -> float:
        torch.cuda.synchronize()
        return clock()

    return synchronized


def use_device(device: str, *, pipelines: bool) -> None:
    """Check that a device is available.

    device (str): One of `DEVICES`.
    pipelines (bool): Whether to run pipelines on it, not only tensors.
    """
    if device == "cpu":
        return
    if not torch.cuda.is_available():
        raise SystemExit("There is no CUDA device, or PyTorch was built without CUDA support.")
    if pipelines:
        spacy.require_gpu()


def time_interleaved(
    actions: Mapping[str, Callable[[], object]],
    repeat: int,
    clock: Clock,
    what: str = "runs",
    *,
    at_least: float = 0.0,
) -> dict[str, list[float]]:
    """Time actions in interleaved runs.

    The garbage collector skips what the benchmark itself keeps in memory (corpora and pipelines),
    and no action pays for the garbage of another.

    actions (Mapping[str, Callable[[], object]]): The actions, by name.
    repeat (int): The number of runs, after one warm-up run.
    clock (Callable[[], float]): The clock.
    what (str): The label of the progress bar.
    at_least (float): The seconds that a run should take. An action that is shorter in the warm-up
        run is repeated: a single call would depend on the state in which the other actions left
        caches and threads.
    RETURNS (Dict[str, List[float]]): The seconds per call of each run, by name.
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
    what: str = "runs",
    *,
    at_least: float = 0.0,
) -> dict[str, float]:
    """Time actions in interleaved runs. See `time_interleaved`.

    RETURNS (Dict[str, float]): The median seconds, by name.
    """
    turns = time_interleaved(actions, repeat, clock, what, at_least=at_least)
    return {name: statistics.median(times) for name, times in turns.items()}


def repeated(
    action: Callable[[], object], clock: Clock, least: float
) -> tuple[Callable[[], object], int]:
    """Repeat a short action so that it can be timed.

    action (Callable[[], object]): The action.
    clock (Callable[[], float]): The clock.
    least (float): The minimum number of seconds that the repetitions should take together.
    RETURNS (Tuple[Callable, int]): A function that repeats the action, and the number of
        repetitions.
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
    """Exempt all current objects from garbage collection."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
