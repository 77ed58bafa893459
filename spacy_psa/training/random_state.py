"""Capture, restore and isolate the state of the random number generators."""

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
    """The state of the CPU random number generators of `random`, NumPy and PyTorch.

    python (Tuple): The state of `random`.
    numpy (Tuple): The state of `numpy.random`.
    torch (Tensor): The state of `torch`, uint8.
    """

    python: tuple[Any, ...]
    numpy: tuple[Any, ...]
    torch: Tensor

    @classmethod
    def capture(cls) -> RandomState:
        """RETURNS (RandomState): The current state."""
        numpy = cast(tuple[Any, ...], np.random.get_state(legacy=True))
        return cls(random.getstate(), numpy, torch.get_rng_state())

    def restore(self) -> None:
        """Restore this state."""
        random.setstate(self.python)
        np.random.set_state(self.numpy)
        torch.set_rng_state(self.torch)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The state, in a JSON-serializable form."""
        version, words, gauss = self.python
        name, keys, *rest = self.numpy
        return {
            "python": [version, list(words), gauss],
            "numpy": [name, keys.tolist(), *rest],
            "torch": _encode(self.torch),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RandomState:
        """data (Dict[str, Any]): The output of `to_dict`. RETURNS (RandomState): The state."""
        version, words, gauss = data["python"]
        name, keys, *rest = data["numpy"]
        return cls(
            python=(version, tuple(words), gauss),
            numpy=(name, np.array(keys, dtype=np.uint32), *rest),
            torch=_decode(data["torch"]),
        )


def capture_device() -> dict[str, Any]:
    """Capture the state of the GPU's random number generators.

    CuPy does not expose the state of its generator. So the generator is reseeded here, and the seed
    is saved: a run that continues and one that is resumed get the same numbers. The state is
    JSON-serializable, and empty without a GPU."""
    state: dict[str, Any] = {}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = [_encode(device) for device in torch.cuda.get_rng_state_all()]
    if has_cupy_gpu:
        state["cupy"] = int(cupy.random.randint(2**31 - 1))
        cupy.random.seed(state["cupy"])
    return state


def restore_device(state: dict[str, Any]) -> None:
    """Restore what `capture_device` has captured, as far as it exists here."""
    if "cuda" in state and torch.cuda.is_available():
        for i, device in enumerate(state["cuda"][: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(_decode(device), i)
    if "cupy" in state and has_cupy_gpu:
        cupy.random.seed(state["cupy"])


def isolated(stream: Iterator[ItemT], start: RandomState) -> Iterator[ItemT]:
    """Give a stream its own random state.

    Its items then depend only on `start`, whatever random numbers are drawn between them, so the
    stream can be reproduced. Conversely, the stream does not affect the random numbers that other
    code draws. It must not have been started."""
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
