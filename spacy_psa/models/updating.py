"""Pass a network's parameters to an optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, cast, runtime_checkable

from thinc.api import Optimizer
from thinc.types import FloatsXd
from thinc.util import torch2xp, xp2torch
from torch import Tensor, nn

from ..tensor_versions import record_change

Key = tuple[int, str]


@runtime_checkable
class UpdatesTogether(Protocol):
    """An optimizer that can update all parameters of a network at once, such as our own: on a GPU,
    starting an operation on each of them would take longer than the operation."""

    def update_together(
        self, keys: Sequence[Key], weights: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> None: ...


def update_parameters(optimizer: Optimizer, parameters: Mapping[Key, nn.Parameter]) -> None:
    """Update parameters in place, unknown to PyTorch, and drop their gradients.

    optimizer (Optimizer): Called with the key, the parameter and its gradient, unless it can update
        all parameters at once.
    parameters (Mapping[Tuple[int, str], nn.Parameter]): The parameters that have gradients, by
        `(shim id, name)`.
    """
    gradients = [cast(Tensor, parameter.grad) for parameter in parameters.values()]
    weights = [parameter.data for parameter in parameters.values()]
    try:
        if isinstance(optimizer, UpdatesTogether):
            optimizer.update_together(list(parameters), weights, gradients)
        else:
            for key, weight, gradient in zip(parameters, weights, gradients, strict=True):
                array = cast(FloatsXd, torch2xp(weight))
                updated, _ = optimizer(key, array, cast(FloatsXd, torch2xp(gradient)))
                if updated is not array:
                    weight.copy_(xp2torch(updated, device=weight.device))
    finally:  # even if the optimizer fails halfway
        for parameter in parameters.values():
            record_change(parameter)
    for parameter in parameters.values():
        # Not zeroed: `nlp.rehearse` collects gradients first and uses them after this.
        parameter.grad = None
