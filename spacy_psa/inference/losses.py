"""What is learned from besides the log-probability of labels: smoothed labels, sets of labels, and
another distribution."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ..errors import Errors
from .chain_scores import (
    UNKNOWN,
    as_sets,
    chain_indices,
    check_labels,
    log_ratio,
    sum_by_chain,
    without_inference_mode,
    working_dtype,
)
from .constraints import Constraints, with_copies
from .linear_chain import LinearChain
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
    labels = check_labels(chain.potentials, labels)
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
        dtype, n_labels, device = working_dtype(potentials), potentials.n_labels, potentials.device
        self.potentials = potentials
        self.unknown = labels == UNKNOWN
        self.scores = {name: tensor.to(dtype) for name, tensor in potentials.tensors().items()}
        places = chain_indices(potentials.lengths, device)
        self.first, self.last, self.inner = places.first, places.last, places.inner
        self.chains = places.chain_of_token
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


def log_prob_of_sets(
    chain: LinearChain,
    labels: Tensor,
    sets: Mapping[int, Sequence[int]],
    constraints: Constraints | None = None,
) -> Tensor:
    """The log of the total probability of all label sequences that agree with an annotation in
    which some tokens have a set of labels. Differentiable.

    With constraints, a sequence agrees only if its transitions between adjacent tokens with sets
    are allowed. For the sets {B-A, B-B} and {E-A, E-B}, which stand for a span labeled A or B,
    BIOES leaves B-A E-A and B-B E-B. All other transitions remain as in `chain`: these constraints
    affect neither known nor unknown labels, nor the distribution itself.

    This slows down only the sum within the sets. There, the labels in sets are duplicated, with the
    same scores, and only tokens with sets may have the copies. Constraints can then forbid
    transitions between copies alone, without per-token scores.

    chain (LinearChain): The distribution.
    labels (Tensor): *Shape:* (N,). The labels of tokens without sets; -1 for unknown labels.
    sets (Mapping[int, Sequence[int]]): The labels in each set, by token.
    constraints (Optional[Constraints]): Which labels may follow each other in adjacent sets. Not
        needed if `chain` already has these constraints.
    RETURNS (Tensor): *Shape:* (C,). -inf, with zero gradient, if no sequence agrees.
    RAISES (ValueError): If the labels do not match the potentials.

    Source: Tsuboi et al. (2008), 'Training Conditional Random Fields Using Incomplete Annotations',
    for ambiguous annotation.
    """
    labels = check_labels(chain.potentials, labels)
    n_labels = chain.potentials.n_labels
    allowed = as_sets(labels, n_labels)
    tokens = sorted(sets)
    of_sets = torch.zeros(len(tokens), n_labels, dtype=torch.bool)
    for row, token in enumerate(tokens):
        of_sets[row, list(sets[token])] = True
    of_sets = of_sets.to(allowed.device)
    allowed[tokens] = of_sets
    if constraints is None or not any(token + 1 in sets for token in tokens):
        return chain.log_prob_of(allowed)
    copied = of_sets.any(dim=0).nonzero().squeeze(1)
    copies = allowed.new_zeros(len(labels), len(copied))
    copies[tokens] = of_sets[:, copied]
    allowed[tokens] = False
    n, m = n_labels, n_labels + len(copied)
    transitions = torch.ones(m, m, dtype=torch.bool)
    transitions[n:, n:] = constraints.transitions[copied.cpu()][:, copied.cpu()]
    anywhere = torch.ones(m, dtype=torch.bool)
    doubled = with_copies(
        chain.potentials,
        torch.cat([torch.arange(n, device=copied.device), copied]),
        Constraints(transitions, anywhere, anywhere),
    )
    doubled = doubled.within(torch.cat([allowed, copies], dim=1))
    # The copies' transitions turn a softmax into a chain
    backend = (LinearChain(doubled) if chain.potentials.is_independent else chain)._backend
    return log_ratio(backend.log_partition(doubled), chain.log_partition)


def kl_divergence(teacher: LinearChain, student: LinearChain) -> Tensor:
    """The Kullback-Leibler divergence of a student from a teacher, summed over chains.

        KL(p ‖ q) = log Z_q − log Z_p + E_p[score_p(y) − score_q(y)]

    Scores are sums over tokens and transitions, so the expectation needs only the teacher's
    marginals and expected transitions; no sequences are enumerated or sampled.

    teacher (LinearChain): The distribution p. No gradient flows to its potentials.
    student (LinearChain): The distribution q, over the same chains and labels, with the same kinds
        of potentials.
    RETURNS (Tensor): A scalar: zero if the two agree, inf if the student rules out a sequence that
        the teacher allows. A chain for which neither has a possible sequence adds nothing.
        Differentiable with respect to the student's potentials.
    RAISES (ValueError): If the two differ in their chains or in their kinds of potentials.
    """
    p, q = teacher.potentials.detach().tensors(), student.potentials.tensors()
    if teacher.potentials.lengths != student.potentials.lengths or p.keys() != q.keys():
        raise ValueError(Errors.P006)
    # The gradient of log Z holds the expected counts and the marginals
    with torch.inference_mode(False), torch.enable_grad():
        leaf = teacher.potentials.map(without_inference_mode).requires_grad_()
        log_p = teacher._backend.log_partition(leaf)
        log_p.sum().backward()
    # In the dtype of log-scores: differences of large scores may overflow their own dtype
    dtype = working_dtype(student.potentials)
    counts = {name: count.to(dtype) for name, count in leaf.gradients().items()}
    # What the teacher rules out (-inf) has expected count 0; -inf - -inf must not make the sum NaN
    differences = (
        counts[name] * (p[name].to(dtype) - q[name].to(dtype)).masked_fill(counts[name] == 0, 0)
        for name in q
    )
    difference = torch.stack([terms.sum() for terms in differences]).sum()
    # If the student rules out a chain, the expected difference is inf already, and inf - inf is NaN
    log_q = student.log_partition
    impossible = log_q == -torch.inf
    log_q, log_p = (log_z.masked_fill(impossible, 0.0) for log_z in (log_q, log_p.detach()))
    return (log_q - log_p).sum() + difference
