"""Label smoothing, against enumeration of all label sequences."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.inference import BACKENDS, Constraints, LinearChain, Potentials
from spacy_psa.inference.losses import smoothed_log_prob

from .brute_force import random_potentials, split

N_LABELS, LENGTHS, SMOOTHING = 3, (4, 1, 0, 3), 0.3
FIELDS = [
    (),
    ("transitions",),
    ("start", "end"),
    ("transitions", "start", "end"),
    ("pairwise",),
    ("pairwise", "transitions", "start", "end"),
]
COMPLETE = [2, 0, 1, 1, 2, 0, 2, 0]
# Unknown at the beginning and the end, alone, in a row, next to a chain boundary, everywhere
PARTIAL = [
    [-1, 0, 1, 1, 2, 0, 2, 0],
    [2, -1, -1, 1, 2, 0, 2, -1],
    [2, 0, 1, -1, -1, -1, 2, 0],
    [-1, 0, -1, 1, -1, 0, -1, 0],
    [-1, -1, -1, -1, -1, -1, -1, -1],
]


def q(label: int, y: int, smoothing: float = SMOOTHING) -> float:
    """The smoothed distribution of one annotated label."""
    return 1 - smoothing if y == label else smoothing / (N_LABELS - 1)


def make(lengths=LENGTHS, *, fields=FIELDS[3], seed: int = 0) -> Potentials:
    """Random scores, which may include pairwise scores."""
    plain = [name for name in fields if name != "pairwise"]
    potentials = random_potentials(N_LABELS, lengths, fields=plain, seed=seed)
    if len(plain) == len(fields):
        return potentials
    generator = torch.Generator().manual_seed(seed + 1000)
    shape = (sum(lengths), N_LABELS, N_LABELS)
    return replace(
        potentials, pairwise=torch.randn(*shape, generator=generator, dtype=torch.float64)
    )


def sequences(potentials: Potentials) -> Iterator[tuple[int, dict[tuple[int, ...], float]]]:
    """The first token of each chain, and the scores of all its label sequences."""
    scores = {name: tensor.detach().numpy() for name, tensor in potentials.tensors().items()}
    first = 0
    for n in potentials.lengths:
        score_of = {}
        for path in itertools.product(range(potentials.n_labels), repeat=n):
            score = 0.0
            for t, y in enumerate(path):
                score += scores["emissions"][first + t, y]
                if t == 0 and "start" in scores:
                    score += scores["start"][y]
                if t > 0 and "transitions" in scores:
                    score += scores["transitions"][path[t - 1], y]
                if t > 0 and "pairwise" in scores:
                    score += scores["pairwise"][first + t, path[t - 1], y]
                if t == n - 1 and "end" in scores:
                    score += scores["end"][y]
            score_of[path] = score
        yield first, score_of
        first += n


def log_total(score_of: dict[tuple[int, ...], float]) -> float:
    return math.log(sum(math.exp(score) for score in score_of.values()))


def enumerated(potentials: Potentials, labels: list[int]) -> list[float]:
    """log Σ_u exp(Σ_a q(a) · score(a, u)) − log Z for each chain, sequence by sequence."""
    values = []
    for (first, score_of), n in zip(sequences(potentials), potentials.lengths, strict=True):
        golds = labels[first : first + n]
        total = 0.0
        for unknown in itertools.product(
            *(range(N_LABELS) if label < 0 else [None] for label in golds)
        ):
            expected = 0.0
            for path, score in score_of.items():
                if all(u in (None, y) for u, y in zip(unknown, path, strict=True)):
                    weight = 1.0
                    for label, y in zip(golds, path, strict=True):
                        weight *= q(label, y) if label >= 0 else 1.0
                    expected += weight * score
            total += math.exp(expected)
        values.append(math.log(total) - log_total(score_of))
    return values


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fields", FIELDS, ids=str)
@pytest.mark.parametrize("labels", [COMPLETE, *PARTIAL], ids=str)
def test_value_equals_enumeration(labels, fields, backend):
    potentials = make(fields=fields)
    chain = LinearChain(potentials, backend=backend)
    found = smoothed_log_prob(chain, torch.tensor(labels), SMOOTHING)
    assert found.tolist() == pytest.approx(enumerated(potentials, labels), abs=1e-9)


@pytest.mark.parametrize("fields", FIELDS, ids=str)
def test_of_complete_annotation_it_is_the_negative_cross_entropy(fields):
    potentials = make(fields=fields)
    found = smoothed_log_prob(LinearChain(potentials), torch.tensor(COMPLETE), SMOOTHING)
    gold = split(np.array(COMPLETE), potentials)
    for value, (_, score_of), golds in zip(
        found.tolist(), sequences(potentials), gold, strict=True
    ):
        log_z, total = log_total(score_of), 0.0
        for path, score in score_of.items():
            weight = math.prod(q(label, y) for label, y in zip(golds, path, strict=True))
            total += weight * (score - log_z)
        assert value == pytest.approx(total, abs=1e-9)


def test_of_a_softmax_it_is_the_usual_label_smoothing():
    potentials = random_potentials(N_LABELS, LENGTHS, fields=())
    labels = torch.tensor(COMPLETE)
    found = smoothed_log_prob(LinearChain(potentials), labels, SMOOTHING)
    # PyTorch distributes its share over all labels, including the annotated one
    share = SMOOTHING * N_LABELS / (N_LABELS - 1)
    expected = torch.nn.functional.cross_entropy(
        potentials.emissions, labels, label_smoothing=share, reduction="sum"
    )
    assert float(-found.sum()) == pytest.approx(float(expected), abs=1e-9)


def test_of_a_softmax_unknown_labels_count_for_nothing():
    potentials = random_potentials(N_LABELS, (4,), fields=())
    partial = smoothed_log_prob(LinearChain(potentials), torch.tensor([2, -1, -1, 1]), SMOOTHING)
    known = Potentials(potentials.emissions[[0, 3]], (2,))
    alone = smoothed_log_prob(LinearChain(known), torch.tensor([2, 1]), SMOOTHING)
    assert float(partial) == pytest.approx(float(alone), abs=1e-9)


@pytest.mark.parametrize("fields", FIELDS, ids=str)
@pytest.mark.parametrize("labels", [COMPLETE, *PARTIAL], ids=str)
def test_without_smoothing_it_is_the_log_probability(labels, fields):
    chain = LinearChain(make(fields=fields))
    expected = chain.log_prob(torch.tensor(labels))
    assert torch.equal(smoothed_log_prob(chain, torch.tensor(labels), 0.0), expected)
    # It is the limit of the general formula
    nearly = smoothed_log_prob(chain, torch.tensor(labels), 1e-12)
    torch.testing.assert_close(nearly, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("labels", PARTIAL[:-1], ids=str)
def test_it_is_at_most_the_expected_log_probability_of_what_is_annotated(labels):
    potentials = make()
    chain = LinearChain(potentials)
    known = [t for t, label in enumerate(labels) if label >= 0]
    expected = torch.zeros(len(LENGTHS), dtype=torch.float64)
    for guess in itertools.product(range(N_LABELS), repeat=len(known)):
        tried = list(labels)
        for t, y in zip(known, guess, strict=True):
            tried[t] = y
        weight = math.prod(q(labels[t], tried[t]) for t in known)
        expected += weight * chain.log_prob(torch.tensor(tried))
    found = smoothed_log_prob(chain, torch.tensor(labels), SMOOTHING)
    assert (found <= expected + 1e-9).all()
    assert float(found.sum()) == pytest.approx(float(expected.sum()), rel=0.5)


def test_it_is_the_highest_for_the_smoothed_distribution_itself():
    emissions = torch.tensor([[math.log(q(label, y)) for y in range(3)] for label in COMPLETE])
    labels = torch.tensor(COMPLETE)
    best = smoothed_log_prob(LinearChain(Potentials(emissions, LENGTHS)), labels, SMOOTHING)
    entropy = -sum(q(0, y) * math.log(q(0, y)) for y in range(3))
    assert best.tolist() == pytest.approx([-entropy * n for n in LENGTHS], abs=1e-6)
    for seed in range(5):
        other = LinearChain(random_potentials(N_LABELS, LENGTHS, seed=seed, scale=0.2))
        assert (smoothed_log_prob(other, labels, SMOOTHING) <= best + 1e-6).all()


def test_unknown_labels_alone_are_certain():
    chain = LinearChain(make())
    found = smoothed_log_prob(chain, torch.full((8,), -1), SMOOTHING)
    assert found.tolist() == pytest.approx([0.0] * 4, abs=1e-9)


def test_a_single_label_has_nothing_to_share_with():
    chain = LinearChain(random_potentials(1, (3,)))
    assert float(smoothed_log_prob(chain, torch.zeros(3).long(), 0.5)) == pytest.approx(0.0)


def test_no_chains_have_no_values():
    chain = LinearChain(random_potentials(N_LABELS, ()))
    assert smoothed_log_prob(chain, torch.zeros(0).long(), 0.1).shape == (0,)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fields", FIELDS, ids=str)
@pytest.mark.parametrize("labels", [COMPLETE, PARTIAL[1], PARTIAL[3]], ids=str)
def test_gradient_is_that_of_the_value(labels, fields, backend):
    potentials = make(fields=fields).requires_grad_()
    names = list(potentials.tensors())

    def value(*tensors):
        chain = LinearChain(
            Potentials(lengths=LENGTHS, **dict(zip(names, tensors, strict=True))), backend=backend
        )
        return smoothed_log_prob(chain, torch.tensor(labels), SMOOTHING)

    # For the slow backend, check two random directions instead of all
    tensors, fast = tuple(potentials.tensors().values()), backend == "fused"
    assert torch.autograd.gradcheck(value, tensors, fast_mode=fast)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_chain_does_not_depend_on_its_batch_mates(data):
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    labels = torch.tensor(
        [data.draw(st.integers(-1, N_LABELS - 1)) for _ in range(sum(lengths))], dtype=torch.long
    )
    fields = data.draw(st.sampled_from(FIELDS))
    potentials = make(lengths, fields=fields, seed=data.draw(st.integers(0, 99)))
    together = smoothed_log_prob(LinearChain(potentials), labels, SMOOTHING)
    assert bool((together <= 1e-9).all())
    first = 0
    for n, value in zip(lengths, together.tolist(), strict=True):
        own = slice(first, first + n)
        alone = replace(
            potentials,
            lengths=(n,),
            emissions=potentials.emissions[own],
            pairwise=None if potentials.pairwise is None else potentials.pairwise[own],
        )
        found = smoothed_log_prob(LinearChain(alone), labels[own], SMOOTHING)
        assert float(found) == pytest.approx(value, abs=1e-9)
        first += n


def test_float32_potentials_get_gradients_of_their_own_type():
    potentials = random_potentials(N_LABELS, LENGTHS, dtype=torch.float32).requires_grad_()
    for labels in (COMPLETE, PARTIAL[1]):
        smoothed_log_prob(LinearChain(potentials), torch.tensor(labels), 0.1).sum().backward()
    assert {gradient.dtype for gradient in potentials.gradients().values()} == {torch.float32}


def test_labels_that_are_ruled_out_cannot_be_smoothed():
    allowed = torch.ones(N_LABELS, N_LABELS, dtype=torch.bool)
    allowed[0, 1] = False
    every = torch.ones(N_LABELS, dtype=torch.bool)
    chain = LinearChain(make(), constraints=Constraints(allowed, every, every))
    with pytest.raises(ValueError, match=r"P230.*0\.1"):
        smoothed_log_prob(chain, torch.tensor(COMPLETE), 0.1)
    assert torch.isfinite(smoothed_log_prob(chain, torch.tensor([2, 2, *COMPLETE[2:]]), 0.0)).any()


def test_what_precedes_a_chain_may_be_ruled_out():
    potentials = make(fields=FIELDS[-1])
    without = potentials.pairwise.clone()
    without[[0, 4, 5]] = -torch.inf
    found, expected = (
        smoothed_log_prob(LinearChain(p), torch.tensor(COMPLETE), SMOOTHING)
        for p in (replace(potentials, pairwise=without), potentials)
    )
    torch.testing.assert_close(found, expected)


def test_labels_that_do_not_fit_are_an_error():
    chain = LinearChain(make())
    with pytest.raises(ValueError, match="P003"):
        smoothed_log_prob(chain, torch.tensor([0, 1]), 0.1)
