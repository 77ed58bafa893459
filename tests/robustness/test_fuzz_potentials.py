"""Scores of any size, in chains of any shape, through every backend: no result is NaN, and none is
infinite unless it should be.

Other tests check the results for ordinary scores, by enumeration. If scores are so large that their
sums are rounded to a multiple of 10^14, the results are those of the rounded scores: what holds for
every distribution holds for them.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from spacy_psa.inference import BACKENDS, Constraints, LinearChain, Potentials
from spacy_psa.inference.losses import kl_divergence, smoothed_log_prob

from .strategies import potentials

INF = float("inf")
# The precision that is left: a single float16 in a sum may be off by 1e-3
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}

seeds = st.integers(0, 2**16)


def tensor(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# The only path to the best score leads through a label that is 1e30 behind
FAR_BEHIND = Potentials(
    tensor([[0.0, -1e30], [1.0, 3.0], [0.0, 1e30]]), (3,), tensor([[0.0, -INF], [1.0, 1e30]])
)
# All sequences have the same score, so large that log 2 is less than its rounding error
TIES = Potentials(torch.full((4, 2), 1e30), (4,), torch.full((2, 2), -1e30))
EQUAL = Potentials(torch.full((4, 3), 1e17), (4,))
# Sums beyond float32, where sampling must not consider every sequence impossible
BEYOND_FLOAT32 = Potentials(torch.full((3, 2), -3e38), (3,), torch.full((2, 2), -3e38))


def known(*scores: Potentials):
    """Add examples that failed before."""

    def decorate(test):
        for one in scores:
            for seed in range(len(BACKENDS)):
                test = example(scores=one, seed=seed)(test)
        return test

    return decorate


def some_backend(seed: int) -> str:
    """Choose one backend: trying all of them would be slow."""
    # Rarely the one whose kernels are interpreted
    names = [*sorted(BACKENDS), *["logspace", "scaled"] * 5]
    return names[seed % len(names)]


def of_labels(scores: Potentials, seed: int, lowest: int) -> Tensor:
    """Random labels, from `lowest` up."""
    generator = np.random.default_rng(seed)
    return torch.from_numpy(generator.integers(lowest, scores.n_labels, size=scores.n_tokens))


def chain_of_token(scores: Potentials) -> Tensor:
    return torch.repeat_interleave(torch.arange(len(scores.lengths)), torch.tensor(scores.lengths))


def assert_finite_gradients(value: Tensor, leaf: Potentials, *, most: float = INF) -> None:
    """Check the gradients of a value with respect to the scores."""
    tensors = list(leaf.tensors().values())
    for gradient in torch.autograd.grad(value, tensors, allow_unused=True):
        assert gradient is None or bool((gradient.isfinite() & (gradient.abs() <= most)).all())


@known(FAR_BEHIND, TIES)
@given(scores=potentials(), seed=seeds)
def test_log_scores_are_finite_or_impossible(scores: Potentials, seed: int) -> None:
    leaf = scores.requires_grad_()
    chain = LinearChain(leaf, backend=some_backend(seed))
    log_z = chain.log_partition
    possible = log_z.detach() != -INF
    assert bool((log_z.isfinite() | ~possible).all())
    if bool(possible.any()):
        # Expected counts: one label per token, and one transition per pair of neighbors
        most = (scores.n_tokens + 1) * (1.0 + TOLERANCE[scores.emissions.dtype])
        assert_finite_gradients(log_z[possible].sum(), leaf, most=most)
    for lowest in (0, -1):
        log_prob = chain.log_prob(of_labels(scores, seed, lowest))
        found = log_prob.detach() != -INF
        assert bool(((log_prob <= 0.0) & (log_prob.isfinite() | ~found)).all())
        assert bool((possible | ~found).all())
        if bool(found.any()):
            assert_finite_gradients(log_prob[found].sum(), leaf)


@known(FAR_BEHIND, TIES, EQUAL)
@given(scores=potentials(), seed=seeds)
def test_marginals_are_distributions(scores: Potentials, seed: int) -> None:
    leaf, tolerance = scores.requires_grad_(), TOLERANCE[scores.emissions.dtype]
    chain = LinearChain(leaf, backend=some_backend(seed))
    marginals = chain.marginals
    found = marginals.detach().double()
    possible = (chain.log_partition != -INF)[chain_of_token(scores)]
    assert bool(((found >= 0.0) & (found <= 1.0 + tolerance)).all())
    assert torch.allclose(found.sum(dim=1), possible.double(), atol=tolerance)
    direction = torch.randn(found.shape, generator=torch.Generator().manual_seed(seed))
    assert_finite_gradients((marginals * direction.to(marginals)).sum(), leaf)


@known(FAR_BEHIND, TIES, EQUAL)
@given(scores=potentials(), seed=seeds)
def test_expected_counts_are_those_of_whole_sequences(scores: Potentials, seed: int) -> None:
    chain = LinearChain(scores, backend=some_backend(seed))
    pairs = zip(scores.lengths, (chain.log_partition != -INF).tolist(), strict=True)
    lengths = [length for length, possible in pairs if length and possible]
    tolerance = TOLERANCE[scores.emissions.dtype] * (1 + sum(lengths))
    expected = (sum(lengths) - len(lengths), len(lengths), len(lengths))
    for found, n in zip(chain.expected_counts(), expected, strict=True):
        assert bool((found >= 0.0).all())
        assert float(found.double().sum()) == pytest.approx(n, abs=tolerance)


@given(scores=potentials(), seed=seeds)
def test_backends_agree(scores: Potentials, seed: int) -> None:
    found = [LinearChain(scores, backend=name).log_partition for name in sorted(BACKENDS)]
    sizes = [
        t.double().nan_to_num(neginf=0.0).abs().max()
        for t in scores.tensors().values()
        if t.numel()
    ]
    tolerance = 1e-12 * float(sum(sizes)) * (1 + max(scores.lengths)) + 1e-9
    for other in found[1:]:
        assert torch.equal(other == -INF, found[0] == -INF)
        finite = found[0] != -INF
        assert torch.allclose(other[finite], found[0][finite], rtol=1e-9, atol=tolerance)


@known(FAR_BEHIND, TIES, EQUAL)
@given(scores=potentials(), seed=seeds)
def test_the_best_are_sorted_and_together_at_most_certain(scores: Potentials, seed: int) -> None:
    chain = LinearChain(scores)
    best = chain.topk(1 + seed % 6)
    assert bool((best.log_prob <= 0.0).all())
    assert bool((best.log_prob[:, :-1] >= best.log_prob[:, 1:]).all())
    assert bool((best.log_prob.exp().sum(dim=1) <= 1.0 + 1e-6).all())
    possible = chain.log_partition != -INF
    assert torch.equal(best.log_prob[:, 0] != -INF, possible)
    assert bool((chain.max_score[possible] != -INF).all())


@known(FAR_BEHIND, TIES, EQUAL)
@given(scores=potentials(), seed=seeds)
def test_entropy_is_between_none_and_that_of_a_fair_choice(scores: Potentials, seed: int) -> None:
    leaf = scores.requires_grad_()
    most = torch.tensor(scores.lengths) * np.log(scores.n_labels) + 1e-6
    for chain in (LinearChain(leaf), LinearChain(scores)):
        entropy = chain.entropy
        assert bool(((entropy >= 0.0) & (entropy <= most)).all())
    assert_finite_gradients(LinearChain(leaf).entropy.sum(), leaf)


@known(FAR_BEHIND, BEYOND_FLOAT32)
@given(scores=potentials(), seed=seeds)
def test_what_is_drawn_is_possible(scores: Potentials, seed: int) -> None:
    chain = LinearChain(scores)
    drawn = chain.sample(3, generator=torch.Generator().manual_seed(seed))
    possible = (chain.log_partition != -INF)[chain_of_token(scores)]
    assert torch.equal(drawn >= 0, possible.unsqueeze(1).expand(-1, 3))
    if bool(possible.all()):
        assert all(bool((chain.score(drawn[:, i]) != -INF).all()) for i in range(3))


@known(FAR_BEHIND, TIES)
@given(scores=potentials(), seed=seeds)
def test_span_probabilities_are_probabilities(scores: Potentials, seed: int) -> None:
    generator, places, first = np.random.default_rng(seed), [], 0
    for length in scores.lengths:
        cuts = np.sort(generator.integers(0, length + 1, size=(3, 2)), axis=1)
        places += [(first + start, first + stop) for start, stop in cuts.tolist()]
        first += length
    n_tokens = sum(stop - start for start, stop in places)
    allowed = torch.from_numpy(generator.random((n_tokens, scores.n_labels)) < 0.7)
    found = LinearChain(scores).span_probs(places, allowed)
    assert bool(((found >= 0.0) & (found <= 1.0)).all())
    assert all(p == 1.0 for p, (start, stop) in zip(found, places, strict=True) if start == stop)


@given(scores=potentials(), seed=seeds)
def test_constraints_leave_a_distribution_or_nothing(scores: Potentials, seed: int) -> None:
    generator, n = np.random.default_rng(seed), scores.n_labels
    allowed = Constraints(*(generator.random(shape) < 0.6 for shape in ((n, n), n, n)))
    chain = LinearChain(scores, constraints=allowed, backend=some_backend(seed))
    possible = (chain.log_partition != -INF)[chain_of_token(scores)]
    sums = chain.marginals.double().sum(dim=1)
    assert torch.allclose(sums, possible.double(), atol=TOLERANCE[scores.emissions.dtype])
    best = chain.argmax[possible] if bool(possible.any()) else chain.argmax[:0]
    assert bool(((best >= 0) & (best < n)).all())


@given(
    scores=potentials(impossible=False),
    seed=seeds,
    temperature=st.floats(0.05, 20.0),
    smoothing=st.floats(0.0, 0.9),
)
def test_losses_and_their_gradients_are_finite(
    scores: Potentials, seed: int, temperature: float, smoothing: float
) -> None:
    # 3e38 divided by 0.05 overflows float32
    scale = 1.0 if temperature >= 1.0 else temperature
    tensors = {name: t * scale for name, t in scores.tensors().items()}
    leaf = Potentials(lengths=scores.lengths, **tensors).requires_grad_()
    chain = LinearChain(leaf.tempered(temperature))
    loss = smoothed_log_prob(chain, of_labels(scores, seed, -1), smoothing).sum()
    assert bool(loss.isfinite())
    assert_finite_gradients(loss, leaf)
    generator = np.random.default_rng(seed)
    other = {
        name: torch.from_numpy(generator.permutation(t.reshape(-1).double().numpy())).to(t)
        for name, t in tensors.items()
    }
    other = {name: t.reshape(tensors[name].shape) for name, t in other.items()}
    teacher = LinearChain(Potentials(lengths=scores.lengths, **other))
    divergence = kl_divergence(teacher, LinearChain(leaf))
    assert bool(divergence.isfinite())
    assert_finite_gradients(divergence, leaf)
