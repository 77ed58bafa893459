"""The base class of the papers' optimizers: steps in few passes over memory."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from thinc.api import Optimizer
from thinc.backends import get_array_ops
from thinc.optimizers import FloatOrSeq
from thinc.types import FloatsXd
from thinc.util import torch2xp
from torch import Tensor

from ..errors import Errors
from ..private_names import foreach

# Numbers processed at once: 4 MB of each array, most of which stay in the last-level cache during a
# step. A table of word embeddings is much larger, and each pass over it costs as much as a layer.
# Smaller blocks would be slower, since PyTorch's threads must be woken for each.
BLOCK = 2**20
# As in thinc: averages cover roughly the last 10,000 steps.
MAX_DECAY = 0.9999


class PaperOptimizer(Optimizer, ABC):
    """The base class of the optimizers. Subclasses define the direction of a step, and may make the
    step in fewer passes over memory:

        w ← w − η·direction(g)

    Gradients are not clipped here: the papers clip their global norm, see the component's
    `max_grad_norm`.

    learn_rate (float or Iterator[float]): The learning rate η, or a schedule of it.
    L2 (float or Iterator[float]): L2 regularization, added to the gradient g.
    use_averages (bool): Whether to keep averages of the parameters, which are then used for
        evaluation and saved.
    eps (float): A number that prevents division by zero, if the direction involves division.
    """

    # Like the base class, use slots to refuse misspelled attributes.
    __slots__ = ["_tensors"]

    def __init__(
        self, learn_rate: FloatOrSeq, *, L2: float, use_averages: bool, eps: float = 1e-8
    ) -> None:
        super().__init__(
            learn_rate,
            L2=L2,
            L2_is_weight_decay=False,
            beta1=0.0,
            beta2=0.0,
            eps=eps,
            grad_clip=0.0,
            use_averages=use_averages,
        )
        self._tensors: dict[tuple[int, tuple[int, str]], Tensor] = {}

    @property
    @abstractmethod
    def moments(self) -> tuple[dict[tuple[int, str], FloatsXd], ...]:
        """State kept between steps, by parameter: arrays of its shape, initially zero."""

    @abstractmethod
    def direction(self, gradient: Tensor, *moments: Tensor) -> Tensor:
        """Compute the direction of a step, elementwise.

        gradient (Tensor): The gradient, or a part of it. May be overwritten.
        moments (Tensor): The same part of each of the `moments`, updated in place.
        RETURNS (Tensor): The direction.
        """

    def __call__(
        self,
        key: tuple[int, str],
        weights: FloatsXd,
        gradient: FloatsXd,
        *,
        lr_scale: float = 1.0,
    ) -> tuple[FloatsXd, FloatsXd]:
        """Update a parameter in place.

        key (Tuple[int, str]): The parameter's key.
        weights (FloatsXd): The parameter.
        gradient (FloatsXd): Its gradient.
        lr_scale (float): A factor for the learning rate.
        RETURNS (Tuple[FloatsXd, FloatsXd]): The parameter, and the gradient reset to zero.
        RAISES (ValueError): If one of the arrays is read-only.
        """
        self.update_only(key, weights, gradient, lr_scale=lr_scale)
        gradient.fill(0.0)
        return weights, gradient

    def update_only(
        self,
        key: tuple[int, str],
        weights: FloatsXd | Tensor,
        gradient: FloatsXd | Tensor,
        *,
        lr_scale: float = 1.0,
        gradient_scale: float = 1.0,
    ) -> None:
        """Update a parameter in place. Unlike a call of the optimizer, this does not reset the
        gradient: it takes time, and whoever drops the gradient does not need it. Nor need tensors
        be converted to arrays.

        key (Tuple[int, str]): The parameter's key.
        weights (Union[FloatsXd, Tensor]): The parameter.
        gradient (Union[FloatsXd, Tensor]): Its gradient. Overwritten.
        lr_scale (float): A factor for the learning rate.
        gradient_scale (float): A factor for the gradient.
        RAISES (ValueError): If one of the arrays is read-only.
        """
        self.nr_update[key] += 1
        averages = () if self.averages is None else (self.averages,)
        state = (*self.moments, *averages)
        for arrays in state:
            if key not in arrays:
                # As in thinc, averages are in float32 whatever the type of the weights
                arrays[key] = _zeros(weights, "float32" if arrays is self.averages else None)
        rate = self.learn_rate * lr_scale
        arrays = (weights, gradient, *(kept[key] for kept in state))
        with torch.no_grad():
            for w, g, *rest in _blocks(*map(_as_tensor, arrays)):
                moments = rest[: len(self.moments)]
                self.step(w, g, *moments, rate=rate, gradient_scale=gradient_scale)
                if averages:
                    _average(rest[-1], w, self.nr_update[key])

    def update_together(
        self,
        keys: Sequence[tuple[int, str]],
        weights: list[Tensor],
        gradients: list[Tensor],
        *,
        gradient_scale: float = 1.0,
    ) -> None:
        """Update all parameters of a model in place, as `update_only` does: on a GPU, each
        operation on all of them is a single kernel, instead of one for each.

        keys (Sequence[Tuple[int, str]]): The parameters' keys.
        weights (list[Tensor]): The parameters, all on one device.
        gradients (list[Tensor]): Their gradients. Overwritten.
        gradient_scale (float): A factor for the gradients.
        """
        if not _are_alike([*weights, *gradients]):
            for key, w, g in zip(keys, weights, gradients, strict=True):
                self.update_only(key, w, g, gradient_scale=gradient_scale)
            return
        for key in keys:
            self.nr_update[key] += 1
        moments = [self._state(i, kept, keys, weights) for i, kept in enumerate(self.moments)]
        with torch.no_grad():
            rate = self.learn_rate
            self.step_together(
                weights, gradients, *moments, rate=rate, gradient_scale=gradient_scale
            )
            if self.averages is None:
                return
            averages = self._state(-1, self.averages, keys, weights, "float32")
            # Usually, all have been updated equally often
            by_count = defaultdict(list)
            for key, average, w in zip(keys, averages, weights, strict=True):
                by_count[self.nr_update[key]].append((average, w.to(average.dtype)))
            for count, pairs in by_count.items():
                found, new = zip(*pairs, strict=True)
                foreach("lerp_", found, new, 1.0 - _decay(count))

    def _state(
        self,
        number: int,
        arrays: dict[tuple[int, str], FloatsXd],
        keys: Sequence[tuple[int, str]],
        weights: list[Tensor],
        dtype: str | None = None,
    ) -> list[Tensor]:
        """What is kept for each parameter, as tensors that share the arrays' memory."""
        found = []
        for key, w in zip(keys, weights, strict=True):
            if key not in arrays:
                arrays[key] = _zeros(w, dtype)
            place = number, key
            # Converting an array takes longer than starting an operation on a GPU
            known = self._tensors.get(place)
            if known is None or known.data_ptr() != _address(arrays[key]):
                known = self._tensors[place] = _as_tensor(arrays[key])
            found.append(known)
        return found

    def step_together(
        self,
        weights: list[Tensor],
        gradients: list[Tensor],
        *moments: list[Tensor],
        rate: float,
        gradient_scale: float = 1.0,
    ) -> None:
        """Make a step of all parameters. By default, one after another.

        weights (list[Tensor]): The parameters. Updated in place.
        gradients (list[Tensor]): Their gradients. May be overwritten.
        moments (list[Tensor]): Each of the `moments`, by parameter. Updated in place.
        rate (float): The learning rate η.
        gradient_scale (float): A factor for the gradients.
        """
        for w, g, *kept in zip(weights, gradients, *moments, strict=True):
            self.step(w, g, *kept, rate=rate, gradient_scale=gradient_scale)

    def step(
        self,
        weights: Tensor,
        gradient: Tensor,
        *moments: Tensor,
        rate: float,
        gradient_scale: float = 1.0,
    ) -> None:
        """Make a step, elementwise.

        weights (Tensor): The parameter, or a part of it. Updated in place.
        gradient (Tensor): The same part of its gradient. May be overwritten.
        moments (Tensor): The same part of each of the `moments`. Updated in place.
        rate (float): The learning rate η.
        gradient_scale (float): A factor for the gradient.
        """
        if gradient_scale != 1.0:
            gradient.mul_(gradient_scale)
        if self.L2:
            gradient.add_(weights, alpha=self.L2)
        weights.add_(self.direction(gradient, *moments), alpha=-rate)


