"""What the benchmarks of single layers share."""

from collections.abc import Callable
from typing import Any

from .report import table
from .timing import Clock, measure

SHORTEST_TURN = 0.1  # seconds
Sides = dict[str, Callable[[], object]]


def timed(sides: Sides, repeat: int, clock: Clock, what: str) -> dict[str, float]:
    """Time implementations.

    sides (Dict[str, Callable]): The implementations, by name.
    repeat (int): The number of repetitions.
    clock (Callable[[], float]): The clock.
    what (str): The label of the progress bar.
    RETURNS (Dict[str, float]): The median milliseconds, by name.
    """
    seconds = measure(sides, repeat, clock, what, at_least=SHORTEST_TURN)
    return {name: round(1000 * time, 3) for name, time in seconds.items()}


def table_by_size(cases: list[dict[str, Any]], speed: str) -> list[str]:
    """RETURNS (List[str]): A table of speeds by width and number of tokens."""
    columns = list(dict.fromkeys(case["tokens"] for case in cases))
    rows = {width: [f"d = {width}"] for width in dict.fromkeys(case["width"] for case in cases)}
    for case in cases:
        rows[case["width"]].append(f"{case[speed]:.1f}")
    return table(["", *(f"n = {n}" for n in columns)], list(rows.values()))
