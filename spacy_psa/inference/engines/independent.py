"""Independent labels: a chain without transitions is a softmax per token, without recursions."""

import torch
from torch import Tensor

from ..chain_scores import log_ratio, path_score, sum_by_chain, working_dtype
from ..layout import time_major
from ..potentials import Potentials
from .backends import ExpectedCounts
from .trellis import LogMatMul


class IndependentBackend:
    """log Z is the sum of the tokens' logsumexp, and marginals are softmax probabilities."""

    def log_partition(self, potentials: Potentials) -> Tensor:
        log_z = sum_by_chain(_token_log_partition(potentials), potentials)
        # As for any chain: if one token has no possible label, the whole chain gets no gradient
        return torch.where(log_z == -torch.inf, log_z.detach(), log_z)

    def log_prob(self, potentials: Potentials, labels: Tensor) -> Tensor:
        return log_ratio(path_score(potentials, labels), self.log_partition(potentials))

    def marginals(self, potentials: Potentials) -> Tensor:
        log_z = _token_log_partition(potentials)
        impossible = sum_by_chain(log_z.detach(), potentials) == -torch.inf
        chains = torch.from_numpy(time_major(potentials.lengths).chain_of_token)
        dead = impossible[chains.to(impossible.device)].unsqueeze(1)
        scores = potentials.emissions.to(log_z.dtype).masked_fill(dead, 0.0)
        probabilities = torch.softmax(scores, dim=1).masked_fill(dead, 0.0)
        return probabilities.to(potentials.emissions.dtype)

    def expected_counts(self, potentials: Potentials) -> ExpectedCounts:
        layout = time_major(potentials.lengths)
        marginals = self.marginals(potentials.detach())
        inner = torch.from_numpy(layout.inner_tokens).to(marginals.device)
        first = torch.from_numpy(layout.first_tokens).to(marginals.device)
        last = torch.from_numpy(layout.last_tokens).to(marginals.device)
        # Autocast would multiply in low precision
        with torch.autocast(marginals.device.type, enabled=False):
            transitions = marginals[inner - 1].t() @ marginals[inner]
        return ExpectedCounts(
            transitions=transitions,
            start=marginals[first].sum(dim=0),
            end=marginals[last].sum(dim=0),
        )


def _token_log_partition(potentials: Potentials) -> Tensor:
    emissions = potentials.emissions.to(working_dtype(potentials))
    return LogMatMul.apply(emissions, emissions.new_zeros(potentials.n_labels, 1)).squeeze(1)
