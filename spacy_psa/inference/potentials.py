"""The interface between decoders and inference: the scores of a batch of label sequences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..errors import Errors

Fields = tuple[Tensor, Tensor | None, Tensor | None, Tensor | None, Tensor | None]


@dataclass(frozen=True, init=False)
class Potentials:
    """Unnormalized log-scores of a batch of linear chains, stored without padding.

    The score of the labels y of a chain x_1 … x_n is

        start[y_1] + Σ_t emissions[t, y_t]
            + Σ_{t>1} (transitions[y_{t-1}, y_t] + pairwise[t, y_{t-1}, y_t]) + end[y_n]

    and 0 for an empty chain. A score of -inf forbids.

    emissions (Tensor): *Shape:* (N, L). One row per token, one chain after the other.
    lengths (Sequence[int]): The lengths of the C chains, which add up to N. Chains may be empty.
    transitions (Optional[Tensor]): *Shape:* (L, L). [i, j] is the score of label j right after
        label i. Without transitions, start and end, labels are independent: a softmax.
    start (Optional[Tensor]): *Shape:* (L,). The score of a chain's first label.
    end (Optional[Tensor]): *Shape:* (L,). The score of a chain's last label.
    pairwise (Optional[Tensor]): *Shape:* (N, L, L). [t, i, j] is the score of label j at token t
        right after label i, added to that in `transitions`. The rows of the first tokens of chains
        are ignored, and their gradient is zero. This takes L times as much memory as the emissions;
        it is meant for small label sets.
    RAISES (ValueError): If shapes, dtypes or devices are not compatible.
    """

    emissions: Tensor
    lengths: tuple[int, ...]
    transitions: Tensor | None = None
    start: Tensor | None = None
    end: Tensor | None = None
    pairwise: Tensor | None = None

    def __init__(
        self,
        emissions: Tensor,
        lengths: Sequence[int],
        transitions: Tensor | None = None,
        start: Tensor | None = None,
        end: Tensor | None = None,
        pairwise: Tensor | None = None,
    ) -> None:
        vars(self).update(
            emissions=emissions,
            lengths=_as_lengths(lengths),
            transitions=transitions,
            start=start,
            end=end,
            pairwise=pairwise,
        )
        problem = self._problem()
        if problem is not None:
            raise ValueError(Errors.P001.format(problem=problem))

    def _problem(self) -> str | None:
        tensors = self.tensors()
        for name, tensor in tensors.items():
            if not isinstance(tensor, Tensor):
                return f"{name} is a {type(tensor).__name__}, not a torch tensor"
            if not tensor.is_floating_point():
                return f"{name} is {tensor.dtype}, not floating-point"
            if tensor.device != self.emissions.device:
                return f"{name} is on {tensor.device}, but emissions on {self.emissions.device}"
        if self.emissions.dim() != 2 or self.emissions.shape[1] == 0:
            return f"emissions has shape {tuple(self.emissions.shape)}"
        if min(self.lengths, default=0) < 0:
            return f"there is a negative length, {min(self.lengths)}"
        if sum(self.lengths) != self.n_tokens:
            return f"the lengths add up to {sum(self.lengths)}, but there are {self.n_tokens} rows"
        n_tokens, n_labels = self.emissions.shape
        shapes = {
            "emissions": (n_tokens, n_labels),
            "transitions": (n_labels, n_labels),
            "start": (n_labels,),
            "end": (n_labels,),
            "pairwise": (n_tokens, n_labels, n_labels),
        }
        for name, tensor in tensors.items():
            if tensor.shape != shapes[name]:
                return f"{name} has shape {tuple(tensor.shape)}, not {shapes[name]}"
        return None

    @property
    def n_labels(self) -> int:
        """RETURNS (int): The number of labels, L."""
        return self.emissions.shape[1]

    @property
    def n_tokens(self) -> int:
        """RETURNS (int): The total number of tokens, N."""
        return self.emissions.shape[0]

    @property
    def device(self) -> torch.device:
        """RETURNS (torch.device): The device of all tensors."""
        return self.emissions.device

    @property
    def is_independent(self) -> bool:
        """RETURNS (bool): Whether labels are independent of each other (a softmax)."""
        others = (self.transitions, self.start, self.end, self.pairwise)
        return all(tensor is None for tensor in others)

    @property
    def requires_grad(self) -> bool:
        """RETURNS (bool): Whether any of the tensors requires a gradient."""
        return any(tensor.requires_grad for tensor in self.tensors().values())

    def tensors(self) -> dict[str, Tensor]:
        """RETURNS (Dict[str, Tensor]): The tensors that are not None, by field name."""
        named = zip(_TENSORS, self.fields(), strict=True)
        return {name: tensor for name, tensor in named if tensor is not None}

    def fields(self) -> Fields:
        """RETURNS (Tuple[Tensor, Optional[Tensor], ...]): emissions, transitions, start, end and
        pairwise; None for those that are missing.
        """
        return (self.emissions, self.transitions, self.start, self.end, self.pairwise)

    def detach(self) -> "Potentials":
        """RETURNS (Potentials): The scores, detached from the autograd graph; the same object if
        none of them requires a gradient.
        """
        return self.map(Tensor.detach) if self.requires_grad else self

    def map(self, function: Callable[[Tensor], Tensor]) -> "Potentials":
        """Apply a function to all tensors.

        function (Callable[[Tensor], Tensor]): Maps a tensor to one of the same shape.
        RETURNS (Potentials): A copy with the results.
        """
        changed = {name: function(tensor) for name, tensor in self.tensors().items()}
        return Potentials(lengths=self.lengths, **changed)

    def requires_grad_(self) -> "Potentials":
        """Detach the potentials as leaf tensors that accumulate gradients.

        Use this to differentiate a loss with respect to the potentials alone, and pass `gradients`
        of the copy back to the network.

        RETURNS (Potentials): The copy. It shares memory with the original.
        """
        return self.map(lambda tensor: tensor.detach().requires_grad_())

    def within(self, allowed: Tensor) -> "Potentials":
        """Condition the distribution on label sets by forbidding all other labels. Queries of the
        result, such as the best sequences or the marginals, are limited to sequences in the sets.

        allowed (Tensor): *Shape:* (N, L). Booleans: the labels that each token may have.
        RETURNS (Potentials): A copy. No gradient flows to forbidden labels.
        RAISES (ValueError): If `allowed` has the wrong shape or dtype.
        """
        shape = tuple(self.emissions.shape)
        if tuple(allowed.shape) != shape or allowed.dtype != torch.bool:
            problem = f"the allowed labels are {allowed.dtype} of shape {tuple(allowed.shape)},"
            raise ValueError(Errors.P003.format(problem=f"{problem} not torch.bool of {shape}"))
        forbidden = ~allowed.to(self.device)
        return replace(self, emissions=self.emissions.masked_fill(forbidden, -torch.inf))

    def select(self, chains: Sequence[int]) -> "Potentials":
        """Select some of the chains.

        chains (Sequence[int]): Which ones, in the order of the result, also more than once.
        RETURNS (Potentials): A copy.
        """
        order = torch.arange(self.n_tokens)
        parts = order.split(self.lengths)
        rows = torch.cat([order[:0], *(parts[chain] for chain in chains)]).to(self.device)
        return replace(
            self,
            emissions=self.emissions[rows],
            lengths=tuple(self.lengths[chain] for chain in chains),
            pairwise=None if self.pairwise is None else self.pairwise[rows],
        )

    def tempered(self, temperature: float | Tensor) -> "Potentials":
        """Divide all scores by a temperature. Above 1, it makes the distribution flatter, below 1
        more peaked; the ranking of the label sequences stays the same. Fitted to held-out data, it
        calibrates probabilities (Guo et al. 2017, "On calibration of modern neural networks").

        temperature (Union[float, Tensor]): Positive. A tensor of one number may require a gradient.
        RETURNS (Potentials): A copy. Differentiable.
        RAISES (ValueError): If the temperature is not a positive number.
        """
        number = torch.as_tensor(temperature).detach()
        if number.numel() != 1 or not 0.0 < float(number) < torch.inf:
            raise ValueError(Errors.P019.format(temperature=temperature))
        if isinstance(temperature, Tensor):
            temperature = temperature.reshape(())

        def divide(scores: Tensor) -> Tensor:
            # -inf stays -inf, and must not make the temperature's gradient infinite
            impossible = scores == -torch.inf
            return (scores.masked_fill(impossible, 0) / temperature).masked_fill(
                impossible, -torch.inf
            )

        return self.map(divide)

    def gradients(self) -> dict[str, Tensor]:
        """RETURNS (Dict[str, Tensor]): The gradients accumulated so far, or zeros, by field
        name.
        """
        return {
            name: torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
            for name, tensor in self.tensors().items()
        }


_TENSORS = ("emissions", "transitions", "start", "end", "pairwise")


def _as_lengths(lengths: Sequence[int]) -> tuple[int, ...]:
    if isinstance(lengths, tuple) and all(type(length) is int for length in lengths):
        return lengths
    try:
        exact = tuple(int(length) for length in lengths)
        if any(a != b for a, b in zip(exact, lengths, strict=True)):
            raise TypeError
    except (TypeError, ValueError, OverflowError) as error:
        problem = f"lengths must be a sequence of integers, not {lengths!r}"
        raise ValueError(Errors.P001.format(problem=problem)) from error
    return exact
