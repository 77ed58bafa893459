"""Time the matrix multiplications and LSTMs of an action in isolation.

This is a lower bound on the time of any implementation that computes the same matrix
multiplications at the same shapes.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_iter, tree_map

from .counting import CountingMode, is_product
from .timing import Clock, repeated

LEAST = 1e-3  # minimum seconds per measurement
TURNS = 3


class Products(CountingMode):
    """Records the matrix multiplications within its context, by operation and shapes.

    times (Dict[Hashable, int]): The number of calls, by operation and shapes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[Hashable, int] = {}
        self._makers: dict[Hashable, Callable[[], Callable[[], object]]] = {}

    def note(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Record an operation if it is a matrix multiplication.

        func (OpOverload): The operation.
        args (Tuple): Its positional arguments.
        kwargs (Dict[str, Any]): Its keyword arguments.
        result (Any): Its result.
        """
        if not is_product(func._overloadpacket):
            return
        shapes = tree_map(_Shape.of, (args, kwargs))
        key = (func, *(s.key if isinstance(s, _Shape) else repr(s) for s in tree_iter(shapes)))
        self.times[key] = self.times.get(key, 0) + 1
        self._makers.setdefault(key, partial(_again, func, shapes))

    def seconds(self, clock: Clock) -> float:
        """Time each recorded operation in isolation, on random numbers. Repeated calls keep its
        inputs in the cache.

        clock (Callable[[], float]): The clock.
        RETURNS (float): The total seconds of all recorded calls, each at its fastest.
        """
        total = 0.0
        with torch.inference_mode():
            for key, times in self.times.items():
                act, calls = repeated(self._makers[key](), clock, LEAST)
                spent = []
                for _ in range(TURNS):
                    start = clock()
                    act()
                    spent.append(clock() - start)
                total += times * min(spent) / calls
        return total


def seconds_of_products(action: Callable[[], object], clock: Clock, turns: int = 1) -> float:
    """Time the matrix multiplications of an action in isolation.

    action (Callable[[], object]): The action.
    clock (Callable[[], float]): The clock.
    turns (int): The number of runs to average over, if each works on different sentences.
    RETURNS (float): The average seconds per run.
    """
    with Products() as products:
        for _ in range(turns):
            action()
    return products.seconds(clock) / turns


class _Shape:
    """The memory layout of a tensor. Weights in oneDNN's own layout are kept as they are."""

    def __init__(self, tensor: Tensor) -> None:
        is_strided = tensor.layout == torch.strided
        self.kept = None if is_strided else tensor
        self.size = tuple(tensor.shape)
        self.strides = tensor.stride() if is_strided else ()
        self.dtype, self.device = tensor.dtype, tensor.device
        self.key = (self.size, self.strides, self.dtype)

    @classmethod
    def of(cls, value: Any) -> Any:
        """RETURNS (Any): The shape of a tensor; any other value unchanged."""
        return cls(value) if isinstance(value, Tensor) else value

    def make(self) -> Tensor:
        """RETURNS (Tensor): A new tensor of this shape, with random numbers between -1 and 1."""
        if self.kept is not None:
            return self.kept
        # Expanded tensors map several positions to one number
        n = sum((size - 1) * stride for size, stride in zip(self.size, self.strides, strict=True))
        numbers = torch.zeros(max(0, n) + 1, dtype=self.dtype, device=self.device)
        if self.dtype.is_floating_point:
            numbers.uniform_(-1, 1)
        return numbers.as_strided(self.size, self.strides)


def _again(func: Any, shapes: Any) -> Callable[[], object]:
    """RETURNS (Callable[[], object]): Runs an operation on tensors that are created once."""
    made = tree_map(lambda value: value.make() if isinstance(value, _Shape) else value, shapes)
    args, kwargs = made
    return partial(func, *args, **kwargs)
