"""Pass a network's parameters to an optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast, runtime_checkable

from thinc.api import Optimizer
from thinc.types import FloatsXd
from thinc.util import torch2xp, xp2torch
from torch import Tensor, nn

from ..tensor_versions import record_change

Key = tuple[int, str]


@runtime_checkable
class LeavesGradient(Protocol):
    """An optimizer that can update parameters without resetting their gradients, such as our own:
    that would take time, and gradients are dropped here. It can also update all parameters of a
    network at once: on a GPU, starting an operation on each of them would take longer than the
    operation."""

    def update_only(
        self,
        key: Key,
        weights: Tensor,
        gradient: Tensor,
        *,
        gradient_scale: float = 1.0,
    ) -> object: ...

    def update_together(
        self,
        keys: list[Key],
        weights: list[Tensor],
        gradients: list[Tensor],
        *,
        gradient_scale: float = 1.0,
    ) -> object: ...


def update_parameters(
    optimizer: Optimizer, parameters: Mapping[Key, nn.Parameter], *, together: bool
) -> None:
    """Update parameters in place, unknown to PyTorch, and drop their gradients.

    optimizer (Optimizer): Called with the key, the parameter and its gradient.
    parameters (Mapping[Tuple[int, str], nn.Parameter]): The parameters that have gradients, by
        `(shim id, name)`.
    together (bool): Whether to update them at once, if the optimizer can.
    """
    try:
        _update(optimizer, parameters, together=together)
    finally:  # even if the optimizer fails halfway
        for parameter in parameters.values():
            record_change(parameter)


def _update(
    optimizer: Optimizer, parameters: Mapping[Key, nn.Parameter], *, together: bool
) -> None:
    ours = optimizer if isinstance(optimizer, LeavesGradient) else None
    if together and ours is not None:
        weights = [parameter.data for parameter in parameters.values()]
        gradients = [cast(Tensor, parameter.grad) for parameter in parameters.values()]
        ours.update_together(list(parameters), weights, gradients)
        for parameter in parameters.values():
            parameter.grad = None
        return
    for key, parameter in parameters.items():
        gradient = cast(Tensor, parameter.grad)
        if ours is not None:
            ours.update_only(key, parameter.data, gradient)
        else:
            array = cast(FloatsXd, torch2xp(parameter.data))
            updated, _ = optimizer(key, array, cast(FloatsXd, torch2xp(gradient)))
            if updated is not array:
                parameter.data.copy_(xp2torch(updated, device=parameter.device))
        # Not zeroed: `nlp.rehearse` collects gradients first and uses them after this.
        parameter.grad = None
