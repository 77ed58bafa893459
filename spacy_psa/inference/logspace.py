"""The log-domain backend: PyTorch operations on any device, differentiable any number of times."""

from typing import Any

import torch
from torch import Tensor

from .backends import ExpectedCounts
from .layout import time_major
from .potentials import Potentials
from .scores import log_ratio, path_score, working_dtype


class LogMatMul(torch.autograd.Function):
    """The matrix product in the log semiring, log(exp(a) @ exp(b)).

    PyTorch's own logsumexp would keep the (n, m, k) summands of every time step for the backward
    pass. Here they are computed again, from the (n, k) and (n, m) numbers on either side. And a
    sum of nothing but exp(-inf) has the gradient zero rather than NaN. The backward pass consists
    of differentiable operations, so that it can be differentiated in turn.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        """a (Tensor): *Shape:* (n, k)
        b (Tensor): *Shape:* (k, m)
        RETURNS (Tensor): *Shape:* (n, m)
        """
        out = torch.logsumexp(a.unsqueeze(1) + b.t(), dim=2)
        ctx.save_for_backward(a, b, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        a, b, out = ctx.saved_tensors
        out = out.masked_fill(out == -torch.inf, 0.0)
        shares = torch.exp(a.unsqueeze(1) + b.t() - out.unsqueeze(2)) * grad.unsqueeze(2)
        return shares.sum(dim=1), shares.sum(dim=0).t()


class LogSpaceBackend:
    """The forward algorithm in the log domain (Lafferty et al. 2001, section 3).

    Everything else is its derivative (Eisner 2016, "Inside-outside and forward-backward algorithms
    are just backprop").
    """

    differentiable_marginals = True

    def log_partition(self, potentials: Potentials) -> Tensor:
        layout, dtype = time_major(potentials.lengths), working_dtype(potentials)
        device, n_labels = potentials.device, potentials.n_labels
        totals = torch.zeros(layout.n_chains, dtype=dtype, device=device)
        if len(layout.counts) < 2:
            # What no token or no transition makes use of: it has the gradient zero, but it has one
            for tensor in potentials.tensors().values():
                totals = totals + tensor.flatten()[:0].sum()
        if not layout.counts:
            return totals
        zeros = torch.zeros(n_labels, dtype=dtype, device=device)

        def scores(tensor: Tensor | None, default: Tensor) -> Tensor:
            return default if tensor is None else tensor.to(dtype)

        transitions = scores(potentials.transitions, zeros.expand(n_labels, n_labels))
        order = torch.from_numpy(layout.order).to(device)
        # One split for all steps: indexing step by step costs a full-size gradient each
        steps = potentials.emissions.to(dtype)[order].split(layout.counts)
        alpha = steps[0] + scores(potentials.start, zeros)
        ended = []
        for emissions in steps[1:]:
            n_active = emissions.shape[0]
            alpha, done = alpha.split([n_active, alpha.shape[0] - n_active])
            ended.append(done)
            alpha = LogMatMul.apply(alpha, transitions) + emissions
        ended.append(alpha)
        last = torch.cat(ended[::-1])  # the longest chains ended last, and rank first
        log_z = LogMatMul.apply(last, scores(potentials.end, zeros).unsqueeze(1)).squeeze(1)
        return totals.index_put((torch.from_numpy(layout.chains).to(device),), log_z)

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        return log_ratio(path_score(potentials, labels), self.log_partition(potentials))

    def marginals(self, potentials: Potentials) -> Tensor:
        differentiable = torch.is_grad_enabled() and potentials.requires_grad
        return self._expectations(potentials, ["emissions"], differentiable)["emissions"]

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        names = list(ExpectedCounts._fields)
        return ExpectedCounts(**self._expectations(potentials.detach(), names, False))

    def _expectations(
        self, potentials: Potentials, names: list[str], differentiable: bool
    ) -> dict[str, Tensor]:
        """The gradient of log Z, summed over chains, with respect to the fields of these names."""
        n_labels = potentials.n_labels
        fields = potentials.tensors()
        with torch.enable_grad():
            for name in names:
                if name not in fields:
                    shape = (n_labels,) * (2 if name == "transitions" else 1)
                    fields[name] = potentials.emissions.new_zeros(shape)
                if not (differentiable and fields[name].requires_grad):
                    fields[name] = fields[name].detach().requires_grad_()
            log_z = self.log_partition(Potentials(lengths=potentials.lengths, **fields))
            gradients = torch.autograd.grad(
                log_z,
                [fields[name] for name in names],
                grad_outputs=torch.ones_like(log_z),
                create_graph=differentiable,
                allow_unused=True,
                materialize_grads=True,
            )
        return dict(zip(names, gradients, strict=True))
