"""Scores at the limits of floating-point range: results must be those of the log domain."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import BACKENDS, Constraints, LinearChain, Potentials

from .brute_force import BruteForce, random_potentials

INF = float("inf")
all_backends = pytest.mark.parametrize("backend", sorted(BACKENDS))


def tensor(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def assert_like_enumeration(potentials: Potentials, backend: str) -> None:
    """Compare log Z, its gradient if it is finite, and the gradient of the marginals."""
    brute = BruteForce(potentials)
    leaf = potentials.requires_grad_()
    log_z = LinearChain(leaf, backend=backend).log_partition
    np.testing.assert_allclose(log_z.detach(), brute.log_partition, rtol=1e-9)
    log_z[log_z != -INF].sum().backward()
    gradients = leaf.gradients()
    expected = dict(zip(("transitions", "start", "end"), brute.expected_counts, strict=True))
    expected["emissions"] = brute.marginals
    expected["pairwise"] = brute.pair_marginals
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[name], atol=1e-9, err_msg=name)
    leaf, generator = potentials.requires_grad_(), torch.Generator().manual_seed(1)
    direction = torch.randn(*leaf.emissions.shape, generator=generator, dtype=torch.float64)
    marginals = LinearChain(leaf, backend=backend).marginals
    np.testing.assert_allclose(marginals.detach(), brute.marginals, atol=1e-9)
    (marginals * direction).sum().backward()
    expected = brute.curvature(direction.numpy())
    for name, gradient in leaf.gradients().items():
        np.testing.assert_allclose(gradient, expected[name], atol=1e-9, err_msg=name)


@all_backends
@pytest.mark.parametrize("forbidden", [-INF, -1e4])
@pytest.mark.parametrize("gap", [100.0, 800.0, 1e4, 1e6])
def test_score_gap_behind_forbidden_transitions(backend, forbidden, gap):
    # Label 1 is far behind at the first tokens, but the only label that label 1 may follow
    potentials = Potentials(
        tensor([[0, -gap], [0, -gap], [-gap, 0.0], [0.5, 0]]),
        (4,),
        transitions=tensor([[0.3, forbidden], [forbidden, 0.1]]),
    )
    assert_like_enumeration(potentials, backend)


@all_backends
@pytest.mark.parametrize("comeback", [[2000.0], [201.0] * 8], ids=["at once", "bit by bit"])
def test_gap_that_builds_up_over_many_tokens(backend, comeback):
    # Two labels that never mix: the second falls far behind, but wins in the end
    second = tensor([-200.0] * 8 + comeback)
    potentials = Potentials(
        torch.stack([torch.zeros_like(second), second], dim=1),
        (len(second),),
        transitions=tensor([[0, -INF], [-INF, 0]]),
    )
    log_z = LinearChain(potentials, backend=backend).log_partition
    assert log_z.tolist() == pytest.approx([np.logaddexp(0.0, second.sum().item())], rel=1e-9)


@all_backends
def test_label_that_nothing_leads_to(backend):
    # Its backward score would overflow if it were computed
    emissions = torch.zeros(8, 2, dtype=torch.float64)
    emissions[1:, 0] = -150.0
    potentials = Potentials(
        emissions, (8,), transitions=tensor([[0, -INF], [-INF, 0]]), start=tensor([0, -INF])
    )
    assert_like_enumeration(potentials, backend)


@all_backends
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_emissions_of_any_size(backend, size):
    potentials = random_potentials(3, (4, 2, 1))
    huge = (potentials.emissions * size).clamp(-size, size)
    potentials = Potentials(huge, (4, 2, 1), potentials.transitions, potentials.start)
    assert_like_enumeration(potentials, backend)


@all_backends
@pytest.mark.parametrize("name", ["transitions", "start", "end", "pairwise"])
@pytest.mark.parametrize("size", [350.0, 1e3, 1e6])
def test_wide_ranges_of_the_other_scores(backend, name, size):
    potentials = random_potentials(3, (4, 2, 1), fields=("transitions", "start", "end", "pairwise"))
    tensors = potentials.tensors()
    tensors[name] = tensors[name] * size
    assert_like_enumeration(Potentials(lengths=(4, 2, 1), **tensors), backend)


@all_backends
@pytest.mark.parametrize("name", ["emissions", "transitions", "start", "end", "pairwise"])
def test_single_minus_infinities_are_legal(backend, name):
    fields = ("transitions", "start", "end", "pairwise")
    tensors = random_potentials(3, (4, 2, 1, 0), fields=fields).tensors()
    tensors[name] = tensors[name].clone()
    tensors[name][0] = tensors[name][0].fill_(-INF) if tensors[name].dim() == 1 else -INF
    if name == "emissions":
        tensors[name][0, 1] = 0.5
    if name == "pairwise":
        tensors[name][2, 0] = tensors[name][5, :, 1] = -INF
    assert_like_enumeration(Potentials(lengths=(4, 2, 1, 0), **tensors), backend)


IMPOSSIBLE = {
    "emissions": lambda p: Potentials(
        torch.full_like(p.emissions, -INF), p.lengths, p.transitions, p.start, p.end
    ),
    "transitions": lambda p: Potentials(
        p.emissions, p.lengths, torch.full_like(p.transitions, -INF), p.start, p.end
    ),
    "start": lambda p: Potentials(
        p.emissions, p.lengths, p.transitions, torch.full_like(p.start, -INF), p.end
    ),
    "end": lambda p: Potentials(
        p.emissions, p.lengths, p.transitions, p.start, torch.full_like(p.end, -INF)
    ),
    "pairwise": lambda p: Potentials(
        p.emissions, p.lengths, pairwise=p.emissions.new_full((p.n_tokens, 3, 3), -INF)
    ),
    "softmax": lambda p: Potentials(torch.full_like(p.emissions, -INF), p.lengths),
}


@all_backends
@pytest.mark.parametrize("what", sorted(IMPOSSIBLE))
@pytest.mark.parametrize("labels", [[0, 1, 2, 1], [0, -1, 2, -1]], ids=["complete", "partial"])
def test_no_possible_sequence_has_log_score_minus_infinity_and_no_gradient(backend, what, labels):
    potentials = IMPOSSIBLE[what](random_potentials(3, (4,))).requires_grad_()
    chain = LinearChain(potentials, backend=backend)
    values = torch.stack([chain.log_partition, chain.log_prob(torch.tensor(labels))])
    values.sum().backward()
    assert values.tolist() == [[-INF], [-INF]]
    assert not any(bool(gradient.any()) for gradient in potentials.gradients().values())
    with torch.no_grad():
        assert not chain.marginals.any()
    assert not any(bool(counts.any()) for counts in chain.expected_counts())


@all_backends
@pytest.mark.parametrize("fields", [(), ("transitions", "start", "end")])
def test_impossible_chain_leaves_its_batch_mates_alone(backend, fields):
    potentials = random_potentials(3, (2, 3), fields=fields)
    tensors = potentials.tensors()
    tensors["emissions"] = tensors["emissions"].clone()
    tensors["emissions"][1] = -INF
    mixed = Potentials(lengths=(2, 3), **tensors).requires_grad_()
    tensors["emissions"] = tensors["emissions"][2:]
    alone = Potentials(lengths=(3,), **tensors).requires_grad_()
    log_z = LinearChain(mixed, backend=backend).log_partition
    expected = LinearChain(alone, backend=backend).log_partition
    log_z.sum().backward()
    expected.sum().backward()
    assert log_z[0] == -INF
    assert torch.allclose(log_z[1:], expected, rtol=1e-9)
    assert not mixed.gradients()["emissions"][:2].any()
    gradients = alone.gradients()
    assert torch.allclose(mixed.gradients()["emissions"][2:], gradients.pop("emissions"))
    for name, gradient in gradients.items():
        assert torch.allclose(mixed.gradients()[name], gradient)


@all_backends
@pytest.mark.parametrize("labels", [[0, 1, 0], [0, 1, -1]], ids=["complete", "partial"])
def test_impossible_labels_have_log_probability_minus_infinity_and_no_gradient(backend, labels):
    potentials = Potentials(
        random_potentials(2, (3,)).emissions, (3,), transitions=tensor([[0, -INF], [0, 0]])
    ).requires_grad_()
    log_prob = LinearChain(potentials, backend=backend).log_prob(torch.tensor(labels))
    log_prob.sum().backward()
    assert log_prob.tolist() == [-INF]
    assert not any(bool(gradient.any()) for gradient in potentials.gradients().values())


@all_backends
def test_empty_set_of_allowed_labels(backend):
    chain = LinearChain(random_potentials(3, (2, 1)), backend=backend)
    allowed = torch.tensor([[True, True, False], [False] * 3, [True] * 3])
    assert chain.log_prob_of(allowed).tolist() == [-INF, 0.0]


@all_backends
def test_nan_is_passed_on(backend):
    potentials = random_potentials(3, (2, 2))
    potentials.emissions[0, 0] = float("nan")
    log_z = LinearChain(potentials, backend=backend).log_partition
    assert log_z.isnan().tolist() == [True, False]


def test_long_chains_do_not_underflow():
    potentials = random_potentials(4, (3000,))
    scaled = LinearChain(potentials, backend="scaled").log_partition
    assert torch.allclose(scaled, LinearChain(potentials, backend="logspace").log_partition)


@pytest.mark.parametrize("fields", [("transitions", "start", "end"), ("start", "pairwise")])
def test_scaled_recursion_in_small_pieces(monkeypatch, fields):
    monkeypatch.setattr("spacy_psa.inference.engines.arrays.CHUNK", 20)
    assert_like_enumeration(random_potentials(3, (4, 3, 2, 1, 0), fields=fields), "scaled")


SCORES = st.sampled_from([0.0, 1.0, -2.5, -INF, -1e4, 240.0, -290.0, -310.0, -500.0, 750.0, -3e3])


@st.composite
def hostile_potentials(draw) -> Potentials:
    n_labels = draw(st.integers(1, 3))
    lengths = tuple(draw(st.lists(st.integers(0, 6), min_size=1, max_size=3)))

    def scores(*shape: int) -> torch.Tensor:
        size = int(np.prod(shape))
        values = draw(st.lists(SCORES, min_size=size, max_size=size))
        return tensor(values).reshape(shape)

    pairwise = draw(st.booleans())
    return Potentials(
        scores(sum(lengths), n_labels),
        lengths,
        scores(n_labels, n_labels),
        scores(n_labels),
        scores(n_labels),
        scores(sum(lengths), n_labels, n_labels) if pairwise else None,
    )


@pytest.mark.parametrize("backend", sorted({*BACKENDS} - {"fused"}))
@settings(max_examples=120, deadline=None, derandomize=True)
@given(potentials=hostile_potentials())
def test_any_mixture_of_extreme_scores(backend, potentials):
    assert_like_enumeration(potentials, backend)


@pytest.mark.parametrize("backend", ["fused"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(potentials=hostile_potentials())
def test_some_mixtures_where_each_takes_long(backend, potentials):
    assert_like_enumeration(potentials, backend)


def test_ordinary_constraints_and_partial_labels_stay_in_the_exp_domain(monkeypatch):
    """Tag schemes always forbid transitions, and inference must remain fast for them."""

    def refuse(*args):
        raise AssertionError("computed again in the log domain")

    monkeypatch.setattr("spacy_psa.inference.engines.recursion.ByDefinition", refuse)
    # BIO with three labels: I-x only after B-x and I-x
    n_labels, inside = 7, {2: 1, 4: 3, 6: 5}
    allowed = np.ones((n_labels, n_labels), dtype=bool)
    for label, begin in inside.items():
        allowed[:, label] = np.isin(np.arange(n_labels), [label, begin])
    start = ~np.isin(np.arange(n_labels), list(inside))
    constraints = Constraints(allowed, start, np.ones(n_labels, dtype=bool))
    potentials = random_potentials(n_labels, (200, 30, 1), scale=12.0)
    chain = LinearChain(potentials, constraints=constraints, backend="scaled")
    labels = chain.argmax.clone()
    labels[::3] = -1
    assert torch.isfinite(chain.log_prob(labels)).all()
