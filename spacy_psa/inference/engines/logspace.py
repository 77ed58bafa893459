"""The log-domain backend: PyTorch operations on any device, differentiable any number of times."""

from collections.abc import Iterable
from itertools import repeat
from typing import Any

import torch
from torch import Tensor

from ..chain_scores import working_dtype
from ..layout import time_major
from ..potentials import Potentials
from .autodiff import AutogradBackend, unused_zero


class LogMatMul(torch.autograd.Function):
    """Matrix multiplication in the log semiring, log(exp(a) @ exp(b)).

    torch.logsumexp would keep the (n, m, k) summands of every time step for the backward pass.
    Here they are recomputed from the (n, k) and (n, m) numbers on either side. A sum in which all
    terms are exp(-inf) has zero gradient instead of NaN. The backward pass consists of
    differentiable operations, so that it can be differentiated itself.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        """a (Tensor): *Shape:* (n, k)
        b (Tensor): *Shape:* (k, m), or (n, k, m): one matrix for each row of a.
        RETURNS (Tensor): *Shape:* (n, m)
        """
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


class LogSpaceBackend(AutogradBackend):
    """The forward algorithm in the log domain (Lafferty et al. 2001, section 3), token by token."""

    def log_partition(self, potentials: Potentials) -> Tensor:
        layout, dtype = time_major(potentials.lengths), working_dtype(potentials)
        device, n_labels = potentials.device, potentials.n_labels
        totals = unused_zero(potentials).expand(len(potentials.lengths))
        if not layout.counts:
            return totals
        zeros = torch.zeros(n_labels, dtype=dtype, device=device)

        def scores(tensor: Tensor | None, default: Tensor) -> Tensor:
            return default if tensor is None else tensor.to(dtype)

        transitions = scores(potentials.transitions, zeros.expand(n_labels, n_labels))
        order = torch.from_numpy(layout.order).to(device)
        # One split for all steps: indexing each step would create a full-size gradient for it
        by_step = potentials.emissions.to(dtype)[order].split(layout.counts)
        matrices: Iterable[Tensor] = repeat(transitions)
        if potentials.pairwise is not None:
            by_token = potentials.pairwise.to(dtype)[order] + transitions
            matrices = by_token.split(layout.counts)[1:]
        alpha = by_step[0] + scores(potentials.start, zeros)
        ended = []
        for emissions, matrix in zip(by_step[1:], matrices, strict=False):
            n_active = emissions.shape[0]
            alpha, done = alpha.split([n_active, alpha.shape[0] - n_active])
            ended.append(done)
            alpha = LogMatMul.apply(alpha, matrix) + emissions
        ended.append(alpha)
        last = torch.cat(ended[::-1])  # the longest chains end last, but rank first
        log_z = LogMatMul.apply(last, scores(potentials.end, zeros).unsqueeze(1)).squeeze(1)
        return totals.index_put((torch.from_numpy(layout.chains).to(device),), log_z)
