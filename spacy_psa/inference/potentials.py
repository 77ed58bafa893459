"""What a decoder hands over to inference: the scores of a batch of label sequences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..errors import Errors


@dataclass(frozen=True)
class Potentials:
    """Unnormalised log-scores of a batch of linear chains, stored without padding.

    The score of the labels y of one chain x_1 … x_n is

        start[y_1] + Σ_t emissions[t, y_t] + Σ_t transitions[y_{t-1}, y_t] + end[y_n]

    and 0 for a chain of no tokens. -inf forbids.

    emissions (Tensor): *Shape:* (N, L). One row a token, one chain after the other.
    lengths (Sequence[int]): The lengths of the C chains, which add up to N. Chains may be empty.
    transitions (Optional[Tensor]): *Shape:* (L, L). [i, j] is the score of label j right after
        label i. Without transitions, start and end the labels are independent: a softmax.
    start (Optional[Tensor]): *Shape:* (L,). The score of a chain's first label.
    end (Optional[Tensor]): *Shape:* (L,). The score of a chain's last label.
    RAISES (ValueError): If shapes, types or devices do not fit together.
    """

    emissions: Tensor
    lengths: tuple[int, ...]
    transitions: Tensor | None = None
    start: Tensor | None = None
    end: Tensor | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", _as_lengths(self.lengths))
        problem = self._problem()
        if problem is not None:
            raise ValueError(Errors.P001.format(problem=problem))

    def _problem(self) -> str | None:
        for name, tensor in self.tensors().items():
            if not isinstance(tensor, Tensor):
                return f"{name} is a {type(tensor).__name__}, not a torch tensor"
            if not tensor.is_floating_point():
                return f"{name} holds {tensor.dtype}, not floating-point scores"
            if tensor.device != self.emissions.device:
                return f"{name} lies on {tensor.device}, emissions on {self.emissions.device}"
        if self.emissions.dim() != 2 or self.emissions.shape[1] == 0:
            return f"emissions has the shape {tuple(self.emissions.shape)}"
        if min(self.lengths, default=0) < 0:
            return f"there is a negative length, {min(self.lengths)}"
        if sum(self.lengths) != self.n_tokens:
            return f"the lengths add up to {sum(self.lengths)}, but there are {self.n_tokens} rows"
        for name, n_dims in (("transitions", 2), ("start", 1), ("end", 1)):
            tensor = getattr(self, name)
            shape = (self.n_labels,) * n_dims
            if tensor is not None and tuple(tensor.shape) != shape:
                return f"{name} has the shape {tuple(tensor.shape)} instead of {shape}"
        return None

    @property
    def n_labels(self) -> int:
        """RETURNS (int): The number of labels, L."""
        return self.emissions.shape[1]

    @property
    def n_tokens(self) -> int:
        """RETURNS (int): The number of tokens of all chains, N."""
        return self.emissions.shape[0]

    @property
    def device(self) -> torch.device:
        """RETURNS (torch.device): Where all tensors lie."""
        return self.emissions.device

    @property
    def is_independent(self) -> bool:
        """RETURNS (bool): Whether labels do not depend on each other (a softmax)."""
        return self.transitions is None and self.start is None and self.end is None

    @property
    def requires_grad(self) -> bool:
        """RETURNS (bool): Whether a gradient is wanted for any of the tensors."""
        return any(tensor.requires_grad for tensor in self.tensors().values())

    def tensors(self) -> dict[str, Tensor]:
        """RETURNS (Dict[str, Tensor]): By field name, the tensors that are there."""
        fields = {name: getattr(self, name) for name in _TENSORS}
        return {name: tensor for name, tensor in fields.items() if tensor is not None}

    def detach(self) -> "Potentials":
        """RETURNS (Potentials): The same scores, outside of any autograd graph."""
        return replace(self, **{name: t.detach() for name, t in self.tensors().items()})

    def requires_grad_(self) -> "Potentials":
        """A detached copy whose tensors are leaves that collect gradients.

        This lets a loss be differentiated with respect to the potentials alone; `gradients` of the
        copy is what goes back into the network.

        RETURNS (Potentials): The copy. It shares memory with the original.
        """
        leaves = {name: t.detach().requires_grad_() for name, t in self.tensors().items()}
        return replace(self, **leaves)

    def gradients(self) -> dict[str, Tensor]:
        """RETURNS (Dict[str, Tensor]): By field name, the gradient collected so far (or zeros)."""
        return {
            name: torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
            for name, tensor in self.tensors().items()
        }


_TENSORS = ("emissions", "transitions", "start", "end")


def _as_lengths(lengths: Sequence[int]) -> tuple[int, ...]:
    if isinstance(lengths, tuple) and all(type(length) is int for length in lengths):
        return lengths
    try:
        exact = tuple(int(length) for length in lengths)
        if any(a != b for a, b in zip(exact, lengths, strict=True)):
            raise TypeError
    except TypeError as error:
        problem = f"lengths has to be a sequence of whole numbers, not {lengths!r}"
        raise ValueError(Errors.P001.format(problem=problem)) from error
    return exact
