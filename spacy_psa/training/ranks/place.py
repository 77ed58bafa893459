"""Which rank a process is, as torchrun's environment variables say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...errors import Errors

NUMBERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
ADDRESS = ("MASTER_ADDR", "MASTER_PORT")


class Place(NamedTuple):
    """The place of a process among those that train together.

    rank (int): Its number, from 0.
    size (int): The number of processes.
    local_rank (int): Its number among those on its machine, from 0.
    """

    rank: int
    size: int
    local_rank: int


def find_place(environment: Mapping[str, str]) -> Place | None:
    """Read the variables that torchrun sets: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and
    MASTER_PORT.

    environment (Mapping[str, str]): The environment variables.
    RETURNS (Optional[Place]): The place; None for a process that trains alone, for which none of
        the first three is set, or the number of processes is 1.
    RAISES (ValueError): If a variable is missing or not valid.
    """
    if not any(environment.get(name) for name in NUMBERS):
        return None
    missing = [name for name in NUMBERS if not environment.get(name)]
    if missing:
        found = [name for name in NUMBERS if name not in missing]
        _refuse(f"{', '.join(found)} set, but not {', '.join(missing)}")
    values = [environment[name] for name in NUMBERS]
    for name, value in zip(NUMBERS, values, strict=True):
        if not (value.isascii() and value.isdigit()):
            _refuse(f"{name} is '{value}'")
    place = Place(*map(int, values))
    if not place.local_rank <= place.rank < place.size:
        rank, size, local = values
        _refuse(f"RANK is {rank}, WORLD_SIZE {size} and LOCAL_RANK {local}")
    if place.size == 1:
        return None
    missing = [name for name in ADDRESS if not environment.get(name)]
    if missing:
        _refuse(f"WORLD_SIZE is {place.size}, but {' and '.join(missing)} not set")
    return place


def _refuse(problem: str) -> None:
    raise ValueError(Errors.P520.format(problem=problem))
