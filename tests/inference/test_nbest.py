"""The k best label sequences, against sorting all sequences."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from spacy_psa.inference import Constraints, LinearChain, Potentials
from spacy_psa.inference.nbest import top

from .brute_force import BruteForce, random_potentials, split

FIELDS = [
    (),
    ("transitions", "start", "end"),
    ("start",),
    ("pairwise",),
    ("transitions", "pairwise"),
]


def expected_k_best(potentials: Potentials, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and log-probabilities by sorting sequences by score, then by label from the end."""
    brute = BruteForce(potentials)
    labels = np.full((potentials.n_tokens, k), -1)
    log_prob = np.full((len(potentials.lengths), k), -np.inf)
    rows = split(labels, potentials)  # views
    for n, ((paths, scores), log_z) in enumerate(
        zip(brute.chains, brute.log_partition, strict=True)
    ):
        possible = np.flatnonzero(scores > -np.inf)
        best = sorted(possible, key=lambda at: (-scores[at], paths[at][::-1].tolist()))[:k]
        rows[n][:, : len(best)] = paths[best].T
        log_prob[n, : len(best)] = scores[best] - log_z
    return labels, log_prob


def assert_k_best(actual, potentials: Potentials, k: int) -> None:
    labels, log_prob = expected_k_best(potentials, k)
    assert actual.labels.tolist() == labels.tolist()
    np.testing.assert_allclose(actual.log_prob.numpy(), log_prob, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
@pytest.mark.parametrize("n_labels,lengths", [(3, (4, 0, 2, 1, 5)), (1, (3, 0, 1)), (5, (1, 2))])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_equals_sorting_all_sequences(fields, n_labels, lengths, k):
    potentials = random_potentials(n_labels, lengths, fields=fields)
    assert_k_best(LinearChain(potentials).topk(k), potentials, k)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(0, 4), max_size=4),
    n_labels=st.integers(1, 4),
    k=st.integers(1, 90),
    seed=st.integers(0, 1000),
    fields=st.sampled_from(FIELDS),
    forbidden=st.sampled_from([0.0, 0.3, 0.7]),
)
def test_equals_sorting_with_ties_and_forbidden_labels(
    lengths, n_labels, k, seed, fields, forbidden
):
    potentials = with_forbidden(
        random_potentials(n_labels, lengths, seed=seed, fields=fields, scale=0), forbidden, seed
    )
    assert_k_best(LinearChain(potentials).topk(k), potentials, k)


def with_forbidden(potentials: Potentials, share: float, seed: int) -> Potentials:
    """A copy with a share of the scores replaced by -inf."""
    generator = torch.Generator().manual_seed(seed)
    fields = {
        name: t.masked_fill(torch.rand(t.shape, generator=generator) < share, -torch.inf)
        for name, t in potentials.tensors().items()
    }
    return Potentials(lengths=potentials.lengths, **fields)


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
@pytest.mark.parametrize("scale", [2.0, 0])
def test_first_is_the_best_sequence_and_the_others_follow_in_order(fields, scale):
    potentials = random_potentials(12, (30, 7, 0, 25), fields=fields, scale=scale)
    chain = LinearChain(potentials)
    labels, log_prob = chain.topk(6)
    assert torch.equal(labels[:, 0], chain.argmax)
    for rank in range(6):
        expected = chain.log_prob(labels[:, rank])
        possible = log_prob[:, rank] > -torch.inf  # the empty chain has only one sequence
        assert torch.allclose(log_prob[possible, rank], expected[possible], atol=1e-9)
    long = [0, 1, 3]
    assert bool((log_prob[long].diff(dim=1) <= 0).all())
    sequences = torch.cat([part.t() for part in labels.split(potentials.lengths)[:1]])
    assert len(sequences.unique(dim=0)) == 6


def test_best_sequence_among_large_scores_that_hardly_differ():
    # Their sums are equal in float64, but the scores of each step differ
    potentials = random_potentials(3, (6, 4), seed=3)
    tiny = Potentials(
        potentials.emissions * 1e-9 + 1e6, potentials.lengths, potentials.transitions * 1e-9
    )
    chain = LinearChain(tiny)
    assert torch.equal(chain.topk(3).labels[:, 0], chain.argmax)


def test_fewer_sequences_than_asked_for():
    potentials = random_potentials(2, (2, 0))
    labels, log_prob = LinearChain(potentials).topk(6)
    assert (log_prob > -torch.inf).sum(dim=1).tolist() == [4, 1]
    assert labels[:, 4:].tolist() == [[-1, -1], [-1, -1]]
    assert log_prob[0].exp().sum() == pytest.approx(1.0)
    assert log_prob[1, 0] == 0.0


def test_impossible_chain_has_no_sequences():
    potentials = Potentials(torch.full((2, 3), -torch.inf), (2,), torch.zeros(3, 3))
    labels, log_prob = LinearChain(potentials).topk(2)
    assert log_prob.tolist() == [[-torch.inf, -torch.inf]]
    assert labels.tolist() == [[-1, -1], [-1, -1]]


def test_constraints_hold_for_all_sequences():
    potentials = random_potentials(3, (5, 4))
    allowed = torch.ones(3, 3, dtype=torch.bool)
    allowed[0, 1] = False
    constraints = Constraints(allowed, torch.tensor([True, False, True]), torch.ones(3).bool())
    chain = LinearChain(potentials, constraints=constraints)
    assert_k_best(chain.topk(8), constraints.apply(potentials), 8)


