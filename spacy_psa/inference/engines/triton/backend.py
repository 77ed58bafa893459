"""The forward-backward algorithm in GPU kernels, launched once per batch instead of once per token.

Forward and backward messages are passed in the log domain; everything else follows from them for
all tokens at once. The kernels are in `kernels`. This module combines their results, as
`recursion` and `curvature` do on the CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from ...chain_scores import Places, chain_indices, padded_indices, working_dtype
from ...potentials import Fields, Potentials
from ..autodiff import to_inputs, wants_pairs
from ..backends import ExpectedCounts
from ..logspace import LogSpaceBackend
from .availability import kernels_run_on

if TYPE_CHECKING:
    from .chains import Chains, ChainScores

# A single program processes each chain. With many labels this leaves most of the GPU idle, whereas
# token-by-token operations fill it. The break-even point has not been measured yet
MAX_LABELS = 1 << 10


def have_kernels(emissions: Tensor) -> bool:
    """Whether the kernels support emissions (..., L): up to 1,024 labels, on a GPU with Triton."""
    if not (emissions.numel() and emissions.shape[-1] <= MAX_LABELS):
        return False
    return kernels_run_on(emissions.device)


def for_kernels(fields: Fields, lengths: tuple[int, ...]) -> tuple[ChainScores, Chains]:
    """The scores, and the positions of the chains, as the kernels take them."""
    return _at_places(fields, chain_indices(lengths, fields[0].device), has_gaps=False)


def _at_places(fields: Fields, places: Places, *, has_gaps: bool) -> tuple[ChainScores, Chains]:
    from .chains import Chains, ChainScores

    return ChainScores.of(*fields), Chains(places.first, places.sizes, places.inner, has_gaps)


class FusedBackend(LogSpaceBackend):
    """Sums over label sequences in Triton kernels; if they are not available, in
    PyTorch, token by token. Log-scores and marginals can be differentiated once.
    """

    def log_partition(self, potentials: Potentials) -> Tensor:
        if not have_kernels(potentials.emissions):
            return super().log_partition(potentials)
        arguments = _arguments(potentials)
        if torch.is_grad_enabled() and potentials.requires_grad:
            return FusedLogPartition.apply(*arguments)
        return FusedRecursion(*arguments, both_sides=False).log_partition.to(arguments[-1])

    def marginals(self, potentials: Potentials) -> Tensor:
        if not have_kernels(potentials.emissions):
            return super().marginals(potentials)
        if torch.is_grad_enabled() and potentials.requires_grad:
            return FusedMarginals.apply(*_arguments(potentials))
        recursion = FusedRecursion(*_arguments(potentials), both_sides=True)
        return recursion.marginals.to(potentials.emissions.dtype)

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        if not have_kernels(potentials.emissions):
            return super().expected_counts(potentials)
        recursion = FusedRecursion(*_arguments(potentials), both_sides=True)
        ones = torch.ones_like(recursion.marginals[:, 0])
        gradient = recursion.gradient(ones, pairs=True)
        assert gradient.transitions is not None
        counts = (gradient.transitions, gradient.start, gradient.end)
        return ExpectedCounts(*(count.to(potentials.emissions.dtype) for count in counts))


def padded_marginals(
    emissions: Tensor,
    lengths: Tensor,
    *,
    transitions: Tensor | None = None,
    start: Tensor | None = None,
    end: Tensor | None = None,
) -> Tensor:
    """The marginals of chains in a padded batch (B, n, L), zeros in the padding. The lengths stay
    on the GPU, so that a CUDA graph can contain this; `LinearChain` needs to know them.
    Differentiable once.

    emissions (Tensor): *Shape:* (B, n, L). See `have_kernels`.
    lengths (Tensor): *Shape:* (B,). Integers from 1 to n: the tokens of each chain.
    transitions, start, end (Optional[Tensor]): As in `Potentials`.
    """
    dtype = torch.promote_types(emissions.dtype, torch.float32)
    rows = emissions.flatten(0, 1)
    marginals = FusedMarginals.apply(rows, transitions, start, end, None, lengths, dtype)
    return marginals.view_as(emissions)


class Gradient(NamedTuple):
    """The gradient of a sum over chains, or a derivative of that gradient."""

    emissions: Tensor  # (N, L)
    transitions: Tensor | None  # (L, L)
    start: Tensor  # (L,)
    end: Tensor  # (L,)
    pairwise: Tensor | None  # (N, L, L)


class FusedRecursion:
    """log Z of each chain, and on demand its gradient and the derivative of the gradient.

    Autograd cannot differentiate any of it. Lengths are a tensor if the chains are padded to the
    same length: it is not read on the host, see `padded_indices`.

    dtype (torch.dtype): The dtype to compute in, float32 or float64.
    both_sides (bool): Whether more than log Z will be needed.
    """

    def __init__(
        self,
        emissions: Tensor,
        transitions: Tensor | None,
        start: Tensor | None,
        end: Tensor | None,
        pairwise: Tensor | None,
        lengths: tuple[int, ...] | Tensor,
        dtype: torch.dtype,
        *,
        both_sides: bool,
    ) -> None:
        from . import chains as kernels

        self._kernels = kernels
        is_padded = isinstance(lengths, Tensor)
        if isinstance(lengths, Tensor):
            self._places = padded_indices(lengths, len(emissions))
        else:
            self._places = chain_indices(lengths, emissions.device)
        fields = (emissions, transitions, start, end, pairwise)
        self._chains = _at_places(fields, self._places, has_gaps=is_padded)
        self._messages = kernels.pass_messages(*self._chains, dtype, both_sides=both_sides)
        self.log_partition = self._messages.log_z.new_zeros(len(lengths))
        self.log_partition[self._places.chains] = self._messages.log_z
        if both_sides:
            self.marginals = kernels.marginals_of(self._messages)
            if is_padded:
                order = torch.arange(len(emissions), device=emissions.device)
                is_token = order <= self._places.last[self._places.chain_of_token]
                self.marginals *= is_token.unsqueeze(1)

    def of_tokens(self, weights: Tensor) -> Tensor:
        """The weight of each token's chain (N,), given those of the chains (C,); zero if no
        sequence is possible."""
        impossible = self.log_partition == -torch.inf
        weights = weights.to(self.marginals.dtype).masked_fill(impossible, 0.0)
        return weights[self._places.chain_of_token]

    def gradient(self, weights: Tensor, *, pairs: bool) -> Gradient:
        """The gradient of the sum of log Z, weighted by token (N,); zeros for a chain without a
        possible sequence. Without pairs, it lacks the transitions and the pairwise scores."""
        return self._assemble(self.marginals * weights.unsqueeze(1), weights, None, pairs)

    def derivative(self, direction: Tensor, *, pairs: bool) -> Gradient:
        """The derivative of the gradient of Σ log Z if the emissions move as given (N, L), see
        `curvature`."""
        # Centered, so that log Z stays constant
        moved = self._centered(direction.to(self.marginals.dtype))
        sides = self._kernels.tangents_of(*self._chains, self._messages, moved)
        # Both sides include the move of the emission itself
        rows = self.marginals * self._centered(sides[0] + sides[1] - moved)
        return self._assemble(rows, torch.ones_like(rows[:, 0]), sides, pairs)

    def _centered(self, rows: Tensor) -> Tensor:
        return rows - (rows * self.marginals).sum(dim=1, keepdim=True)

    def _assemble(
        self, rows: Tensor, weights: Tensor, sides: tuple[Tensor, Tensor] | None, pairs: bool
    ) -> Gradient:
        transitions = pairwise = None
        if pairs:
            transitions, pairwise = self._kernels.pairs_of(
                *self._chains, self._messages, self.marginals, weights, sides
            )
        start = rows[self._places.first].sum(dim=0)
        end = rows[self._places.last].sum(dim=0)
        return Gradient(rows, transitions, start, end, pairwise)


class FusedLogPartition(torch.autograd.Function):
    """log Z of each chain."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Tensor:
        """given: As `FusedRecursion`."""
        ctx.recursion = FusedRecursion(*given, both_sides=True)
        ctx.save_for_backward(*given[:5])
        # A copy: the output refers to this function, which must not keep a reference to it
        return ctx.recursion.log_partition.to(given[-1], copy=True)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights = ctx.recursion.of_tokens(grad.detach())
        gradient = ctx.recursion.gradient(weights, pairs=wants_pairs(ctx))
        return (*to_inputs(ctx, gradient, grad, _like), None, None)


class FusedMarginals(torch.autograd.Function):
    """The marginals of all tokens."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Tensor:
        """given: As `FusedRecursion`."""
        ctx.recursion = FusedRecursion(*given, both_sides=True)
        ctx.save_for_backward(*given[:5])
        return ctx.recursion.marginals.to(given[0].dtype, copy=True)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        gradient = ctx.recursion.derivative(grad.detach(), pairs=wants_pairs(ctx))
        return (*to_inputs(ctx, gradient, grad, _like), None, None)


def _like(part: Tensor, scores: Tensor) -> Tensor:
    return part.to(scores.dtype)


def _arguments(potentials: Potentials) -> tuple[Any, ...]:
    """Scores, lengths, and the dtype to compute in."""
    return (*potentials.fields(), potentials.lengths, working_dtype(potentials))
