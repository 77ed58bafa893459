"""The trellis of a batch of chains, time step by time step, and sums over paths through it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..layout import TimeMajor, time_major
from ..potentials import Potentials
from .array_ops import Array, ArrayOps, NumpyOps, TorchOps
from .arrays import Scores
from .torch_transitions import TorchTransitions
from .transition_scores import NoTransitions, TransitionScores, make_transition_scores


@dataclass(frozen=True)
class Trellis:
    """The scores of a batch of chains in float64.

    Time step t has the t-th tokens of the chains that are long enough, from the longest chain to
    the shortest: `counts[t]` rows, as in `TimeMajor`.

    layout (TimeMajor): The layout of the tokens in chains.
    emissions (List[Array]): *Shape:* (counts[t], L). For each time step.
    start (Array): *Shape:* (L,)
    end (Array): *Shape:* (L,)
    transition_scores (TransitionScores): The scores of transitions between labels.
    ops (ArrayOps): The operations of the array library.
    """

    layout: TimeMajor
    emissions: list[Array]
    start: Array
    end: Array
    transition_scores: TransitionScores
    ops: ArrayOps

    @cached_property
    def forward(self) -> list[Array]:
        """RETURNS (List[Array]): *Shape:* (counts[t], L). The log of the sum over all paths up to
        each label, including the label itself.
        """
        messages: list[Array] = []
        for t, emissions in enumerate(self.emissions):
            reached = (
                self.transition_scores.total(messages[-1][: len(emissions)], t) if t else self.start
            )
            messages.append(emissions + reached)
        return messages

    @cached_property
    def backward(self) -> list[Array]:
        """RETURNS (List[Array]): *Shape:* (counts[t], L). The log of the sum over all paths from
        each label onward, excluding the label itself.
        """
        messages: list[Array] = []
        for t in reversed(range(len(self.emissions))):
            n_following = len(messages[-1]) if messages else 0
            ending = np.zeros(len(self.emissions[t]) - n_following, dtype=np.int64)
            parts = [self.end[None, :][self.ops.integers(ending)]]
            if messages:
                onward = self.emissions[t + 1] + messages[-1]
                parts.insert(0, self.transition_scores.total_onward(onward, t + 1))
            messages.append(self.ops.concatenate(parts))
        return messages[::-1]

    @cached_property
    def log_partition(self) -> Array:
        """RETURNS (Array): *Shape:* (counts[0],). log Z of the nonempty chains, from the longest to
        the shortest.
        """
        return self.ops.logsumexp(self.ends(self.forward) + self.end)

    def ends(self, rows: list[Array]) -> Array:
        """Select the row of each chain's last token.

        rows (List[Array]): *Shape:* (counts[t], …). For each time step, at least one.
        RETURNS (Array): *Shape:* (counts[0], …). From the longest chain to the shortest.
        """
        following = [*self.layout.counts[1:], 0]
        parts = [row[n:] for row, n in zip(rows, following, strict=True)]
        return self.ops.concatenate(parts[::-1])

    def by_token(self, rows: list[Array]) -> Array:
        """Put rows in the original order of the tokens.

        rows (List[Array]): *Shape:* (counts[t], …). For each time step, at least one.
        RETURNS (Array): *Shape:* (N, …)
        """
        return self.ops.concatenate(rows)[self.ops.integers(self.layout.row_of_token)]

    def by_step(self, rows: Array) -> list[Array]:
        """The reverse of `by_token`.

        rows (Array): *Shape:* (N, …)
        RETURNS (List[Array]): *Shape:* (counts[t], …)
        """
        return _split(rows[self.ops.integers(self.layout.order)], self.layout)

    def by_chain(self, values: Array, default: Tensor) -> Tensor:
        """Put values in the original order of the chains.

        values (Array): *Shape:* (counts[0], …). From the longest chain to the shortest.
        default (Tensor): *Shape:* (C, …). The values of empty chains, in the dtype of the result.
        RETURNS (Tensor): *Shape:* (C, …). Differentiable.
        """
        chains = torch.from_numpy(self.layout.chains).to(default.device)
        # In two steps, as not all devices support float64
        values = torch.as_tensor(values).to(default.dtype).to(default.device)
        return default.index_put((chains,), values)


def numpy_trellis(potentials: Potentials) -> Trellis:
    """Create a trellis of NumPy arrays. No gradient flows through it.

    potentials (Potentials): The scores.
    RETURNS (Trellis): The trellis.
    """
    layout = time_major(potentials.lengths)
    # Pairwise scores are converted step by step
    scores = Scores.of(*potentials.fields()).with_wide_tables()
    emissions = _split(scores.emissions[layout.order], layout)
    transition_scores = make_transition_scores(scores, layout)
    return Trellis(layout, emissions, scores.start, scores.end, transition_scores, NumpyOps())


def torch_trellis(potentials: Potentials) -> Trellis:
    """Create a trellis of tensors. Gradients flow through it.

    potentials (Potentials): The scores.
    RETURNS (Trellis): The trellis.
    """
    fields = with_float64(potentials).tensors()
    layout, ops = time_major(potentials.lengths), TorchOps(fields["emissions"].device)
    wide = {name: tensor.double() for name, tensor in fields.items() if name != "pairwise"}
    zeros = ops.zeros(potentials.n_labels)
    transition_scores: TransitionScores = NoTransitions(ops)
    if "transitions" in fields or "pairwise" in fields:
        transitions = wide.get("transitions", zeros.expand(potentials.n_labels, -1))
        transition_scores = TorchTransitions(transitions, fields.get("pairwise"), layout)
    emissions = _split(wide["emissions"][ops.integers(layout.order)], layout)
    return Trellis(
        layout, emissions, wide.get("start", zeros), wide.get("end", zeros), transition_scores, ops
    )


def with_float64(potentials: Potentials) -> Potentials:
    """Move potentials to a device that supports float64.

    potentials (Potentials): The scores.
    RETURNS (Potentials): The same object on the CPU and CUDA devices; otherwise a copy on the CPU.
    """
    if potentials.device.type in ("cpu", "cuda"):
        return potentials
    return potentials.map(Tensor.cpu)


def _split(rows: Array, layout: TimeMajor) -> list[Array]:
    steps = zip(layout.offsets, layout.counts, strict=True)
    return [rows[offset : offset + count] for offset, count in steps]
