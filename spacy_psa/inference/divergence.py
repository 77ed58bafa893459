"""The Kullback-Leibler divergence between distributions over label sequences."""

import torch
from torch import Tensor

from ..errors import Errors
from .chain_scores import working_dtype
from .engines.autodiff import without_inference_mode
from .linear_chain import LinearChain


def kl_divergence(teacher: LinearChain, student: LinearChain) -> Tensor:
    """The Kullback-Leibler divergence of a student from a teacher, summed over chains.

        KL(p ‖ q) = log Z_q − log Z_p + E_p[score_p(y) − score_q(y)]

    Scores are sums over tokens and transitions, so the expectation needs only the teacher's
    marginals and expected transitions; no sequences are enumerated or sampled.

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
