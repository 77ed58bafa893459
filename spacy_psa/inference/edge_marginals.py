"""What a distribution over label sequences says of pairs of neighboring labels, and the
cross-entropy between two distributions, which needs no more than that."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import Errors
from .chain_scores import chain_indices, without_inference_mode, working_dtype
from .engines.trellis import Trellis
from .layout import time_major
from .linear_chain import LinearChain

START = -1
"""What stands before the first label of a chain."""

# Numbers held at once while the most probable pairs of labels are chosen
MAX_ENTRIES = 1 << 22


@dataclass(frozen=True)
class EdgeMarginals:
    """q_t(i, j), the probability that token t has label j and the token before it label i, of
    chains over N tokens: the pairs that have one, in the order of the tokens.

    token (Tensor): *Shape:* (E,). int64. The token t of each pair.
    before (Tensor): *Shape:* (E,). int64. The label i; `START` for the first token of a chain.
    after (Tensor): *Shape:* (E,). int64. The label j.
    probability (Tensor): *Shape:* (E,). Those of a token add up to 1, or there are none.
    """

    token: Tensor
    before: Tensor
    after: Tensor
    probability: Tensor


def pair_marginals(
    chain: LinearChain, *, mass: float = 1.0, most: int | None = None
) -> EdgeMarginals:
    """Compute the marginals of pairs of neighboring labels, by forward and backward sums.

        q_t(i, j) = exp(forward_{t−1}(i) + ψ_t(i, j) + emissions_tj + backward_t(j) − log Z)

    Of each token, the most probable pairs are kept until they have the mass, and scaled to 1.

    chain (LinearChain): The distribution. No gradient flows through the result. Chains without a
        possible sequence have no pairs.
    mass (float): The probability to keep of each token, in (0, 1].
    most (Optional[int]): The maximum number of pairs of a token; None for no maximum.
    RETURNS (EdgeMarginals): The pairs, in float32 on the CPU.
    RAISES (ValueError): If `mass` or `most` is out of range.
    """
    if not 0.0 < mass <= 1.0 or (most is not None and most < 1):
        raise ValueError(Errors.P022.format(mass=mass, most=most))
    potentials = chain._on_cpu
    n_labels, layout = potentials.n_labels, time_major(potentials.lengths)
    if not potentials.n_tokens:
        return joined([])
    trellis = Trellis(potentials)
    forward, backward = trellis.by_token(trellis.forward), trellis.by_token(trellis.backward)
    chain_of_token = torch.from_numpy(layout.chain_of_token)
    log_z = LinearChain(potentials).log_partition[chain_of_token].unsqueeze(1)
    possible = log_z.squeeze(1) != -torch.inf
    first = torch.zeros(potentials.n_tokens, dtype=torch.bool)
    first[torch.from_numpy(layout.first_tokens)] = True
    rest = (potentials.emissions.double() + backward - log_z).unsqueeze(1)
    steps = forward.new_zeros(1, n_labels, n_labels)
    if potentials.transitions is not None:
        steps = steps + potentials.transitions.double()
    found = []
    starts = (first & possible).nonzero().squeeze(1)
    log_q = (forward + backward - log_z)[starts].unsqueeze(1)
    found.append(_most_probable(log_q, starts, START, mass, most))
    inner = (~first & possible).nonzero().squeeze(1)
    for tokens in inner.split(max(1, MAX_ENTRIES // n_labels**2)):
        log_q = forward[tokens - 1].unsqueeze(2) + steps + rest[tokens]
        if potentials.pairwise is not None:
            log_q = log_q + potentials.pairwise[tokens].double()
        found.append(_most_probable(log_q, tokens, 0, mass, most))
    return joined(found)


def joined(parts: list[EdgeMarginals]) -> EdgeMarginals:
    """Put parts together, in the order of their tokens, the most probable pair of each first."""
    if not parts:
        none = torch.zeros(0, dtype=torch.long)
        return EdgeMarginals(none, none, none, torch.zeros(0))
    edges = EdgeMarginals(
        torch.cat([part.token for part in parts]),
        torch.cat([part.before for part in parts]),
        torch.cat([part.after for part in parts]),
        torch.cat([part.probability for part in parts]),
    )
    return taken(edges, torch.argsort(edges.token, stable=True))


def taken(edges: EdgeMarginals, rows: Tensor | slice) -> EdgeMarginals:
    """Take some of the pairs."""
    return EdgeMarginals(
        edges.token[rows], edges.before[rows], edges.after[rows], edges.probability[rows]
    )


def _most_probable(
    log_q: Tensor, tokens: Tensor, first: int, mass: float, most: int | None
) -> EdgeMarginals:
    """The most probable pairs, given their logs (tokens, I, L), where I begins with a label."""
    n_labels = log_q.shape[2]
    flat = log_q.flatten(1).exp()
    k = flat.shape[1] if most is None else min(most, flat.shape[1])
    q, places = flat.topk(k, dim=1)
    # What comes before a pair has less than the mass; and in float32, it must not be 0
    kept = (q.cumsum(dim=1) - q < mass) & (q.float() > 0.0)
    q = q * kept
    q = q / q.sum(dim=1, keepdim=True)
    rows, columns = kept.nonzero(as_tuple=True)
    chosen = places[rows, columns]
    before = torch.div(chosen, n_labels, rounding_mode="floor") + first
    return EdgeMarginals(tokens[rows], before, chosen % n_labels, q[rows, columns].float())


def cross_entropy(teacher: EdgeMarginals, student: LinearChain) -> Tensor:
    """The cross-entropy between a teacher's and a student's distribution over label sequences.

        H(p_T, p_S) = −Σ_y p_T(y | x) log p_S(y | x)
                    = log Z_S − Σ_t Σ_(i, j) q_t(i, j) (ψ_t(i, j) + emissions_tj)

    The student's score of a sequence is a sum over pairs of neighboring labels, so the teacher's
    marginals of pairs are all that is needed of the teacher; no sequences are enumerated. The
    gradient with respect to the score of a pair is the student's marginal minus the teacher's. A
    single sequence, each of its pairs with probability 1, makes this the negative log-likelihood;
    a student without transitions, the cross-entropy of each token.

    teacher (EdgeMarginals): The teacher's marginals q, over the student's tokens and labels. A
        chain of which a token has none is left out.
    student (LinearChain): The student's distribution.
    RETURNS (Tensor): *Shape:* (C,). In nats; inf if the student rules out what the teacher does
        not, 0 for chains that are left out. Differentiable with respect to the student's scores.
    RAISES (ValueError): If the teacher's tokens or labels are not the student's.

    Source: Wang, Jiang et al. (ACL 2021), 'Structural Knowledge Distillation: Tractably Distilling
    Information for Structured Predictor', arXiv 2010.05010, section 3: the objective, factorized
    into the parts of the student's score.
    """
    potentials, device = student.potentials, student.potentials.device
    dtype, n_tokens = working_dtype(potentials), potentials.n_tokens
    token, before, after, probability = (
        without_inference_mode(getattr(teacher, name).to(device))
        for name in ("token", "before", "after", "probability")
    )
    q = probability.to(dtype)
    places = chain_indices(potentials.lengths, device)
    first = torch.zeros(n_tokens, dtype=torch.bool, device=device)
    first[places.first] = True
    _check(teacher, potentials.n_tokens, potentials.n_labels, first.cpu())
    expected = q * potentials.emissions[token, after].to(dtype)
    at_start, inner = before == START, before != START
    if potentials.transitions is not None:
        steps = potentials.transitions[before[inner], after[inner]].to(dtype)
        expected = expected.index_add(0, inner.nonzero().squeeze(1), q[inner] * steps)
    if potentials.pairwise is not None:
        steps = potentials.pairwise[token[inner], before[inner], after[inner]].to(dtype)
        expected = expected.index_add(0, inner.nonzero().squeeze(1), q[inner] * steps)
    if potentials.start is not None:
        scores = potentials.start[after[at_start]].to(dtype)
        expected = expected.index_add(0, at_start.nonzero().squeeze(1), q[at_start] * scores)
    if potentials.end is not None:
        last = torch.zeros_like(first)
        last[places.last] = True
        at_end = last[token].nonzero().squeeze(1)
        scores = potentials.end[after[at_end]].to(dtype)
        expected = expected.index_add(0, at_end, q[at_end] * scores)
    known = torch.zeros_like(first)
    known[token] = True
    n_chains = len(potentials.lengths)
    left_out = torch.zeros(n_chains, dtype=torch.bool, device=device)
    left_out[places.chain_of_token[~known]] = True
    chain_of = places.chain_of_token[token]
    # Before they are summed: what is left out may be impossible, and inf - inf is NaN
    expected = expected.masked_fill(left_out[chain_of], 0.0)
    score = torch.zeros(n_chains, dtype=dtype, device=device).index_add(0, chain_of, expected)
    log_z = student.log_partition
    # If the student rules out a whole chain, -inf - -inf would be NaN
    log_z = log_z.masked_fill(log_z == -torch.inf, torch.inf)
    return (log_z - score).masked_fill(left_out, 0.0)


def _check(teacher: EdgeMarginals, n_tokens: int, n_labels: int, first: Tensor) -> None:
    token, before, after = (x.cpu() for x in (teacher.token, teacher.before, teacher.after))
    if not len(token):
        return
    problem = None
    if int(token.min()) < 0 or int(token.max()) >= n_tokens:
        problem = f"they are of token {int(token.max())}, and there are {n_tokens}"
    elif max(int(before.max()), int(after.max())) >= n_labels or int(after.min()) < 0:
        problem = f"they are of label {max(int(before.max()), int(after.max()))}, and there are "
        problem += f"{n_labels}"
    elif not torch.equal(before == START, first[token]):
        problem = "their chains begin at other tokens"
    if problem is not None:
        raise ValueError(Errors.P023.format(problem=problem))
