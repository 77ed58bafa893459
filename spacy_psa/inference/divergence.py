"""How far one distribution over label sequences is from another."""

import torch
from torch import Tensor

from ..errors import Errors
from .autodiff import ordinary
from .linear_chain import LinearChain
from .scores import working_dtype


def kl_divergence(teacher: LinearChain, student: LinearChain) -> Tensor:
    """The Kullback-Leibler divergence of a student from a teacher, summed over all chains.

        KL(p ‖ q) = log Z_q − log Z_p + E_p[score_p(y) − score_q(y)]

    Scores are sums over tokens and transitions, so the expectation needs only the teacher's
    marginals and expected transitions; nothing is enumerated or sampled.

    teacher (LinearChain): The distribution p. No gradient flows into it.
    student (LinearChain): The distribution q, over the same chains and labels, with the same kinds
        of potentials.
    RETURNS (Tensor): A scalar, zero where both agree; inf where the student rules out what the
        teacher does not. A chain for which neither has a possible sequence counts for nothing.
        Differentiable in the student's potentials.
    RAISES (ValueError): If the two are not about the same chains, or have other kinds of
        potentials.
    """
    p, q = teacher.potentials.detach().tensors(), student.potentials.tensors()
    if teacher.potentials.lengths != student.potentials.lengths or p.keys() != q.keys():
        raise ValueError(Errors.P006)
    # Expected counts, and marginals, are the gradient of log Z
    with torch.inference_mode(False), torch.enable_grad():
        leaf = teacher.potentials.map(ordinary).requires_grad_()
        log_p = teacher._backend.log_partition(leaf)
        log_p.sum().backward()
    # In the type of log-scores: differences of large scores may leave the range of their own.
    dtype = working_dtype(student.potentials)
    counts = {name: count.to(dtype) for name, count in leaf.gradients().items()}
    # What the teacher rules out (-inf) it expects no time; -inf - -inf must not spoil the sum.
    differences = (
        counts[name] * (p[name].to(dtype) - q[name].to(dtype)).masked_fill(counts[name] == 0, 0)
        for name in q
    )
    difference = torch.stack([terms.sum() for terms in differences]).sum()
    # Nor must a chain that the student rules out: what the teacher expects there is inf already
    log_q = student.log_partition
    impossible = log_q == -torch.inf
    log_q, log_p = (log_z.masked_fill(impossible, 0.0) for log_z in (log_q, log_p.detach()))
    return (log_q - log_p).sum() + difference
