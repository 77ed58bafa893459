"""Gradients against finite differences, and against the expectations they represent."""

import pytest
import torch
from torch import Tensor

from spacy_psa.inference import (
    BACKENDS,
    LinearChain,
    Potentials,
    cross_entropy,
    pair_marginals,
)

from .brute_force import BruteForce, random_potentials

LENGTHS = (3, 0, 1, 4, 4)
FIELDS = [
    ("transitions", "start", "end"),
    ("transitions",),
    ("start", "end"),
    ("transitions", "start", "pairwise"),
    ("pairwise",),
    (),
]
# Backends that can be differentiated any number of times
DIFFERENTIABLE = ["logspace"]

ALL = ("transitions", "start", "end", "pairwise")

all_backends = pytest.mark.parametrize("backend", sorted(BACKENDS))
all_fields = pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")


def as_function(function, fields, lengths=LENGTHS):
    """Turn a function of potentials into a function of tensors, as gradcheck needs."""

    def of_tensors(emissions: Tensor, *others: Tensor) -> Tensor:
        return function(Potentials(emissions, lengths, **dict(zip(fields, others, strict=True))))

    return of_tensors


def gradcheck(function, tensors, backend):
    """For the slow backend, check two random directions instead of all."""
    return torch.autograd.gradcheck(function, tensors, fast_mode=backend == "fused")


def leaves(fields, n_labels=3, seed=0):
    potentials = random_potentials(n_labels, LENGTHS, fields=fields, seed=seed).requires_grad_()
    return tuple(potentials.tensors().values())


@all_backends
@all_fields
def test_gradient_of_log_partition(backend, fields):
    function = as_function(lambda p: LinearChain(p, backend=backend).log_partition, fields)
    assert gradcheck(function, leaves(fields), backend)


@all_backends
@all_fields
@pytest.mark.parametrize("unknown", [False, True])
def test_gradient_of_log_prob(backend, fields, unknown):
    labels = torch.tensor([0, 1, 2, 1, 1, 2, 0, 0, 2, 2, 1, 0])
    if unknown:
        labels[[1, 3, 6, 7]] = -1
    function = as_function(lambda p: LinearChain(p, backend=backend).log_prob(labels), fields)
    assert gradcheck(function, leaves(fields), backend)


@all_backends
@all_fields
def test_gradient_of_marginals(backend, fields):
    function = as_function(lambda p: LinearChain(p, backend=backend).marginals, fields)
    assert gradcheck(function, leaves(fields), backend)


@pytest.mark.parametrize("fields", [FIELDS[0], FIELDS[3]], ids=["chain", "pairwise"])
def test_gradient_of_max_score(fields):
    function = as_function(lambda p: LinearChain(p).max_score, fields)
    assert torch.autograd.gradcheck(function, leaves(fields))


@pytest.mark.parametrize("backend", DIFFERENTIABLE)
@pytest.mark.parametrize(
    "fields", [FIELDS[0], ("pairwise",), ()], ids=["chain", "pairwise", "softmax"]
)
def test_second_derivative_of_log_partition(backend, fields):
    function = as_function(lambda p: LinearChain(p, backend=backend).log_partition, fields)
    assert torch.autograd.gradgradcheck(function, leaves(fields))


@pytest.mark.parametrize("backend", DIFFERENTIABLE)
@pytest.mark.parametrize("fields", [FIELDS[0], ("pairwise",)], ids=["chain", "pairwise"])
def test_second_derivative_of_marginals(backend, fields):
    lengths = (2, 1, 3)
    function = as_function(lambda p: LinearChain(p, backend=backend).marginals, fields, lengths)
    potentials = random_potentials(2, lengths, fields=fields).requires_grad_()
    assert torch.autograd.gradgradcheck(function, tuple(potentials.tensors().values()))


@all_backends
def test_expected_counts_and_marginals_are_the_gradient_of_log_partition(backend):
    potentials = random_potentials(4, LENGTHS).requires_grad_()
    chain = LinearChain(potentials, backend=backend)
    chain.log_partition.sum().backward()
    gradients = potentials.gradients()
    counts = chain.expected_counts()
    assert torch.allclose(counts.transitions, gradients["transitions"], rtol=1e-9)
    assert torch.allclose(counts.start, gradients["start"], rtol=1e-9)
    assert torch.allclose(counts.end, gradients["end"], rtol=1e-9)
    with torch.no_grad():
        assert torch.allclose(chain.marginals, gradients["emissions"], rtol=1e-9)


