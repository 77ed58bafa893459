"""The bridge from thinc's optimizers to those of PyTorch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from thinc.api import Optimizer
from thinc.optimizers import FloatOrSeq
from thinc.types import FloatsXd
from thinc.util import torch2xp
from torch import Tensor

from ..errors import Errors
from ..private_names import foreach
from .parameter_groups import Key, ParameterGroups, check_rate

# As in thinc: averages cover roughly the last 10,000 steps.
MAX_DECAY = 0.9999
Groups = Mapping[str, Mapping[str, Any]]


class TorchOptimizer(Optimizer):
    """An optimizer of thinc's, whose steps are made by a function of `torch.optim`.

    Gradients are not clipped here: the papers clip their global norm, see the component's
    `max_grad_norm`.

    step (Callable): Makes a step of parameters with the same settings, in place. Called with their
        weights, their gradients, and each of the memories; and, by name, `lr`, `weight_decay`,
        `counts` (the number of each one's steps before this one) and `fused` (whether PyTorch can
        process them together).
    memories (Sequence[str]): What is kept between steps, by parameter, in arrays of its shape which
        are zero at first: "mom1", "mom2" or both.
    learn_rate (float or schedule): The learning rate.
    L2 (float): L2 regularization, or weight decay.
    use_averages (bool): Whether to keep averages of the parameters, which are then used for
        evaluation and saved.
    groups (Optional[Dict[str, Dict[str, Any]]]): Parameters with settings of their own: see
        `ParameterGroup`.
    RAISES (ValueError): If a value is out of range.
    """

    # Like the base class, use slots to refuse misspelled attributes.
    __slots__ = ["_tensors", "groups", "memories", "step"]

    def __init__(
        self,
        step: Callable[..., None],
        memories: Sequence[str],
        learn_rate: FloatOrSeq,
        *,
        L2: float,
        use_averages: bool,
        groups: Groups | None,
    ) -> None:
        check_rate("learn_rate", learn_rate)
        check_rate("L2", L2)
        super().__init__(
            learn_rate, L2=L2, beta1=0.0, beta2=0.0, grad_clip=0.0, use_averages=use_averages
        )
        self.step, self.memories = step, memories
        self.groups = ParameterGroups(groups or {})
        self._tensors: dict[tuple[str, Key], Tensor] = {}

    def step_schedules(self) -> None:
        """Take the next value of each schedule."""
        super().step_schedules()
        self.groups.step_schedules()

    def __call__(
        self, key: Key, weights: FloatsXd, gradient: FloatsXd, *, lr_scale: float = 1.0
    ) -> tuple[FloatsXd, FloatsXd]:
        """Update a parameter in place."""
        self.update_together([key], [_shared(weights)], [_shared(gradient)], lr_scale=lr_scale)
        gradient.fill(0.0)
        return weights, gradient

    def update_together(
        self,
        keys: Sequence[Key],
        weights: Sequence[Tensor],
        gradients: Sequence[Tensor],
        *,
        lr_scale: float = 1.0,
    ) -> None:
        """Update parameters in place. Unlike a call of the optimizer, this does not reset the
        gradients.
        """
        alike = defaultdict(list)
        for key, w, g in zip(keys, weights, gradients, strict=True):
            learn_rate, L2 = self.groups.settings(key, self.learn_rate, self.L2)
            # PyTorch's fused functions ignore strides
            fused = w.device.type in ("cpu", "cuda") and w.is_contiguous() and g.is_contiguous()
            kept = (self._kept(name, key, w) for name in self.memories)
            alike[learn_rate, L2, fused].append((self.nr_update[key], w, g, *kept))
        with torch.no_grad():
            for (learn_rate, L2, fused), rows in alike.items():
                counts, *tensors = (list(column) for column in zip(*rows, strict=True))
                rate = learn_rate * lr_scale
                self.step(*tensors, counts=counts, lr=rate, weight_decay=L2, fused=fused)
            for key in keys:
                self.nr_update[key] += 1
            if self.averages is not None:
                self._average(keys, weights)

    def _average(self, keys: Sequence[Key], weights: Sequence[Tensor]) -> None:
        """Update the averages as thinc's optimizers do, in float32."""
        by_count = defaultdict(list)  # usually, all have been updated equally often
        for key, w in zip(keys, weights, strict=True):
            average = self._kept("averages", key, w, torch.float32)
            by_count[self.nr_update[key]].append((average, w.float()))
        for count, pairs in by_count.items():
            found, new = zip(*pairs, strict=True)
            foreach("lerp_", found, new, 1.0 - min((1.0 + count) / (10.0 + count), MAX_DECAY))

    def _kept(
        self, name: str, key: Key, weights: Tensor, dtype: torch.dtype | None = None
    ) -> Tensor:
        """What is kept for a parameter, as a tensor that shares the array's memory."""
        memory = getattr(self, name)
        if key not in memory:
            layout = torch.contiguous_format
            memory[key] = torch2xp(torch.zeros_like(weights, dtype=dtype, memory_format=layout))
        array = memory[key]
        if array.shape != weights.shape:  # PyTorch would write beyond its end
            names = {"name": key[1], "shape": tuple(weights.shape), "found": array.shape}
            raise ValueError(Errors.P221.format(**names))
        if isinstance(array, np.ndarray):
            return _shared(array)
        # Converting an array takes longer than starting an operation on a GPU
        known = self._tensors.get((name, key))
        if known is None or known.data_ptr() != array.data.ptr:
            known = self._tensors[name, key] = _shared(array)
        return known


def _shared(array: FloatsXd | np.ndarray) -> Tensor:
    """A tensor that shares an array's memory."""
    if not isinstance(array, np.ndarray):
        return torch.from_dlpack(array)
    if not array.flags.writeable:
        raise ValueError(Errors.P214)  # PyTorch would write to it anyway
    return torch.from_numpy(array)