def test_does_not_depend_on_batch_mates():
    potentials = random_potentials(4, (5, 2, 7, 2), scale=0)
    batch = LinearChain(potentials).topk(9)
    emissions = potentials.emissions.split(potentials.lengths)
    shared = {name: t for name, t in potentials.tensors().items() if name != "emissions"}
    alone = [LinearChain(Potentials(e, (len(e),), **shared)).topk(9) for e in emissions]
    assert torch.equal(batch.labels, torch.cat([one.labels for one in alone]))
    assert torch.allclose(batch.log_prob, torch.cat([one.log_prob for one in alone]), atol=1e-12)


def test_low_precision_and_gradients_are_no_obstacle():
    potentials = random_potentials(3, (4, 2), dtype=torch.bfloat16).requires_grad_()
    labels, log_prob = LinearChain(potentials).topk(3)
    assert not log_prob.requires_grad
    wide = {name: t.detach().double() for name, t in potentials.tensors().items()}
    expected = LinearChain(Potentials(lengths=potentials.lengths, **wide)).topk(3)
    assert torch.equal(labels, expected.labels)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_top_takes_the_first_of_equal_values(k):
    values = np.random.default_rng(0).integers(0, 3, (50, 6)).astype(float)
    values[values == 0] = -np.inf
    expected = [sorted(sorted(range(6), key=lambda at: (-row[at], at))[:k]) for row in values]
    assert top(values, k).tolist() == expected


def test_top_takes_what_is_not_a_number_first():
    nan = np.nan
    values = [[1.0, nan, 3.0, 2.0], [1.0, 1.0, 1.0, 0.0], [nan] * 4, [-np.inf, 0.0, 0.0, nan]]
    assert top(np.array(values), 2).tolist() == [[1, 2], [0, 1], [0, 1], [1, 3]]


@pytest.mark.parametrize("fields", FIELDS, ids=lambda f: "+".join(f) or "softmax")
def test_scores_that_are_not_numbers_spoil_their_own_chain_alone(fields):
    potentials = random_potentials(3, (4, 3), fields=fields)
    expected = LinearChain(potentials).topk(5)
    potentials.emissions[1, 2] = torch.nan
    labels, log_prob = LinearChain(potentials).topk(5)
    assert bool(log_prob[0].isnan().all())
    assert torch.equal(labels[4:], expected.labels[4:])
    assert torch.allclose(log_prob[1], expected.log_prob[1])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_queries_on_cuda_equal_those_on_the_cpu():
    potentials = random_potentials(9, (12, 0, 7, 3), dtype=torch.float32)
    moved = Potentials(
        lengths=potentials.lengths, **{k: t.cuda() for k, t in potentials.tensors().items()}
    )
    chain, on_cuda = LinearChain(potentials), LinearChain(moved)
    assert torch.equal(on_cuda.topk(4).labels.cpu(), chain.topk(4).labels)
    assert torch.allclose(on_cuda.topk(4).log_prob.cpu().double(), chain.topk(4).log_prob, 1e-4)
    assert torch.allclose(on_cuda.entropy.cpu().double(), chain.entropy, rtol=1e-5)
    samples = on_cuda.sample(5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(samples.cpu(), chain.sample(5, generator=torch.Generator().manual_seed(0)))
    spans, allowed = [(0, 3), (12, 19)], torch.arange(90).reshape(10, 9) % 4 < 2
    probabilities = on_cuda.span_probs(spans, allowed.cuda()).cpu().double()
    assert torch.allclose(probabilities, chain.span_probs(spans, allowed), rtol=1e-5)


@pytest.mark.parametrize("k", [0, -1, 2.0, True, None])
def test_k_has_to_be_a_whole_number_above_zero(k):
    with pytest.raises(ValueError, match="P014"):
        LinearChain(random_potentials(3, (2,))).topk(k)


def test_log_z_of_a_long_chain_costs_probabilities_no_digits() -> None:
    potentials = random_potentials(3, (200,), dtype=torch.float32)
    expected = LinearChain(potentials.map(Tensor.double)).topk(2)
    potentials.emissions.add_(500.0)
    wide = LinearChain(potentials.map(Tensor.double)).topk(2)
    found = LinearChain(potentials).topk(2)
    assert torch.equal(found.labels, expected.labels)
    torch.testing.assert_close(found.log_prob, wide.log_prob, rtol=0, atol=1e-9)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_answers_about_chains_on_a_gpu_are_there():
    potentials = random_potentials(4, (3, 0, 5), dtype=torch.float32)
    moved = potentials.map(Tensor.cuda)
    found, expected = LinearChain(moved), LinearChain(potentials)
    assert torch.equal(found.topk(3).labels, expected.topk(3).labels.cuda())
    allowed = torch.rand(3, 4) < 0.5
    for one, other in (
        (found.topk(3).log_prob, expected.topk(3).log_prob),
        (found.entropy, expected.entropy),
        (found.span_probs([(3, 6)], allowed), expected.span_probs([(3, 6)], allowed)),
    ):
        torch.testing.assert_close(one, other.cuda().float(), rtol=1e-4, atol=1e-4)
    assert found.sample(2).device == moved.device
