"""Interleaved timing, on a CPU or a GPU."""

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import spacy
import torch
from thinc.api import fix_random_seed, set_gpu_allocator, use_ops
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
        set_gpu_allocator("pytorch")  # as in our configs
        spacy.require_gpu()


@contextmanager
def on_cpu() -> Iterator[None]:
    """Run pipelines on the CPU within the context, after `use_device`."""
    with use_ops("cpu"):
        yield


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
    at_least (float): The seconds that a run should take. A shorter action is repeated: a single
        call would depend on the state in which the other actions left caches and threads. The very
        first call, which may take much longer than all others, does not count.
    RETURNS (Dict[str, List[float]]): The seconds per call of each run, by name.
    """
    runs = {name: (action, 1) for name, action in actions.items()}
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    with frozen():
        for turn in tqdm(range(repeat + 1), desc=what):
            for name, (run, calls) in runs.items():
                fix_random_seed(0)
                gc.collect()
                if not turn and at_least:
                    runs[name] = repeated(run, clock, at_least)
                    continue
                spent = _spent(run, clock)
                if turn:
                    seconds[name].append(spent / calls)
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


def in_graphs(actions: Mapping[str, Callable[[], object]]) -> dict[str, Callable[[], object]]:
    """Record actions as CUDA graphs.

    actions (Mapping[str, Callable[[], object]]): The actions, by name. They must run on the GPU
        alone, and not wait for it.
    RETURNS (Dict[str, Callable[[], object]]): Functions that run the graphs, by name. Each returns
        what the action returned, in the same memory every time.
    """
    return {name: _as_graph(action) for name, action in actions.items()}


def _as_graph(action: Callable[[], object]) -> Callable[[], object]:
    with torch.cuda.stream(torch.cuda.Stream()):
        action()  # what only the first call does cannot be recorded
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = action()

    def replay() -> object:
        graph.replay()
        return result

    return replay


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

    def act() -> None:
        for _ in range(times):
            action()

    times = 1
    act()  # what the first call sets up is not counted
    while _spent(act, clock) < least:
        times *= 2
    return act, times


def _spent(action: Callable[[], object], clock: Clock) -> float:
    start = clock()
    action()
    return clock() - start


@contextmanager
def frozen() -> Iterator[None]:
    """Exempt all current objects from garbage collection. If some are exempt already, they are the
    caller's to unfreeze."""
    gc.collect()
    is_ours = not gc.get_freeze_count()
    gc.freeze()
    try:
        yield
    finally:
        if is_ours:
            gc.unfreeze()
