"""The definition: log Z by the forward algorithm in the log domain, everything else by autograd.

    p(y_t = j | x)                   = ∂ log Z / ∂ emissions_tj
    E[number of transitions i → j]   = ∂ log Z / ∂ transitions_ij

(Eisner 2016, "Inside-outside and forward-backward algorithms are just backprop").
"""

import torch
from torch import Tensor

from ..chain_scores import log_ratio, path_score
from ..potentials import Potentials
from .autodiff import unused_zero, without_inference_mode
from .backends import ExpectedCounts
from .trellis import Trellis


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
        if not (torch.is_grad_enabled() and potentials.requires_grad):
            return self._expectations(potentials, ["emissions"], False)["emissions"]
        marginals = self._expectations(potentials, ["emissions"], True)["emissions"]
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
