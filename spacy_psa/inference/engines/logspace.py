"""The definition: log Z by the forward algorithm in the log domain, everything else by autograd.

    p(y_t = j | x)                   = ∂ log Z / ∂ emissions_tj
    E[number of transitions i → j]   = ∂ log Z / ∂ transitions_ij

(Eisner 2016, "Inside-outside and forward-backward algorithms are just backprop").
"""

import torch
from torch import Tensor

from ..chain_scores import (
    chain_indices,
    log_ratio,
    path_score,
    sum_by_chain,
    without_inference_mode,
    working_dtype,
)
from ..potentials import Potentials
from .autodiff import unused_zero
from .backends import ExpectedCounts
from .trellis import LogMatMul, Trellis


class LogSpaceBackend:
    """The forward algorithm, token by token, on any device. Differentiable any number of times."""

    def log_partition(self, potentials: Potentials) -> Tensor:
        totals = unused_zero(potentials).expand(len(potentials.lengths))
        if not potentials.n_tokens:
            return totals
        trellis = Trellis(potentials)
        return trellis.by_chain(trellis.log_partition, totals)

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        return log_ratio(path_score(potentials, labels), self.log_partition(potentials))

    def marginals(self, potentials: Potentials) -> Tensor:
        differentiable = torch.is_grad_enabled() and potentials.requires_grad
        marginals = self._expectations(potentials, ["emissions"], differentiable)["emissions"]
        if not differentiable:
            return marginals
        # Without tokens, marginals depend on nothing and could not be differentiated
        return marginals + unused_zero(potentials).to(marginals.dtype)

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        names = list(ExpectedCounts._fields)
        return ExpectedCounts(**self._expectations(potentials.detach(), names, False))

    def _expectations(
        self, potentials: Potentials, names: list[str], differentiable: bool
    ) -> dict[str, Tensor]:
        """The gradient of log Z, summed over chains, with respect to the named fields."""
        n_labels = potentials.n_labels
        fields = potentials.tensors()
        # In inference mode, which `enable_grad` does not leave, no graph is recorded
        with torch.inference_mode(False), torch.enable_grad():
            if not differentiable:
                fields = {name: without_inference_mode(tensor) for name, tensor in fields.items()}
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


class IndependentBackend:
    """The same without transitions, a softmax per token."""

    def log_partition(self, potentials: Potentials) -> Tensor:
        log_z = sum_by_chain(_token_log_partition(potentials), potentials)
        # As for any chain: if one token has no possible label, the whole chain gets no gradient
        return torch.where(log_z == -torch.inf, log_z.detach(), log_z)

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        return log_ratio(path_score(potentials, labels), self.log_partition(potentials))

    def marginals(self, potentials: Potentials) -> Tensor:
        log_z = _token_log_partition(potentials)
        impossible = sum_by_chain(log_z.detach(), potentials) == -torch.inf
        chains = chain_indices(potentials.lengths, impossible.device).chain_of_token
        dead = impossible[chains].unsqueeze(1)
        scores = potentials.emissions.to(log_z.dtype).masked_fill(dead, 0.0)
        probabilities = torch.softmax(scores, dim=1).masked_fill(dead, 0.0)
        return probabilities.to(potentials.emissions.dtype)

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        marginals = self.marginals(potentials.detach())
        places = chain_indices(potentials.lengths, marginals.device)
        # Autocast would multiply in low precision
        with torch.autocast(marginals.device.type, enabled=False):
            transitions = marginals[places.inner - 1].t() @ marginals[places.inner]
        return ExpectedCounts(
            transitions=transitions,
            start=marginals[places.first].sum(dim=0),
            end=marginals[places.last].sum(dim=0),
        )


def _token_log_partition(potentials: Potentials) -> Tensor:
    emissions = potentials.emissions.to(working_dtype(potentials))
    return LogMatMul.apply(emissions, emissions.new_zeros(potentials.n_labels, 1)).squeeze(1)
