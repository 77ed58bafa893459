"""The divergence between distributions over label sequences, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from spacy_psa.inference import Constraints, LinearChain
from spacy_psa.inference.losses import kl_divergence

from .brute_force import BruteForce, random_potentials

LENGTHS = (3, 1, 0, 4)
FIELDS = [(), ("transitions",), ("transitions", "start", "end"), ("start", "pairwise")]


def enumerated_divergence(p, q) -> float:
    """Σ_y p(y) · (log p(y) − log q(y)), sequence by sequence."""
    total = 0.0
    for (_, p_scores), (_, q_scores) in zip(
        BruteForce(p).chains, BruteForce(q).chains, strict=True
    ):
        p_log = p_scores - np.log(np.exp(p_scores).sum())
        q_log = q_scores - np.log(np.exp(q_scores).sum())
        total += float((np.exp(p_log) * (p_log - q_log)).sum())
    return total


@pytest.mark.parametrize("fields", FIELDS)
def test_divergence_equals_enumeration(fields):
    p = random_potentials(3, LENGTHS, seed=1, fields=fields)
    q = random_potentials(3, LENGTHS, seed=2, fields=fields)
    divergence = kl_divergence(LinearChain(p), LinearChain(q))
    assert float(divergence) == pytest.approx(enumerated_divergence(p, q), abs=1e-9)
    assert float(divergence) > 0.1


@pytest.mark.parametrize("fields", FIELDS)
def test_divergence_from_itself_is_zero_and_flat(fields):
    p = random_potentials(3, LENGTHS, seed=1, fields=fields)
    leaf = p.requires_grad_()
    divergence = kl_divergence(LinearChain(p), LinearChain(leaf))
    divergence.backward()
    assert float(divergence.detach()) == pytest.approx(0.0, abs=1e-9)
    for gradient in leaf.gradients().values():
        assert float(gradient.abs().max()) < 1e-9


def test_scores_that_differ_by_a_constant_do_not_diverge():
    p = random_potentials(3, LENGTHS, seed=1, fields=())
    q = type(p)(p.emissions + 7.0, p.lengths)
    assert float(kl_divergence(LinearChain(p), LinearChain(q))) == pytest.approx(0.0, abs=1e-9)


def test_gradient_is_that_of_the_students_potentials():
    p = random_potentials(3, LENGTHS, seed=1)
    names = list(p.tensors())

    def divergence(*tensors):
        student = type(p)(lengths=p.lengths, **dict(zip(names, tensors, strict=True)))
        return kl_divergence(LinearChain(p), LinearChain(student))

    q = random_potentials(3, LENGTHS, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(divergence, tuple(q.tensors().values()))


def test_what_both_rule_out_counts_for_nothing():
    p = random_potentials(3, LENGTHS, seed=1)
    q = random_potentials(3, LENGTHS, seed=2)
    allowed = torch.ones(3, 3, dtype=torch.bool)
    allowed[0, 1] = False
    constraints = Constraints(allowed, torch.tensor([True, True, False]), torch.ones(3).bool())
    divergence = kl_divergence(
        LinearChain(p, constraints=constraints), LinearChain(q, constraints=constraints)
    )
    # Scores of -60 leave e^-60 of the probability, which is below the tolerance
    finite = [
        type(x)(
            lengths=x.lengths,
            **{name: t.clamp(min=-60.0) for name, t in constraints.apply(x).tensors().items()},
        )
        for x in (p, q)
    ]
    assert float(divergence) == pytest.approx(enumerated_divergence(*finite), abs=1e-6)


def impossible_first(potentials):
    """A copy in which no sequence is possible for the first chain."""
    emissions = potentials.emissions.clone()
    emissions[1] = -torch.inf
    return replace(potentials, emissions=emissions)


@pytest.mark.parametrize("fields", FIELDS)
def test_a_chain_that_is_impossible_for_both_counts_for_nothing(fields):
    p, q = (random_potentials(3, LENGTHS, seed=seed, fields=fields) for seed in (1, 2))
    leaf = impossible_first(q).requires_grad_()
    divergence = kl_divergence(LinearChain(impossible_first(p)), LinearChain(leaf))
    rest = [
        type(x)(
            lengths=LENGTHS[1:],
            **{
                name: t[3:] if name in ("emissions", "pairwise") else t
                for name, t in x.tensors().items()
            },
        )
        for x in (p, q)
    ]
    assert float(divergence.detach()) == pytest.approx(enumerated_divergence(*rest), abs=1e-9)
    divergence.backward()
    assert all(bool(gradient.isfinite().all()) for gradient in leaf.gradients().values())
    assert not leaf.emissions.grad[:3].any()


@pytest.mark.parametrize("fields", FIELDS)
def test_a_chain_that_is_impossible_for_one_alone_is_infinitely_far(fields):
    p, q = (random_potentials(3, LENGTHS, seed=seed, fields=fields) for seed in (1, 2))
    for pair in ((p, impossible_first(q)), (impossible_first(p), q)):
        assert float(kl_divergence(*map(LinearChain, pair))) == torch.inf


@pytest.mark.parametrize("asked_inside", [False, True])
def test_the_teacher_may_come_from_inference_mode(asked_inside):
    p, q = (random_potentials(3, LENGTHS, seed=seed) for seed in (1, 2))
    with torch.inference_mode():
        teacher = LinearChain(p.map(torch.clone))
    with torch.inference_mode(asked_inside):
        divergence = kl_divergence(teacher, LinearChain(q.requires_grad_()))
    assert divergence.requires_grad != asked_inside
    assert float(divergence.detach()) == pytest.approx(enumerated_divergence(p, q), abs=1e-9)


@pytest.mark.parametrize(
    "other",
    [
        random_potentials(3, (3, 1, 4), seed=2),
        random_potentials(3, LENGTHS, seed=2, fields=("transitions",)),
    ],
)
def test_distributions_over_other_chains_are_refused(other):
    p = random_potentials(3, LENGTHS, seed=1)
    with pytest.raises(ValueError, match="P006"):
        kl_divergence(LinearChain(p), LinearChain(other))