@all_backends
def test_gradient_of_pairwise_scores_is_each_tokens_expected_transition(backend):
    potentials = random_potentials(3, LENGTHS, fields=ALL).requires_grad_()
    LinearChain(potentials, backend=backend).log_partition.sum().backward()
    gradient = potentials.gradients()["pairwise"]
    torch.testing.assert_close(gradient, torch.tensor(BruteForce(potentials).pair_marginals))
    assert not gradient[[0, 3, 4, 8]].any()  # nothing precedes the first tokens of chains
    assert torch.allclose(gradient.sum(dim=0), potentials.gradients()["transitions"])


@all_backends
def test_upstream_gradient_weights_chains(backend):
    weights = torch.tensor([2.0, 5.0, 0.0, -1.0, 0.5], dtype=torch.float64)
    potentials = random_potentials(3, LENGTHS).requires_grad_()
    (LinearChain(potentials, backend=backend).log_partition * weights).sum().backward()
    with torch.no_grad():
        marginals = LinearChain(potentials, backend=backend).marginals
    expected = marginals * weights.repeat_interleave(torch.tensor(LENGTHS)).unsqueeze(1)
    assert torch.allclose(potentials.gradients()["emissions"], expected, rtol=1e-9)


@all_backends
@pytest.mark.parametrize("name", ["emissions", "transitions", "start", "end", "pairwise"])
@pytest.mark.parametrize(
    "function",
    [lambda chain: chain.log_partition.sum(), lambda chain: chain.marginals.square().sum()],
    ids=["log_partition", "marginals"],
)
def test_gradient_of_one_tensor_alone(backend, name, function):
    potentials = random_potentials(3, LENGTHS, fields=ALL)
    every = potentials.requires_grad_()
    function(LinearChain(every, backend=backend)).backward()
    tensors = potentials.tensors()
    tensors[name] = tensors[name].clone().requires_grad_()
    alone = Potentials(lengths=LENGTHS, **tensors)
    function(LinearChain(alone, backend=backend)).backward()
    assert torch.allclose(tensors[name].grad, every.gradients()[name], rtol=1e-9)


@all_backends
def test_graph_can_be_kept_for_a_second_backward_pass(backend):
    lengths = (5, 4) if backend == "fused" else (50, 40)  # interpreted kernels are slow
    potentials = random_potentials(30, lengths).requires_grad_()
    chain = LinearChain(potentials, backend=backend)
    loss = chain.log_partition.sum() + chain.marginals.square().sum()
    first = torch.autograd.grad(loss, potentials.emissions, retain_graph=True)[0]
    chain.log_partition.sum().backward()
    chain.marginals.sum().backward()
    second = torch.autograd.grad(loss, potentials.emissions)[0]
    assert torch.equal(first, second)


@all_backends
def test_gradient_survives_later_computations(backend):
    lengths = (5, 4) if backend == "fused" else (50, 40)  # interpreted kernels are slow
    potentials = random_potentials(30, lengths).requires_grad_()
    chain = LinearChain(potentials, backend=backend)
    marginals = chain.marginals
    (chain.log_partition.sum() + marginals.square().sum()).backward()
    kept = marginals.detach().clone()
    before = {name: gradient.clone() for name, gradient in potentials.gradients().items()}
    other = random_potentials(30, lengths, seed=1).requires_grad_()
    for _ in range(3):
        chain = LinearChain(other, backend=backend)
        (chain.log_partition.sum() + chain.marginals.square().sum()).backward()
    assert torch.equal(marginals, kept)
    assert all(torch.equal(g, before[name]) for name, g in potentials.gradients().items())


def test_no_gradient_flows_through_forbidden_places():
    potentials = random_potentials(3, (3, 2)).requires_grad_()
    allowed = torch.tensor([[True, False, True]] * 5)
    LinearChain(potentials).log_prob_of(allowed).sum().backward()
    expected = -LinearChain(potentials.detach()).marginals[:, 1]
    assert torch.allclose(potentials.gradients()["emissions"][:, 1], expected, rtol=1e-9)


@pytest.mark.parametrize("fields", [(), ("transitions", "start", "end")])
@all_backends
def test_what_inference_mode_found_can_be_learned_from(backend, fields):
    leaf = random_potentials(3, (4, 1), fields=fields).requires_grad_()
    chain = LinearChain(leaf, backend=backend)
    with torch.inference_mode():
        teacher = LinearChain(random_potentials(3, (4, 1), fields=fields, seed=1))
        labels, pairs = teacher.argmax, pair_marginals(teacher)
        best = chain.argmax
    expected = -LinearChain(leaf, backend=backend).log_prob(labels.clone())
    for loss in (-chain.log_prob(labels), chain.log_partition - chain.score(labels)):
        assert torch.allclose(loss, expected)
        loss.sum().backward()
    for score in (chain.max_score, cross_entropy(pairs, chain)):
        leaf.emissions.grad = None
        score.sum().backward()
        assert leaf.emissions.grad.any()
    assert chain.argmax is best
