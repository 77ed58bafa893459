"""Whatever follows from a differentiable log Z by automatic differentiation."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import torch
from torch import Tensor

from ..errors import Errors
from .backends import ExpectedCounts
from .potentials import Potentials
from .scores import log_ratio, path_score, working_dtype

Part = TypeVar("Part")


class AutogradBackend(ABC):
    """Expectations as derivatives of log Z (Eisner 2016, "Inside-outside and forward-backward
    algorithms are just backprop"), on any device, differentiable any number of times.

    Subclasses say how log Z is computed, in differentiable operations of PyTorch.
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
        # Those of no token depend on nothing, and would refuse to be differentiated
        return marginals + unused_zero(potentials).to(marginals.dtype)

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        names = list(ExpectedCounts._fields)
        return ExpectedCounts(**self._expectations(potentials.detach(), names, False))

    def _expectations(
        self, potentials: Potentials, names: list[str], differentiable: bool
    ) -> dict[str, Tensor]:
        """The gradient of log Z, summed over chains, with respect to the fields of these names."""
        n_labels = potentials.n_labels
        fields = potentials.tensors()
        # Inference mode, which `enable_grad` does not end, records nothing to be differentiated
        with torch.inference_mode(False), torch.enable_grad():
            if not differentiable:
                fields = {name: ordinary(tensor) for name, tensor in fields.items()}
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
    """Refuse a second derivative, which would silently lack our part otherwise. PyTorch's own
    `once_differentiable` does so only where the upstream gradient is not a constant.
    """

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *depends_on: Tensor | None) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> NoReturn:
        raise ValueError(Errors.P007)


def ordinary(tensor: Tensor) -> Tensor:
    """A tensor that a gradient can be found with, which is not so for those of inference mode.

    tensor (Tensor): Any tensor.
    RETURNS (Tensor): The same, or a copy of one that was made in inference mode. To be called
        outside of it.
    """
    return tensor.detach().clone() if tensor.is_inference() else tensor


def wants_pairs(ctx: Any) -> bool:
    """Tell what a function of emissions, transitions, start, end and pairwise scores has to find.

    ctx (Any): Its context.
    RETURNS (bool): Whether a gradient is wanted for scores of pairs of labels.
    """
    _, transitions, _, _, pairwise, *_ = ctx.needs_input_grad
    return transitions or pairwise


def to_inputs(
    ctx: Any,
    gradient: Sequence[Part | None],
    grad: Tensor,
    convert: Callable[[Part, Tensor], Tensor],
) -> list[Tensor | None]:
    """What such a function gives back: the gradient of each input that needs one, which refuses to
    be differentiated.

    ctx (Any): Its context, which has saved the inputs alone.
    gradient (Sequence[Optional[Any]]): What was found for each of them.
    grad (Tensor): The upstream gradient.
    convert (Callable): Makes a tensor of what was found, like an input.
    RETURNS (List[Optional[Tensor]]): The gradients.
    """
    inputs = ctx.saved_tensors
    tensors: list[Tensor | None] = []
    for part, like, needed in zip(gradient, inputs, ctx.needs_input_grad[:5], strict=True):
        assert part is not None or not needed
        tensors.append(convert(part, like) if part is not None and needed else None)
    if not torch.is_grad_enabled():  # nobody is going to differentiate them
        return tensors
    return [
        None if tensor is None else OnceDifferentiable.apply(tensor, grad, *inputs)
        for tensor in tensors
    ]


def unused_zero(potentials: Potentials) -> Tensor:
    """A zero to which all potentials are connected, where log Z does not make use of all of them.

    What no token or no transition makes use of has the gradient zero, but it has one.

    potentials (Potentials): The potentials.
    RETURNS (Tensor): *Shape:* (). In the working type.
    """
    zero = torch.zeros((), dtype=working_dtype(potentials), device=potentials.device)
    if max(potentials.lengths, default=0) < 2:
        for tensor in potentials.tensors().values():
            zero = zero + tensor[:0].sum()
    return zero
