"""Sums over the label sequences of linear chains, with one kernel launch for a batch."""

from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor

from .kernels import marginals_kernel, messages_kernel, pairs_kernel, tangents_kernel
from .launching import OPTIONS, block_of, on_device

# Pairs of labels in a tile, which stays in the registers of 4 or 8 warps
TILE = 1 << 11
WIDE_TILE = 1 << 13
# The number of programs that saturates the largest GPUs, and the number of tokens that is worth a
# program of its own
PROGRAMS = 1 << 10
STRETCH = 16


class Chains(NamedTuple):
    """The positions of chains among the N tokens, without empty chains. All tensors are int64.

    firsts (Tensor): *Shape:* (C,). The first token of each chain.
    sizes (Tensor): *Shape:* (C,). The number of tokens in each chain. The longest chains should
        come first, since they take longest.
    inner (Tensor): *Shape:* (N - C,). The tokens that are not the first of their chain.
    has_gaps (bool): Whether there are tokens that belong to no chain, i.e. padding. Their messages
        are zeros, and they may be among `inner`.
    """

    firsts: Tensor
    sizes: Tensor
    inner: Tensor
    has_gaps: bool = False

    def new_like(self, rows: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """RETURNS (Tensor): Memory like `rows`, (N, L), for what kernels write for each token."""
        make = torch.zeros_like if self.has_gaps else torch.empty_like
        return make(rows, dtype=dtype)


class ChainScores(NamedTuple):
    """The scores of chains, as in `Potentials`: contiguous, and on the same device."""

    emissions: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor
    pairwise: Tensor | None

    @classmethod
    def of(
        cls,
        emissions: Tensor,
        transitions: Tensor | None,
        start: Tensor | None,
        end: Tensor | None,
        pairwise: Tensor | None,
    ) -> "ChainScores":
        """RETURNS (ChainScores): The detached scores, with zeros for those that are None."""
        emissions = emissions.detach().contiguous()
        n_labels = emissions.shape[1]

        def given(tensor: Tensor | None, *shape: int) -> Tensor:
            return emissions.new_zeros(shape) if tensor is None else tensor.detach().contiguous()

        return cls(
            emissions,
            given(transitions, n_labels, n_labels),
            given(start, n_labels),
            given(end, n_labels),
            None if pairwise is None else pairwise.detach().contiguous(),
        )


class Messages(NamedTuple):
    """log Z (C,), in float64, and the messages (N, L). See `kernels`."""

    log_z: Tensor
    forward: Tensor
    backward: Tensor | None


def pass_messages(
    scores: ChainScores,
    chains: Chains,
    dtype: torch.dtype,
    *,
    both_sides: bool,
) -> Messages:
    """Run the forward algorithm and, concurrently if both sides are wanted, the backward algorithm,
    in float32 or float64."""
    emissions = scores.emissions
    forward = chains.new_like(emissions, dtype)
    backward = chains.new_like(forward) if both_sides else None
    log_z = emissions.new_empty(len(chains.sizes), dtype=torch.float64)
    with on_device(emissions):
        messages_kernel[(len(chains.sizes), 2 if both_sides else 1)](
            emissions,
            scores.transitions,
            emissions if scores.pairwise is None else scores.pairwise,
            scores.start,
            scores.end,
            chains.firsts,
            chains.sizes,
            forward,
            forward if backward is None else backward,
            log_z,
            emissions.shape[1],
            **options_of(scores),
        )
    return Messages(log_z, forward, backward)


def marginals_of(messages: Messages) -> Tensor:
    """Compute the marginals of all tokens (N, L): zeros for a chain without a possible sequence."""
    marginals = torch.empty_like(messages.forward)
    block = block_of(marginals.shape[1])
    with on_device(marginals):
        marginals_kernel[(len(marginals),)](
            messages.forward,
            messages.backward,
            marginals,
            marginals.shape[1],
            BLOCK=block,
            num_warps=1 if block <= 128 else 4,
            **OPTIONS,
        )
    return marginals


def pairs_of(
    scores: ChainScores,
    chains: Chains,
    messages: Messages,
    marginals: Tensor,
    weights: Tensor,
    sides: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Compute the weighted probabilities of adjacent labels i, j at t - 1, t: their sum over tokens
    (L, L) and, if there are pairwise scores, each token's values (N, L, L).

    weights (Tensor): *Shape:* (N,). The weight of each token's chain.
    sides (Optional[Tuple[Tensor, Tensor]]): *Shapes:* (N, L). If given, also multiply by
        left[t - 1, i] + right[t, j].
    """
    forward = messages.forward
    n_labels = forward.shape[1]
    pairwise = scores.pairwise
    by_token = None if pairwise is None else forward.new_zeros(pairwise.shape)
    n_inner = len(chains.inner)
    if not n_inner:
        return forward.new_zeros(n_labels, n_labels), by_token
    tile = blocks_of(n_labels)[1]
    tiles = triton.cdiv(n_labels, tile)
    # Deterministic sums: no atomic additions
    stretches = min(triton.cdiv(n_inner, STRETCH), max(1, PROGRAMS // tiles))
    per_stretch = triton.cdiv(n_inner, stretches)
    stretches = triton.cdiv(n_inner, per_stretch)
    sums = forward.new_empty(stretches, n_labels, n_labels)
    left, right = sides or (forward, forward)
    with on_device(forward):
        pairs_kernel[(stretches, tiles)](
            scores.transitions,
            forward if pairwise is None else pairwise,
            forward,
            marginals,
            weights,
            left,
            right,
            chains.inner,
            sums,
            forward if by_token is None else by_token,
            n_inner,
            per_stretch,
            n_labels,
            HAS_SIDES=sides is not None,
            **options_of(scores),
        )
    return sums.sum(dim=0), by_token


def tangents_of(
    scores: ChainScores, chains: Chains, messages: Messages, moved: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute the tangents of the forward and the backward messages: their derivatives if the
    emissions move as given (N, L). Both include the move of the token's own emission.
    """
    forward = messages.forward
    n_labels = forward.shape[1]
    tangents = chains.new_like(forward), chains.new_like(forward)
    with on_device(forward):
        tangents_kernel[(len(chains.sizes), 2)](
            scores.emissions,
            scores.transitions,
            forward if scores.pairwise is None else scores.pairwise,
            forward,
            messages.backward,
            moved.contiguous(),
            chains.firsts,
            chains.sizes,
            *tangents,
            n_labels,
            **options_of(scores),
        )
    return tangents


def blocks_of(n_labels: int) -> tuple[int, int, int]:
    """The number of labels, padded to a block size; the number of labels on the other axis of a
    tile; and the number of warps for a tile.
    """
    block = block_of(n_labels)
    numbers, warps = (TILE, 4) if block <= 32 else (WIDE_TILE, 8)
    return block, min(block, max(1, numbers // block)), warps


def options_of(scores: ChainScores) -> dict[str, Any]:
    """The constants of a kernel for chains, and how to launch it."""
    block, tile, warps = blocks_of(scores.emissions.shape[1])
    constants = {"HAS_PAIRWISE": scores.pairwise is not None, "BLOCK": block, "TILE": tile}
    return {**constants, "num_warps": warps, **OPTIONS}
