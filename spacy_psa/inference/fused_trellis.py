"""A trellis whose sums over paths and searches for paths run in GPU kernels."""

from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .array_ops import TorchOps
from .fused import can_be_fused, for_kernels
from .layout import time_major
from .potentials import Potentials
from .trellis import Trellis, numpy_trellis, torch_trellis

if TYPE_CHECKING:
    from ..kernels.chains import Chains, ChainScores, Messages


class FusedTrellis(Trellis):
    """As `Trellis`, in float64 on a GPU, where one kernel processes all time steps of a chain. No
    gradient flows through it.

    potentials (Potentials): The scores; `can_be_fused` must be true of them.
    """

    potentials: Potentials

    def __init__(self, potentials: Potentials) -> None:
        # The fields of a trellis of tensors are created lazily, see `__getattr__`
        vars(self).update(
            potentials=potentials.detach(),
            layout=time_major(potentials.lengths),
            ops=TorchOps(potentials.device),
        )

    def __getattr__(self, name: str) -> Any:
        """emissions, start, end and transition_scores, created on first access."""
        if name not in ("emissions", "start", "end", "transition_scores"):
            raise AttributeError(name)
        steps = torch_trellis(self.potentials)
        vars(self).update(
            emissions=steps.emissions,
            start=steps.start,
            end=steps.end,
            transition_scores=steps.transition_scores,
        )
        return vars(self)[name]

    @cached_property
    def forward(self) -> list[Tensor]:
        return self.by_step(self._forward.forward)

    @cached_property
    def backward(self) -> list[Tensor]:
        backward = self._pass(both_sides=True).backward
        assert backward is not None
        return self.by_step(backward)

    @cached_property
    def log_partition(self) -> Tensor:
        return self._forward.log_z

    def path_entropies(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (counts[0],). As `entropy.path_entropy`."""
        return self._queries.path_entropies(*self._chains, self._forward)

    def sampled_paths(self, uniform: Tensor) -> Tensor:
        """As `sampling.sampled_paths`."""
        return self._queries.sampled_paths(*self._chains, self._forward, uniform)

    def ranked_paths(self, k: int) -> tuple[Tensor, Tensor, Tensor] | None:
        """RETURNS (Optional[Tuple[Tensor, Tensor, Tensor]]): As `nbest.ranked_paths`; None if there
        are too many labels and paths for a kernel.
        """
        if not self._queries.fits_k_best(self.potentials.n_labels, k):
            return None
        return self._queries.k_best_paths(*self._chains, k)

    @cached_property
    def _chains(self) -> "tuple[ChainScores, Chains]":
        return for_kernels(self.potentials.fields(), self.potentials.lengths)

    @cached_property
    def _forward(self) -> "Messages":
        return self._pass(both_sides=False)

    def _pass(self, *, both_sides: bool) -> "Messages":
        from ..kernels.chains import pass_messages

        scores, chains = self._chains
        return pass_messages(scores, chains, torch.float64, both_sides=both_sides, absolute=True)

    @property
    def _queries(self) -> ModuleType:
        from ..kernels import chain_queries

        return chain_queries


def make_trellis(potentials: Potentials) -> Trellis:
    """Create the kind of trellis that suits the device.

    potentials (Potentials): The scores.
    RETURNS (Trellis): A trellis of tensors on CUDA devices, of NumPy arrays on others. No gradient
        flows through it.
    """
    if potentials.device.type != "cuda":
        return numpy_trellis(potentials)
    if can_be_fused(potentials):
        return FusedTrellis(potentials)
    return torch_trellis(potentials.detach())
