"""Label smoothing, for chains as for single labels."""

import numpy as np
import torch
from torch import Tensor

from ..errors import Errors
from .layout import time_major
from .linear_chain import UNKNOWN, LinearChain
from .potentials import Potentials
from .scores import sum_by_chain, working_dtype


def smoothed_log_prob(chain: LinearChain, labels: Tensor, smoothing: float) -> Tensor:
    """The log-probability to expect of labels that are only right with the probability 1 − ε.

    The labels of annotated tokens are taken to be independent of each other, with the distribution

        q_t(y) = 1 − ε for the annotated label, ε / (L − 1) for each other one.

    Where all tokens are annotated, this is the negative cross-entropy of q and the model p,

        E_q[log p(y)] = E_q[score(y)] − log Z,
        E_q[score(y)] = q_1·start + Σ_t q_t·emissions_t
            + Σ_{t>1} q_{t−1}ᵀ·(transitions + pairwise_t)·q_t + q_n·end,

    which for a softmax is the label smoothing of the authors' code. Szegedy et al. (2016), and
    PyTorch, share ε among all L labels, the annotated one included: theirs is ours with
    ε·(L − 1) / L in place of ε.

    Unknown labels u are not smoothed; they are summed over, as in `LinearChain.log_prob`, with the
    annotated labels a at their expected scores:

        log Σ_u exp(E_{a∼q}[score(a, u)]) − log Z

    This is at most E_{a∼q}[log p(a)], and just that where no transitions join annotated and unknown
    labels; but it takes no longer than log Z. Without smoothing, all of these are
    `chain.log_prob(labels)`. Differentiable.

    chain (LinearChain): The model's distribution.
    labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1, or -1 for an unknown label.
    smoothing (float): ε, at least 0 and less than 1.
    RETURNS (Tensor): *Shape:* (C,). At most 0, and less than that even for the best of models.
    RAISES (ValueError): If the labels do not fit the potentials, or labels are to be smoothed of
        which the potentials rule out some.

    Source: Tan et al. (2018), 'Settings and Regularization'.
    """
    if smoothing == 0.0:
        return chain.log_prob(labels)
    labels = chain._check_labels(labels)
    expected = _Expected(chain.potentials, labels, smoothing)
    if any(bool((scores == -torch.inf).any()) for scores in expected.scores.values()):
        raise ValueError(Errors.P230.format(smoothing=smoothing))
    total = expected.score()
    if bool(expected.unknown.any()):
        runs, chains = expected.runs()
        total = total.index_add(0, chains, chain._backend.log_partition(runs))
    return total - chain.log_partition


class _Expected:
    """Scores under smoothed labels.

    potentials (Potentials): The scores.
    labels (Tensor): *Shape:* (N,)
    smoothing (float): ε
    """

    def __init__(self, potentials: Potentials, labels: Tensor, smoothing: float) -> None:
        layout, device = time_major(potentials.lengths), potentials.device
        dtype, n_labels = working_dtype(potentials), potentials.n_labels
        self.potentials = potentials
        self.unknown = labels == UNKNOWN
        self.scores = {name: tensor.to(dtype) for name, tensor in potentials.tensors().items()}
        self.first, self.last, self.inner, self.chains = (
            torch.from_numpy(index).to(device)
            for index in (
                layout.first_tokens,
                layout.last_tokens,
                layout.inner_tokens,
                layout.chain_of_token,
            )
        )
        if "pairwise" in self.scores:
            self.scores["pairwise"] = self.scores["pairwise"][self.inner]
        # A single label has nothing to share with; a row of zeros has nothing to expect.
        other = smoothing / (n_labels - 1) if n_labels > 1 else 0.0
        gold = 1.0 - other * (n_labels - 1)
        q = torch.full((labels.numel(), n_labels), other, dtype=dtype, device=device)
        q.scatter_(1, labels.clamp(min=0).unsqueeze(1), gold)
        self.q = q.masked_fill_(self.unknown.unsqueeze(1), 0.0)

    def after(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (inner tokens, L). What each label of a token is expected to
        score for its predecessor; 0 if that is not annotated.
        """
        q = self.q[self.inner - 1]
        scores = torch.zeros_like(q)
        if "transitions" in self.scores:
            scores = scores + q @ self.scores["transitions"]
        if "pairwise" in self.scores:
            scores = scores + (q.unsqueeze(1) @ self.scores["pairwise"]).squeeze(1)
        return scores

    def before(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (inner tokens, L). What each label of a token's predecessor is
        expected to score for the token; 0 if that is not annotated.
        """
        q = self.q[self.inner]
        scores = torch.zeros_like(q)
        if "transitions" in self.scores:
            scores = scores + q @ self.scores["transitions"].t()
        if "pairwise" in self.scores:
            scores = scores + (self.scores["pairwise"] @ q.unsqueeze(2)).squeeze(2)
        return scores

    def score(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). What is expected of the annotated tokens of each chain:
        their emissions, and their transitions among each other.
        """
        values = (self.q * self.scores["emissions"]).sum(dim=1)
        values = values.index_add(0, self.inner, (self.after() * self.q[self.inner]).sum(dim=1))
        for name, tokens in (("start", self.first), ("end", self.last)):
            if name in self.scores:
                values = values.index_add(0, tokens, self.q[tokens] @ self.scores[name])
        return sum_by_chain(values, self.potentials)

    def runs(self) -> tuple[Potentials, Tensor]:
        """The stretches of unknown labels, as chains of their own: what annotated neighbours, start
        and end add to them is fixed, and goes into the emissions.

        RETURNS (Tuple[Potentials, Tensor]): The R stretches, and the chain that each is part of.
            *Shape:* (R,).
        """
        emissions = self.scores["emissions"].index_add(0, self.inner, self.after())
        emissions = emissions.index_add(0, self.inner - 1, self.before())
        for name, tokens in (("start", self.first), ("end", self.last)):
            if name in self.scores:
                scores = self.scores[name].expand(tokens.numel(), -1)
                emissions = emissions.index_add(0, tokens, scores)
        fields = {}
        if "transitions" in self.scores:
            fields["transitions"] = self.scores["transitions"]
        if self.potentials.pairwise is not None:
            fields["pairwise"] = self.potentials.pairwise[self.unknown].to(emissions.dtype)
        unknown = self.unknown.cpu().numpy()
        begins = unknown.copy()
        begins[1:] &= ~unknown[:-1]
        first = self.first.cpu().numpy()
        begins[first] = unknown[first]
        run_of_token = np.cumsum(begins)[unknown]  # from 1
        lengths = np.bincount(run_of_token)[1:].tolist()
        runs = Potentials(emissions[self.unknown], tuple(lengths), **fields)
        return runs, self.chains[torch.from_numpy(begins).to(self.chains.device)]
