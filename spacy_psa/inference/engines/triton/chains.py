"""Sums over the label sequences of linear chains, with one kernel launch for a batch."""

from typing import NamedTuple

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
    """The scores of chains, contiguous and on the same device.

    emissions (Tensor): *Shape:* (N, L)
    transitions (Tensor): *Shape:* (L, L)
    start (Tensor): *Shape:* (L,)
    end (Tensor): *Shape:* (L,)
    pairwise (Optional[Tensor]): *Shape:* (N, L, L)
    """

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
    """The log partition function and the messages. See `kernels`.

    log_z (Tensor): *Shape:* (C,). float64.
    forward (Tensor): *Shape:* (N, L)
    backward (Optional[Tensor]): *Shape:* (N, L)
    """

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
    """Run the forward algorithm and, concurrently, the backward algorithm.

    scores (ChainScores): The scores.
    chains (Chains): The positions of the chains, at least one.
    dtype (torch.dtype): The type of the messages, float32 or float64.
    both_sides (bool): Whether to compute backward messages in addition to forward messages.
    RETURNS (Messages): The log partition functions and the messages.
    """
    emissions = scores.emissions
    forward = chains.new_like(emissions, dtype)
    backward = chains.new_like(forward) if both_sides else None
    log_z = emissions.new_empty(len(chains.sizes), dtype=torch.float64)
    block, tile, warps = blocks_of(emissions.shape[1])
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
            HAS_PAIRWISE=scores.pairwise is not None,
            BLOCK=block,
            TILE=tile,
            num_warps=warps,
            **OPTIONS,
        )
    return Messages(log_z, forward, backward)


def marginals_of(messages: Messages) -> Tensor:
    """Compute the marginals of all tokens.

    messages (Messages): The forward and backward messages.
    RETURNS (Tensor): *Shape:* (N, L). Zeros for a chain without any possible sequence.
    """
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
    """Compute the weighted probabilities of adjacent labels i, j at t - 1, t.

    scores (ChainScores): The scores.
    chains (Chains): The positions of the chains.
    messages (Messages): The messages.
    marginals (Tensor): *Shape:* (N, L). The marginals.
    weights (Tensor): *Shape:* (N,). The weight of each token's chain.
    sides (Optional[Tuple[Tensor, Tensor]]): *Shapes:* (N, L). If given, also multiply by
        left[t - 1, i] + right[t, j].
    RETURNS (Tuple[Tensor, Optional[Tensor]]): The sum over tokens, *Shape:* (L, L), and, if there
        are pairwise scores, each token's values, *Shape:* (N, L, L).
    """
    forward = messages.forward
    n_labels = forward.shape[1]
    pairwise = scores.pairwise
    by_token = None if pairwise is None else forward.new_zeros(pairwise.shape)
    n_inner = len(chains.inner)
    if not n_inner:
        return forward.new_zeros(n_labels, n_labels), by_token
    block, tile, warps = blocks_of(n_labels)
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
            HAS_PAIRWISE=pairwise is not None,
            HAS_SIDES=sides is not None,
            BLOCK=block,
            TILE=tile,
            num_warps=warps,
            **OPTIONS,
        )
    return sums.sum(dim=0), by_token


def tangents_of(
    scores: ChainScores, chains: Chains, messages: Messages, moved: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute the tangents of messages: their derivatives in a direction of the emissions.

    scores (ChainScores): The scores.
    chains (Chains): The positions of the chains.
    messages (Messages): The forward and backward messages.
    moved (Tensor): *Shape:* (N, L). The tangents of the emissions.
    RETURNS (Tuple[Tensor, Tensor]): *Shapes:* (N, L). The tangents of the forward and the backward
        messages; both include the tangent of the token's own emission.
    """
    forward = messages.forward
    n_labels = forward.shape[1]
    tangents = chains.new_like(forward), chains.new_like(forward)
    block, tile, warps = blocks_of(n_labels)
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
            HAS_PAIRWISE=scores.pairwise is not None,
            BLOCK=block,
            TILE=tile,
            num_warps=warps,
            **OPTIONS,
        )
    return tangents


def blocks_of(n_labels: int) -> tuple[int, int, int]:
    """RETURNS (Tuple[int, int, int]): The number of labels, padded to a block size; the number of
    labels on the other axis of a tile; and the number of warps for a tile.
    """
    block = block_of(n_labels)
    numbers, warps = (TILE, 4) if block <= 32 else (WIDE_TILE, 8)
    return block, min(block, max(1, numbers // block)), warps
