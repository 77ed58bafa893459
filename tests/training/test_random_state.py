"""Random numbers: reproduced, and kept in separate streams."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import numpy as np
import torch

from spacy_psa.training.random_state import RandomState, isolated


def draw() -> tuple[float, float, float]:
    """A number from each generator; NumPy caches every second normal number."""
    return random.gauss(0, 1), float(np.random.normal()), float(torch.randn(1))


def numbers(n: int) -> Iterator[tuple[float, float, float]]:
    for _ in range(n):
        yield draw()


def test_a_state_gives_the_same_numbers_again() -> None:
    draw()
    state = RandomState.capture()
    expected = list(numbers(3))
    state.restore()
    assert list(numbers(3)) == expected


def test_a_state_survives_json() -> None:
    draw()
    state = RandomState.capture()
    expected = list(numbers(3))
    RandomState.from_dict(json.loads(json.dumps(state.to_dict()))).restore()
    assert list(numbers(3)) == expected


def test_a_stream_does_not_depend_on_what_is_drawn_meanwhile() -> None:
    start = RandomState.capture()
    expected = list(isolated(numbers(4), start))
    found = []
    for item in isolated(numbers(4), start):
        draw()
        found.append(item)
    assert found == expected


def test_a_stream_begins_like_one_that_is_not_apart() -> None:
    start = RandomState.capture()
    expected = list(numbers(4))
    assert list(isolated(numbers(4), start)) == expected


def test_a_stream_does_not_change_what_is_drawn_meanwhile() -> None:
    start = RandomState.capture()
    expected = [draw() for _ in range(4)]
    start.restore()
    assert [draw() for _ in isolated(numbers(4), start)] == expected
