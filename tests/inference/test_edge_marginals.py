"""Marginals of pairs of labels, and the cross-entropy between distributions, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spacy_psa.inference import Constraints, LinearChain, Potentials
from spacy_psa.inference.edge_marginals import (
    START,
    EdgeMarginals,
    cross_entropy,
    pair_marginals,
)
from spacy_psa.inference.losses import kl_divergence

from .brute_force import BruteForce, random_potentials

LENGTHS = (3, 1, 0, 4)
FIELDS = [(), ("transitions",), ("transitions", "start", "end"), ("start", "pairwise")]


def enumerated(p: Potentials, q: Potentials) -> list[float]:
    """−Σ_y p(y) log q(y) of each chain."""
    found = []
    for (_, ps), (_, qs) in zip(BruteForce(p).chains, BruteForce(q).chains, strict=True):
        p_log, q_log = (s - np.log(np.exp(s).sum()) for s in (ps, qs))
        found.append(float(-(np.exp(p_log) * q_log).sum()))
    return found


@pytest.mark.parametrize("fields", FIELDS)
def test_marginals_of_pairs_equal_enumeration(fields: tuple[str, ...]) -> None:
    p = random_potentials(3, LENGTHS, fields=fields)
    edges = pair_marginals(LinearChain(p))
    expected: dict[tuple[int, int, int], float] = {}
    first = 0
    for length, (paths, scores) in zip(LENGTHS, BruteForce(p).chains, strict=True):
        q = np.exp(scores) / np.exp(scores).sum()
        for path, probability in zip(paths, q, strict=True):
            for t in range(length):
                key = (first + t, int(path[t - 1]) if t else START, int(path[t]))
                expected[key] = expected.get(key, 0.0) + float(probability)
        first += length
    columns = (x.tolist() for x in (edges.token, edges.before, edges.after))
    found = dict(zip(zip(*columns, strict=True), edges.probability.tolist(), strict=True))
    assert found == pytest.approx(expected, abs=1e-6)
    assert edges.token.tolist() == sorted(edges.token.tolist())


@pytest.mark.parametrize("of_student", FIELDS)
@pytest.mark.parametrize("of_teacher", FIELDS)
def test_cross_entropy_equals_enumeration(
    of_teacher: tuple[str, ...], of_student: tuple[str, ...]
) -> None:
    p = random_potentials(3, LENGTHS, seed=1, fields=of_teacher)
    q = random_potentials(3, LENGTHS, seed=2, fields=of_student)
    found = cross_entropy(pair_marginals(LinearChain(p)), LinearChain(q))
    assert found.tolist() == pytest.approx(enumerated(p, q), abs=1e-5)


def test_it_is_the_divergence_and_the_teachers_entropy() -> None:
    p, q = (random_potentials(3, LENGTHS, seed=seed) for seed in (1, 2))
    found = cross_entropy(pair_marginals(LinearChain(p)), LinearChain(q)).sum()
    divergence = kl_divergence(LinearChain(p), LinearChain(q)) + LinearChain(p).entropy.sum()
    assert float(found) == pytest.approx(float(divergence), abs=1e-5)


@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("backend", ["scaled", "logspace"])
def test_gradient(fields: tuple[str, ...], backend: str) -> None:
    p = random_potentials(3, LENGTHS, seed=1)
    edges = pair_marginals(LinearChain(p))
    q = random_potentials(3, LENGTHS, seed=2, fields=fields).requires_grad_()
    names = list(q.tensors())

    def entropy(*tensors: torch.Tensor) -> torch.Tensor:
        student = Potentials(lengths=LENGTHS, **dict(zip(names, tensors, strict=True)))
        return cross_entropy(edges, LinearChain(student, backend=backend)).sum()

    assert torch.autograd.gradcheck(entropy, tuple(q.tensors().values()))
    # The gradient of emissions is the student's marginal minus the teacher's
    cross_entropy(edges, LinearChain(q, backend=backend)).sum().backward()
    expected = LinearChain(q.detach()).marginals - LinearChain(p).marginals
    assert torch.allclose(q.emissions.grad, expected, atol=1e-6)


def test_one_sequence_is_its_negative_log_likelihood() -> None:
    q = random_potentials(3, (4, 1))
    labels = torch.tensor([2, 0, 0, 1, 2])
    before = torch.tensor([START, 2, 0, 0, START])
    edges = EdgeMarginals(torch.arange(5), before, labels, torch.ones(5))
    assert torch.allclose(cross_entropy(edges, LinearChain(q)), -LinearChain(q).log_prob(labels))


def test_the_most_probable_pairs_have_the_mass() -> None:
    p = random_potentials(4, (6,), scale=3.0)
    everything = pair_marginals(LinearChain(p))
    kept = pair_marginals(LinearChain(p), mass=0.9)
    for t in range(6):
        of_all = everything.probability[everything.token == t]
        n = int((kept.token == t).sum())
        assert float(of_all[:n].sum()) >= 0.9 - 1e-6
        assert n == 1 or float(of_all[: n - 1].sum()) < 0.9
        assert float(kept.probability[kept.token == t].sum()) == pytest.approx(1.0)
    fewest = pair_marginals(LinearChain(p), most=2)
    assert torch.bincount(fewest.token).tolist() == [2] * 6


def test_what_the_student_rules_out_is_infinitely_surprising() -> None:
    p, q = (random_potentials(3, (2,), seed=seed) for seed in (1, 2))
    allowed = torch.ones(3, 3, dtype=torch.bool)
    allowed[0, 1] = False
    constraints = Constraints(allowed, torch.ones(3).bool(), torch.ones(3).bool())
    student = LinearChain(q, constraints=constraints)
    assert cross_entropy(pair_marginals(LinearChain(p)), student).tolist() == [torch.inf]
    teacher = LinearChain(p, constraints=constraints)
    found = cross_entropy(pair_marginals(teacher), student)
    assert 0.0 < float(found) < torch.inf


def test_a_student_without_a_sequence_is_infinitely_surprising() -> None:
    teacher = pair_marginals(LinearChain(random_potentials(2, (2, 3))))
    leaf = random_potentials(2, (2, 3), seed=1).within(torch.arange(10).view(5, 2) > 3)
    leaf = leaf.requires_grad_()
    found = cross_entropy(teacher, LinearChain(leaf))
    assert found[0] == torch.inf and 0.0 < float(found[1]) < torch.inf
    found[1].backward()
    assert leaf.emissions.grad.isfinite().all()


def test_pairs_that_float32_has_no_number_for_are_left_out() -> None:
    p = random_potentials(5, (4,))
    p.emissions[:, 4] = -300.0
    edges = pair_marginals(LinearChain(p))
    assert edges.probability.min() > 0.0 and edges.after.max() == 3
    student = LinearChain(p.within(torch.tensor([[True] * 4 + [False]] * 4)))
    assert float(cross_entropy(edges, student)) < torch.inf


def test_chains_without_marginals_are_left_out() -> None:
    p, q = (random_potentials(3, (2, 3), seed=seed) for seed in (1, 2))
    edges = pair_marginals(LinearChain(p))
    kept = edges.token != 3
    some = EdgeMarginals(*(getattr(edges, name)[kept] for name in vars(edges)))
    leaf = q.requires_grad_()
    found = cross_entropy(some, LinearChain(leaf))
    assert found[1] == 0.0
    found.sum().backward()
    assert leaf.emissions.grad[:2].abs().min() > 0.0
    assert leaf.emissions.grad[2:].abs().max() == 0.0


def test_impossible_chains_have_no_pairs() -> None:
    p = random_potentials(2, (2, 1))
    p.emissions[0] = -torch.inf
    edges = pair_marginals(LinearChain(p))
    assert set(edges.token.tolist()) == {2}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"token": torch.tensor([0, 5])}, "token 5"),
        ({"after": torch.tensor([0, 3])}, "label 3"),
        ({"before": torch.tensor([1, 0])}, "begin"),
    ],
)
def test_other_tokens_and_labels_are_errors(changed: dict[str, torch.Tensor], message: str) -> None:
    fields = {
        "token": torch.tensor([0, 1]),
        "before": torch.tensor([START, 0]),
        "after": torch.tensor([0, 1]),
        "probability": torch.ones(2),
    }
    with pytest.raises(ValueError, match=f"P023.*{message}"):
        cross_entropy(
            EdgeMarginals(**{**fields, **changed}), LinearChain(random_potentials(3, (2,)))
        )


@pytest.mark.parametrize("given", [{"mass": 0.0}, {"mass": 1.5}, {"most": 0}])
def test_ranges(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="P022"):
        pair_marginals(LinearChain(random_potentials(3, (2,))), **given)