def _zeros(like: FloatsXd | Tensor, dtype: str | None) -> FloatsXd:
    """Allocate an array of the same shape on the same device, by default of the same type."""
    array = cast(FloatsXd, torch2xp(like) if isinstance(like, Tensor) else like)
    return get_array_ops(array).alloc(array.shape, dtype=dtype or array.dtype)


def _as_tensor(array: FloatsXd | Tensor) -> Tensor:
    """Convert an array to a tensor that shares its memory."""
    if isinstance(array, Tensor):
        return array
    if not isinstance(array, np.ndarray):
        return torch.from_dlpack(array)
    if not array.flags.writeable:
        # PyTorch would write to it anyway
        raise ValueError(Errors.P214)
    return torch.from_numpy(array)


def _are_alike(tensors: list[Tensor]) -> bool:
    """Whether PyTorch can process tensors together."""
    return all(x.dtype == tensors[0].dtype and x.is_contiguous() for x in tensors)


def _address(array: FloatsXd) -> int:
    """The address of an array's memory."""
    if isinstance(array, np.ndarray):
        return int(array.ctypes.data)
    return int(cast(Any, array).data.ptr)


def _average(averages: Tensor, weights: Tensor, t: int) -> None:
    """Update averages with step t, as thinc's optimizers do."""
    averages.lerp_(weights.to(averages.dtype), 1.0 - _decay(t))


def _decay(t: int) -> float:
    return min((1.0 + t) / (10.0 + t), MAX_DECAY)


def _blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Iterate over blocks of the tensors, as views; on a GPU, everything is one block."""
    is_small = tensors[0].numel() <= BLOCK
    if is_small or not all(
        tensor.device.type == "cpu" and tensor.is_contiguous() for tensor in tensors
    ):
        yield tensors
        return
    yield from zip(*(tensor.view(-1).split(BLOCK) for tensor in tensors), strict=True)
