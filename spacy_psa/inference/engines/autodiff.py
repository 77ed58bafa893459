"""Everything that automatic differentiation derives from log Z."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import torch
from torch import Tensor

from ...errors import Errors
from ..chain_scores import log_ratio, path_score, working_dtype
from ..potentials import Potentials
from .backends import ExpectedCounts

Part = TypeVar("Part")


class AutogradBackend(ABC):
    """Expectations as derivatives of log Z (Eisner 2016, "Inside-outside and forward-backward
    algorithms are just backprop"), on any device, differentiable any number of times.

    Subclasses compute log Z with differentiable PyTorch operations.
    """

    @abstractmethod
    def log_partition(self, potentials: Potentials) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). log Z of each chain. Differentiable."""

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        return log_ratio(path_score(potentials, labels), self.log_partition(potentials))

    def marginals(self, potentials: Potentials) -> Tensor:
        if not (torch.is_grad_enabled() and potentials.requires_grad):
            return self._expectations(potentials, ["emissions"], False)["emissions"]
        marginals = self._expectations(potentials, ["emissions"], True)["emissions"]
        # Without tokens, marginals depend on nothing and could not be differentiated
        return marginals + unused_zero(potentials).to(marginals.dtype)

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        names = list(ExpectedCounts._fields)
        return ExpectedCounts(**self._expectations(potentials.detach(), names, False))

    def _expectations(
        self, potentials: Potentials, names: list[str], differentiable: bool
    ) -> dict[str, Tensor]:
        """The gradient of log Z, summed over chains, with respect to the named fields."""
        n_labels = potentials.n_labels
        fields = potentials.tensors()
        # In inference mode, which `enable_grad` does not leave, no graph is recorded
        with torch.inference_mode(False), torch.enable_grad():
            if not differentiable:
                fields = {name: without_inference_mode(tensor) for name, tensor in fields.items()}
            for name in names:
                if name not in fields:
                    shape = (n_labels,) * (2 if name == "transitions" else 1)
                    fields[name] = potentials.emissions.new_zeros(shape)
                if not (differentiable and fields[name].requires_grad):
                    fields[name] = fields[name].detach().requires_grad_()
            log_z = self.log_partition(Potentials(lengths=potentials.lengths, **fields))
            gradients = torch.autograd.grad(
                log_z,
                [fields[name] for name in names],
                grad_outputs=torch.ones_like(log_z),
                create_graph=differentiable,
                allow_unused=True,
                materialize_grads=True,
            )
        return dict(zip(names, gradients, strict=True))


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


def without_inference_mode(tensor: Tensor) -> Tensor:
    """Make sure that autograd can use a tensor, even one created in inference mode.

    Call this outside of inference mode.

    tensor (Tensor): Any tensor.
    RETURNS (Tensor): The tensor itself, or a copy if it was created in inference mode.
    """
    return tensor.detach().clone() if tensor.is_inference() else tensor


def wants_pairs(ctx: Any) -> bool:
    """Whether a function of emissions, transitions, start, end and pairwise scores needs the
    gradient of the scores of label pairs.

    ctx (Any): The function's context.
    RETURNS (bool): Whether transitions or pairwise scores need a gradient.
    """
    _, transitions, _, _, pairwise, *_ = ctx.needs_input_grad
    return transitions or pairwise


def to_inputs(
    ctx: Any,
    gradient: Sequence[Part | None],
    grad: Tensor,
    convert: Callable[[Part, Tensor], Tensor],
) -> list[Tensor | None]:
    """The return value of such a function's backward pass: the gradient of each input that needs
    one. Differentiating it again raises an error.

    ctx (Any): The function's context, in which only the inputs were saved.
    gradient (Sequence[Optional[Any]]): The gradient found for each input.
    grad (Tensor): The upstream gradient.
    convert (Callable): Converts such a gradient to a tensor like the given input.
    RETURNS (List[Optional[Tensor]]): The gradients.
    """
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
    """A zero that connects potentials to the graph if log Z does not use all of them.

    Potentials that no token or no transition uses get a zero gradient, not none.

    potentials (Potentials): The potentials.
    RETURNS (Tensor): *Shape:* (). In the working dtype.
    """
    zero = torch.zeros((), dtype=working_dtype(potentials), device=potentials.device)
    if max(potentials.lengths, default=0) < 2:
        for tensor in potentials.tensors().values():
            zero = zero + tensor[:0].sum()
    return zero
