"""What the matrix products and LSTMs of an action take by themselves.

That is a limit for whoever computes the same products in the same shapes: what takes the rest of
the time, if nothing of it were left.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_iter, tree_map

from .counting import CountingMode, is_product
from .timing import Clock, repeated

LEAST = 1e-3  # seconds that a measurement takes
TURNS = 3


class Products(CountingMode):
    """Remembers, while it is entered, which products are computed in which shapes, and how often.

    times (Dict[Hashable, int]): How often each is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[Hashable, int] = {}
        self._makers: dict[Hashable, Callable[[], Callable[[], object]]] = {}

    def note(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Note an operation, if it is a product.

        func (OpOverload): The operation.
        args (Tuple): Its arguments.
        kwargs (Dict[str, Any]): Those by name.
        result (Any): What it gave.
        """
        if not is_product(func._overloadpacket):
            return
        shapes = tree_map(_Shape.of, (args, kwargs))
        key = (func, *(s.key if isinstance(s, _Shape) else repr(s) for s in tree_iter(shapes)))
        self.times[key] = self.times.get(key, 0) + 1
        self._makers.setdefault(key, partial(_again, func, shapes))

    def seconds(self, clock: Clock) -> float:
        """Compute each by itself, with other numbers, some times in a row, so that it finds what it
        reads in the cache.

        clock (Callable[[], float]): The time.
        RETURNS (float): What all that was noted takes, each at its fastest.
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
    """What the products of an action take by themselves.

    action (Callable[[], object]): What is done.
    clock (Callable[[], float]): The time.
    turns (int): How often to do it, where each time is of other sentences.
    RETURNS (float): Seconds of a turn, on average.
    """
    with Products() as products:
        for _ in range(turns):
            action()
    return products.seconds(clock) / turns


class _Shape:
    """How a tensor lies in memory. Weights in an order of oneDNN's own are kept as they are."""

    def __init__(self, tensor: Tensor) -> None:
        is_strided = tensor.layout == torch.strided
        self.kept = None if is_strided else tensor
        self.size = tuple(tensor.shape)
        self.strides = tensor.stride() if is_strided else ()
        self.dtype, self.device = tensor.dtype, tensor.device
        self.key = (self.size, self.strides, self.dtype)

    @classmethod
    def of(cls, value: Any) -> Any:
        """RETURNS (Any): The shape of a tensor; anything else as it is."""
        return cls(value) if isinstance(value, Tensor) else value

    def make(self) -> Tensor:
        """RETURNS (Tensor): Another tensor of the shape, with numbers below one."""
        if self.kept is not None:
            return self.kept
        # One number may stand in several places
        n = sum((size - 1) * stride for size, stride in zip(self.size, self.strides, strict=True))
        numbers = torch.zeros(max(0, n) + 1, dtype=self.dtype, device=self.device)
        if self.dtype.is_floating_point:
            numbers.uniform_(-1, 1)
        return numbers.as_strided(self.size, self.strides)


def _again(func: Any, shapes: Any) -> Callable[[], object]:
    """RETURNS (Callable[[], object]): Computes a product of tensors that are made once."""
    made = tree_map(lambda value: value.make() if isinstance(value, _Shape) else value, shapes)
    args, kwargs = made
    return partial(func, *args, **kwargs)
