"""Label smoothing for chains and for independent labels."""

import numpy as np
import torch
from torch import Tensor

from ..errors import Errors
from .chain_scores import sum_by_chain, working_dtype
from .layout import time_major
from .linear_chain import UNKNOWN, LinearChain
from .potentials import Potentials


def smoothed_log_prob(chain: LinearChain, labels: Tensor, smoothing: float) -> Tensor:
    """The expected log-probability of labels that are correct only with probability 1 − ε.

    The labels of annotated tokens are assumed to be independent, with the distribution

        q_t(y) = 1 − ε for the annotated label, ε / (L − 1) for each other label.

    If all tokens are annotated, this is the negative cross-entropy of q and the model p,

        E_q[log p(y)] = E_q[score(y)] − log Z,
        E_q[score(y)] = q_1·start + Σ_t q_t·emissions_t
            + Σ_{t>1} q_{t−1}ᵀ·(transitions + pairwise_t)·q_t + q_n·end,

    which for a softmax is the label smoothing of the authors' code. Szegedy et al. (2016) and
    PyTorch distribute ε over all L labels, including the annotated one: their version is ours with
    ε·(L − 1) / L in place of ε.

    Unknown labels u are not smoothed but summed over, as in `LinearChain.log_prob`, with the
    expected scores of the annotated labels a:

        log Σ_u exp(E_{a∼q}[score(a, u)]) − log Z

    This is a lower bound of E_{a∼q}[log p(a)], and equal to it if no transitions join annotated and
    unknown labels; it takes no longer than log Z. Without smoothing, all of these are
    `chain.log_prob(labels)`. Differentiable.

    chain (LinearChain): The model's distribution.
    labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1, or -1 for an unknown label.
    smoothing (float): ε, at least 0 and less than 1.
    RETURNS (Tensor): *Shape:* (C,). At most 0, and below 0 even for a perfect model.
    RAISES (ValueError): If the labels do not match the potentials, or if `smoothing` is not 0 and
        the potentials contain -inf.

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
    """Expected scores under smoothed labels (N,)."""

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
        # A single label cannot be smoothed; unknown labels get rows of zeros
        other = smoothing / (n_labels - 1) if n_labels > 1 else 0.0
        gold = 1.0 - other * (n_labels - 1)
        q = torch.full((labels.numel(), n_labels), other, dtype=dtype, device=device)
        q.scatter_(1, labels.clamp(min=0).unsqueeze(1), gold)
        self.q = q.masked_fill_(self.unknown.unsqueeze(1), 0.0)

    def after(self) -> Tensor:
        """The expected score (inner tokens, L) of the transition to each label of a token from its
        predecessor; 0 if the predecessor is not annotated."""
        q = self.q[self.inner - 1]
        scores = torch.zeros_like(q)
        if "transitions" in self.scores:
            scores = scores + q @ self.scores["transitions"]
        if "pairwise" in self.scores:
            scores = scores + (q.unsqueeze(1) @ self.scores["pairwise"]).squeeze(1)
        return scores

    def before(self) -> Tensor:
        """The expected score (inner tokens, L) of the transition from each label of a token's
        predecessor to the token; 0 if the token is not annotated."""
        q = self.q[self.inner]
        scores = torch.zeros_like(q)
        if "transitions" in self.scores:
            scores = scores + q @ self.scores["transitions"].t()
        if "pairwise" in self.scores:
            scores = scores + (self.scores["pairwise"] @ q.unsqueeze(2)).squeeze(2)
        return scores

    def score(self) -> Tensor:
        """The expected score of the annotated tokens of each chain (C,): their emissions, and the
        transitions between them."""
        values = (self.q * self.scores["emissions"]).sum(dim=1)
        values = values.index_add(0, self.inner, (self.after() * self.q[self.inner]).sum(dim=1))
        for name, tokens in (("start", self.first), ("end", self.last)):
            if name in self.scores:
                values = values.index_add(0, tokens, self.q[tokens] @ self.scores[name])
        return sum_by_chain(values, self.potentials)

    def runs(self) -> tuple[Potentials, Tensor]:
        """Runs of unknown labels as separate chains, and the chain that each is part of (R,). The
        expected scores of transitions from and to annotated neighbors, and start and end, are added
        to the emissions."""
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
