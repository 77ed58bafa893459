"""The state of the random number generators: saved, put back, kept apart."""

from __future__ import annotations

import random
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import torch
from thinc.compat import cupy, has_cupy_gpu
from torch import Tensor

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class RandomState:
    """What the generators of `random`, NumPy and PyTorch give next, on the CPU.

    python (Tuple): The state of `random`.
    numpy (Tuple): The state of `numpy.random`.
    torch (Tensor): The state of `torch`, uint8.
    """

    python: tuple[Any, ...]
    numpy: tuple[Any, ...]
    torch: Tensor

    @classmethod
    def capture(cls) -> RandomState:
        """RETURNS (RandomState): The state of now."""
        numpy = cast(tuple[Any, ...], np.random.get_state(legacy=True))
        return cls(random.getstate(), numpy, torch.get_rng_state())

    def restore(self) -> None:
        """Go on from this state."""
        random.setstate(self.python)
        np.random.set_state(self.numpy)
        torch.set_rng_state(self.torch)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The state, as JSON can hold it."""
        version, words, gauss = self.python
        name, keys, *rest = self.numpy
        return {
            "python": [version, list(words), gauss],
            "numpy": [name, keys.tolist(), *rest],
            "torch": _encode(self.torch),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RandomState:
        """data (Dict[str, Any]): From `to_dict`. RETURNS (RandomState): The state."""
        version, words, gauss = data["python"]
        name, keys, *rest = data["numpy"]
        return cls(
            python=(version, tuple(words), gauss),
            numpy=(name, np.array(keys, dtype=np.uint32), *rest),
            torch=_decode(data["torch"]),
        )


def capture_device() -> dict[str, Any]:
    """Save what the GPU's generators give next.

    CuPy cannot tell the state of its generator. So it gets a new seed here, which is saved: a run
    that goes on gets the same numbers as one that is resumed.

    RETURNS (Dict[str, Any]): The state, as JSON can hold it; nothing where there is no GPU.
    """
    state: dict[str, Any] = {}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = [_encode(device) for device in torch.cuda.get_rng_state_all()]
    if has_cupy_gpu:
        state["cupy"] = int(cupy.random.randint(2**31 - 1))
        cupy.random.seed(state["cupy"])
    return state


def restore_device(state: dict[str, Any]) -> None:
    """Go on from a state of the GPU's generators, as far as there are such generators here.

    state (Dict[str, Any]): From `capture_device`.
    """
    if "cuda" in state and torch.cuda.is_available():
        for i, device in enumerate(state["cuda"][: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(_decode(device), i)
    if "cupy" in state and has_cupy_gpu:
        cupy.random.seed(state["cupy"])


def isolated(stream: Iterator[ItemT], start: RandomState) -> Iterator[ItemT]:
    """Give a stream random numbers of its own.

    What it yields then depends on `start` alone, whatever numbers are drawn between its items, so
    that the stream can be repeated; and those who draw them see nothing of the stream.

    stream (Iterator): The stream, which has not begun.
    start (RandomState): The state in which it begins.
    YIELDS: The items of the stream.
    """
    own = start
    while True:
        outer = RandomState.capture()
        own.restore()
        try:
            item = next(stream)
        except StopIteration:
            return
        finally:
            own = RandomState.capture()
            outer.restore()
        yield item


def _encode(state: Tensor) -> str:
    return b64encode(state.cpu().numpy().tobytes()).decode("ascii")


def _decode(text: str) -> Tensor:
    return torch.frombuffer(bytearray(b64decode(text)), dtype=torch.uint8)
