"""A trellis whose sums over paths, and paths, are programs of a GPU."""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .fused import can_be_fused
from .potentials import Potentials
from .trellis import Trellis, numpy_trellis, torch_trellis

if TYPE_CHECKING:
    from ..kernels.chains import Chains, ChainScores, Messages


@dataclass(frozen=True)
class FusedTrellis(Trellis):
    """As `Trellis`, in float64 on a GPU, without a step of Python for each token. No gradient flows
    through it.

    potentials (Potentials): The same scores, which `can_be_fused`.
    """

    potentials: Potentials

    @cached_property
    def forward(self) -> list[Tensor]:
        return self.by_step(self._messages.forward)

    @cached_property
    def backward(self) -> list[Tensor]:
        assert self._messages.backward is not None
        return self.by_step(self._messages.backward)

    def path_entropies(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (counts[0],). As `entropy.path_entropy`."""
        return self._queries.path_entropies(*self._chains, self._messages)

    def sampled_paths(self, uniform: Tensor) -> Tensor:
        """As `sampling.sampled_paths`."""
        return self._queries.sampled_paths(*self._chains, self._messages, uniform)

    def ranked_paths(self, k: int) -> tuple[Tensor, Tensor, Tensor] | None:
        """RETURNS (Optional[Tuple[Tensor, Tensor, Tensor]]): As `nbest.ranked_paths`; None if there
        are too many labels and paths for a program.
        """
        if not self._queries.fits_k_best(self.potentials.n_labels, k):
            return None
        labels, peaks, losses = self._queries.k_best_paths(*self._chains, k)
        return labels, peaks.unsqueeze(1), losses

    @cached_property
    def _chains(self) -> "tuple[ChainScores, Chains]":
        from ..kernels.chains import ChainScores, chains_on

        potentials = self.potentials
        chains = chains_on(potentials.lengths, potentials.device)
        return ChainScores.of(*potentials.fields()), chains

    @cached_property
    def _messages(self) -> "Messages":
        from ..kernels.chains import pass_messages

        scores, chains = self._chains
        return pass_messages(scores, chains, torch.float64, both_sides=True, absolute=True)

    @property
    def _queries(self) -> ModuleType:
        from ..kernels import chain_queries

        return chain_queries


def make_trellis(potentials: Potentials) -> Trellis:
    """The trellis to compute with on a device.

    potentials (Potentials): The scores.
    RETURNS (Trellis): One of tensors for CUDA devices, one of NumPy arrays for others. No gradient
        flows through it.
    """
    if potentials.device.type != "cuda":
        return numpy_trellis(potentials)
    if can_be_fused(potentials):
        return fused_trellis(potentials)
    return torch_trellis(potentials.detach())


def fused_trellis(potentials: Potentials) -> FusedTrellis:
    """A trellis for a GPU.

    potentials (Potentials): The scores, which `can_be_fused`.
    RETURNS (FusedTrellis): The trellis.
    """
    detached = potentials.detach()
    scores = torch_trellis(detached)
    return FusedTrellis(
        scores.layout,
        scores.emissions,
        scores.start,
        scores.end,
        scores.moves,
        scores.ops,
        detached,
    )
