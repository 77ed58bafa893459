"""What functions with a gradient of their own need from automatic differentiation."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import torch
from torch import Tensor

from ...errors import Errors
from ..chain_scores import working_dtype
from ..potentials import Potentials

Part = TypeVar("Part")


class OnceDifferentiable(torch.autograd.Function):
    """Raise an error on a second derivative, which would silently lack our part otherwise.
    PyTorch's `once_differentiable` does so only if the upstream gradient is not a constant.
    """

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *depends_on: Tensor | None) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> NoReturn:
        raise ValueError(Errors.P007)


def wants_pairs(ctx: Any) -> bool:
    """Whether a function of emissions, transitions, start, end and pairwise scores needs the
    gradient of the scores of label pairs.
    """
    _, transitions, _, _, pairwise, *_ = ctx.needs_input_grad
    return transitions or pairwise


def to_inputs(
    ctx: Any,
    gradient: Sequence[Part | None],
    grad: Tensor,
    convert: Callable[[Part, Tensor], Tensor],
) -> list[Tensor | None]:
    """The return value of such a function's backward pass: the gradient of each input, the only
    saved tensors, that needs one. Differentiating it again raises an error."""
    inputs = ctx.saved_tensors
    tensors: list[Tensor | None] = []
    for part, like, needed in zip(gradient, inputs, ctx.needs_input_grad[:5], strict=True):
        assert part is not None or not needed
        tensors.append(convert(part, like) if part is not None and needed else None)
    if not torch.is_grad_enabled():  # no graph is recorded, so there is nothing to guard
        return tensors
    return [
        None if tensor is None else OnceDifferentiable.apply(tensor, grad, *inputs)
        for tensor in tensors
    ]


def unused_zero(potentials: Potentials) -> Tensor:
    """A zero, in the working dtype, that connects potentials to the graph if log Z does not use all
    of them: those that no token or no transition uses get a zero gradient, not none.
    """
    zero = torch.zeros((), dtype=working_dtype(potentials), device=potentials.device)
    if max(potentials.lengths, default=0) < 2:
        for tensor in potentials.tensors().values():
            zero = zero + tensor[:0].sum().to(zero.dtype)
    return zero
