"""One update of a model: the global norm of its gradients is clipped, as in the papers, and an
optimizer changes the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite, isnan
from typing import Protocol, cast, runtime_checkable

import torch
from thinc.api import Model, Optimizer, PyTorchShim
from thinc.types import FloatsXd
from thinc.util import torch2xp, xp2torch
from torch import Tensor, nn

from ..private_names import foreach, network_of
from ..tensor_versions import record_change

Key = tuple[int, str]
# Below this norm, the squares of some numbers may underflow to 0 in float32.
SMALLEST = 1e-12


def clipping_scale(norm: float, max_norm: float | None) -> float:
    """Compute the factor, at most 1, that scales gradients down if their global norm is too large
    (Pascanu et al. 2013, algorithm 1; Wei et al. 2021, section 5.2). In contrast, thinc's
    `grad_clip` clips each tensor separately, which changes the direction of the step."""
    return 1.0 if max_norm is None or not norm > max_norm else max_norm / norm


def global_norm(gradients: Sequence[Tensor]) -> float:
    """Compute the norm of all gradients, concatenated to one vector; 0 if there are none."""
    norm = sum_of_squares(gradients) ** 0.5
    if gradients and not (SMALLEST < norm < inf or isnan(norm)):
        # The squares of such numbers are outside the range of float32
        norm = sum(sum_of_squares([gradient.double()]) for gradient in gradients) ** 0.5
    return norm


def sum_of_squares(tensors: Iterable[Tensor]) -> float:
    """Sum the squares of all numbers, which is finite only if all numbers are. On a CPU, this is
    many times as fast as PyTorch's norms."""
    filled = [tensor.detach() for tensor in tensors if tensor.numel()]
    if not filled:
        return 0.0
    if filled[0].device.type != "cpu":
        # A single kernel for all tensors
        return float(torch.stack(list(foreach("norm", filled))).double().square().sum())
    return sum(_square(tensor.reshape(-1)) for tensor in filled)


def _square(values: Tensor) -> float:
    if values.dtype.itemsize <= 2:
        values = values.float()  # float16 overflows above 65,504
    return torch.dot(values, values).item()


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Check whether all numbers are finite."""
    filled = [tensor.detach() for tensor in tensors if tensor.numel()]
    if isfinite(sum_of_squares(filled)):
        return True
    # Check the maxima: a sum of squares may overflow even if all numbers are finite.
    return bool(torch.stack(list(foreach("norm", filled, inf))).isfinite().all())


def scale_gradients(model: Model, scale: float) -> None:
    """Multiply all gradients of a model, in place."""
    gradients = gradients_of(model) if scale != 1.0 else []
    if gradients:
        foreach("mul_", gradients, scale)


def gradients_of(model: Model) -> list[Tensor]:
    """RETURNS (List[Tensor]): The gradients of all parameters, thinc's and PyTorch's."""
    return [*gradients_of_arrays(model), *gradients_of_networks(model)]


def gradients_of_arrays(model: Model) -> Iterator[Tensor]:
    """YIELDS (Tensor): The gradients of thinc's parameters, as tensors that share their memory."""
    for node in model.walk():
        for name in node.grad_names:
            if node.has_grad(name):
                yield xp2torch(node.get_grad(name))


def gradients_of_networks(model: Model) -> Iterator[Tensor]:
    """YIELDS (Tensor): The gradients of PyTorch's parameters."""
    for shim in torch_shims(model):
        for parameter in network_of(shim).parameters():
            if parameter.grad is not None:
                yield parameter.grad


def torch_shims(model: Model) -> Iterator[PyTorchShim]:
    """YIELDS (PyTorchShim): The shims that have a network of PyTorch, of whatever package."""
    for node in model.walk():
        for shim in node.shims:
            if isinstance(shim, PyTorchShim) and network_of(shim) is not None:
                yield shim


@runtime_checkable
class UpdatesTogether(Protocol):
    """An optimizer that can update all parameters of a network at once, such as our own: on a GPU,
    starting an operation on each of them would take longer than the operation."""

    def update_together(
        self, keys: Sequence[Key], weights: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> None: ...


def update_parameters(optimizer: Optimizer, parameters: Mapping[Key, nn.Parameter]) -> None:
    """Update the parameters that have gradients, by `(shim id, name)`, in place, unknown to
    PyTorch, and drop their gradients. The optimizer is called with the key, the parameter and its
    gradient, unless it can update all parameters at once."""
    gradients = [cast(Tensor, parameter.grad) for parameter in parameters.values()]
    weights = [parameter.data for parameter in parameters.values()]
    try:
        if isinstance(optimizer, UpdatesTogether):
            optimizer.update_together(list(parameters), weights, gradients)
        else:
            # Thinc's optimizers take no single numbers
            rows = map(torch.atleast_1d, weights), map(torch.atleast_1d, gradients)
            for key, weight, gradient in zip(parameters, *rows, strict=True):
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
