"""Sums over paths through a trellis: the forward and backward recursions in the log domain.

    forward_1(j)      = start_j + emissions_1j
    forward_t(j)      = emissions_tj + log Σ_i exp(forward_{t−1}(i) + ψ_t(i, j))
    backward_n(i)     = end_i
    backward_{t−1}(i) = log Σ_j exp(ψ_t(i, j) + emissions_tj + backward_t(j))
    log Z             = log Σ_j exp(forward_n(j) + end_j)

with ψ_t = transitions + pairwise_t (Lafferty et al. 2001, section 3).
"""

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..chain_scores import working_dtype
from ..layout import time_major
from ..potentials import Potentials

# A sum of products below this may have lost terms to underflow. Its inverse occurs in derivatives,
# squared in second derivatives, and must not overflow there
TINY = 1e-100


class LogMatMul(torch.autograd.Function):
    """Matrix multiplication in the log semiring, log(exp(a) @ exp(b)).

    In float64, it is a product of matrices: a is divided by the maxima of its rows, b by those of
    its columns. Entries that may have lost terms to underflow are computed by logsumexp, as are all
    in float32. A sum in which all terms are exp(-inf) has zero gradient instead of NaN.

    The gradient is computed from logarithms. The (n, m, k) summands are not kept for it, but
    recomputed from the numbers on either side, by operations that can be differentiated again.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        """a (Tensor): *Shape:* (n, k)
        b (Tensor): *Shape:* (k, m), or (n, k, m): one matrix for each row of a.
        RETURNS (Tensor): *Shape:* (n, m)
        """
        if a.dtype == torch.float64:
            top, peaks = peak(a, dim=1), peak(b, dim=-2)
            sums = matmul((a - top).exp(), (b - peaks).exp())
            out = sums.log() + top + peaks.squeeze(-2)
            if may_be_lossy(sums):
                rows, columns = lossy(sums, a, b).nonzero(as_tuple=True)
                ways = b.mT[columns] if b.dim() == 2 else b.mT[rows, columns]
                out[rows, columns] = torch.logsumexp(a[rows] + ways, dim=1)
        else:
            out = torch.logsumexp(a.unsqueeze(1) + b.mT, dim=2)
        ctx.save_for_backward(a, b, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        a, b, out = ctx.saved_tensors
        impossible = (out == -torch.inf).unsqueeze(2)
        # Normalized by the exact sum: `out` is rounded, by more than log 2 if scores are huge
        summands = (a.unsqueeze(1) + b.mT).masked_fill(impossible, 0.0)
        shares = torch.softmax(summands, dim=2).masked_fill(impossible, 0.0) * grad.unsqueeze(2)
        return shares.sum(dim=1), (shares if b.dim() == 3 else shares.sum(dim=0)).mT


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The product of a (n, k) and b (k, m), or of each row of a and its own matrix (n, k, m)."""
    return a @ b if b.dim() == 2 else (a.unsqueeze(1) @ b).squeeze(1)


def may_be_lossy(sums: Tensor) -> bool:
    """Whether any sum is so small that terms may have underflowed."""
    return not bool((sums >= TINY).all())


