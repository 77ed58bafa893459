"""How far one distribution over label sequences is from another."""

import torch
from torch import Tensor

from ..errors import Errors
from .linear_chain import LinearChain
from .scores import working_dtype


def kl_divergence(teacher: LinearChain, student: LinearChain) -> Tensor:
    """The Kullback-Leibler divergence of a student from a teacher, summed over all chains.

        KL(p ‖ q) = log Z_q − log Z_p + E_p[score_p(y) − score_q(y)]

    Scores are sums over tokens and transitions, so the expectation needs only the teacher's
    marginals and expected transitions; nothing is enumerated or sampled.

    teacher (LinearChain): The distribution p. No gradient flows into it.
    student (LinearChain): The distribution q, over the same chains and labels, with all the kinds
        of potentials that the teacher has.
    RETURNS (Tensor): A scalar, zero where both agree. Differentiable in the student's potentials.
    RAISES (ValueError): If the two are not about the same chains.
    """
    p, q = teacher.potentials.detach().tensors(), student.potentials.tensors()
    if teacher.potentials.lengths != student.potentials.lengths or p.keys() != q.keys():
        raise ValueError(Errors.P006)
    # Expected counts, and marginals, are the gradient of log Z
    leaf = teacher.potentials.requires_grad_()
    with torch.enable_grad():
        log_partition = teacher._backend.log_partition(leaf).sum()
        log_partition.backward()
    # In the type of log-scores: differences of large scores may leave the range of their own.
    dtype = working_dtype(student.potentials)
    counts = {name: count.to(dtype) for name, count in leaf.gradients().items()}
    # What the teacher rules out (-inf) it expects no time; -inf - -inf must not spoil the sum.
    differences = (
        counts[name] * (p[name].to(dtype) - q[name].to(dtype)).masked_fill(counts[name] == 0, 0)
        for name in q
    )
    difference = torch.stack([terms.sum() for terms in differences]).sum()
    return student.log_partition.sum() - log_partition.detach() + difference