def lossy(sums: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Which of these sums have terms at all (n, m), in a product of exponentials."""
    terms = matmul((a != -torch.inf).to(a), (b != -torch.inf).to(b))
    return (sums < TINY) & (terms > 0.0)


def peak(scores: Tensor, *, dim: int) -> Tensor:
    """The maximum, to be subtracted before exponentiation: finite, with the dimension kept."""
    lowest = torch.finfo(scores.dtype).min
    return scores.detach().amax(dim=dim, keepdim=True).clamp(min=lowest)


class Trellis:
    """The messages of a batch of chains, time step by time step. Differentiable any number of
    times.

    Time step t has the t-th tokens of the chains that are long enough, from the longest chain to
    the shortest: `counts[t]` rows, as in `TimeMajor`.

    potentials (Potentials): The scores of at least one token.
    """

    def __init__(self, potentials: Potentials) -> None:
        self.layout, dtype = time_major(potentials.lengths), working_dtype(potentials)
        n_labels, device = potentials.n_labels, potentials.device
        zeros = torch.zeros(n_labels, dtype=dtype, device=device)

        def scores(tensor: Tensor | None, default: Tensor) -> Tensor:
            return default if tensor is None else tensor.to(dtype)

        self.start, self.end = scores(potentials.start, zeros), scores(potentials.end, zeros)
        self._transitions = scores(potentials.transitions, zeros.expand(n_labels, n_labels))
        self._order = torch.from_numpy(self.layout.order).to(device)
        self.emissions = self.by_step(potentials.emissions.to(dtype))
        pairwise = potentials.pairwise
        self._pairwise = None if pairwise is None else self.by_step(pairwise)

    def transitions(self, t: int) -> Tensor:
        """ψ_t, from labels at time step t - 1 to labels at t: (L, L), or (counts[t], L, L) if the
        scores differ between tokens."""
        if self._pairwise is None:
            return self._transitions
        return self._pairwise[t].to(self._transitions.dtype) + self._transitions

    @cached_property
    def forward(self) -> list[Tensor]:
        """RETURNS (List[Tensor]): *Shape:* (counts[t], L). The log of the sum over all paths up to
        each label, including the label itself.
        """
        messages = [self.emissions[0] + self.start]
        for t, emissions in enumerate(self.emissions[1:], start=1):
            before = messages[-1].split([len(emissions), len(messages[-1]) - len(emissions)])[0]
            messages.append(LogMatMul.apply(before, self.transitions(t)) + emissions)
        return messages

    @cached_property
    def backward(self) -> list[Tensor]:
        """RETURNS (List[Tensor]): *Shape:* (counts[t], L). The log of the sum over all paths from
        each label onward, excluding the label itself.
        """
        counts = self.layout.counts
        messages = [self.end.expand(counts[-1], -1)]
        for t in range(len(counts) - 1, 0, -1):
            onward = self.emissions[t] + messages[-1]
            reached = LogMatMul.apply(onward, self.transitions(t).mT)
            ending = self.end.expand(counts[t - 1] - counts[t], -1)
            messages.append(torch.cat([reached, ending]))
        return messages[::-1]

    @property
    def log_partition(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (counts[0],). log Z of the nonempty chains, from the longest
        to the shortest.
        """
        return LogMatMul.apply(self.ends(self.forward), self.end.unsqueeze(1)).squeeze(1)

    def before(self, scores: Tensor, labels: Tensor, t: int) -> Tensor:
        """Extend paths backward: for labels (counts[t], m) at time step t, add the scores of the
        transition to those of the labels at t - 1 (counts[t], L). *Shape:* (counts[t], m, L).
        """
        into = self.transitions(t).mT
        rows = torch.arange(len(labels), device=labels.device).unsqueeze(1)
        return scores.unsqueeze(1) + (into[labels] if into.dim() == 2 else into[rows, labels])

    def ends(self, rows: list[Tensor]) -> Tensor:
        """Select the row of each chain's last token: (counts[0], …), from the longest chain on."""
        following = [*self.layout.counts[1:], 0]
        parts = [row.split([n, len(row) - n])[1] for row, n in zip(rows, following, strict=True)]
        return torch.cat(parts[::-1])

    def by_token(self, rows: list[Tensor]) -> Tensor:
        """Put rows (counts[t], …) of all time steps in the original order of the tokens, (N, …)."""
        return torch.cat(rows)[torch.from_numpy(self.layout.row_of_token).to(rows[0].device)]

    def by_step(self, rows: Tensor) -> tuple[Tensor, ...]:
        """The reverse of `by_token`."""
        # One split for all steps: indexing each step would create a full-size gradient for it
        return rows[self._order].split(self.layout.counts)

    def by_chain(self, values: Tensor, default: Tensor) -> Tensor:
        """Put values (counts[0], …) in the original order of the chains. The values of empty chains
        are those of `default` (C, …)."""
        return default.index_put((torch.from_numpy(self.layout.chains).to(values.device),), values)
