import numpy as np
import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.layers import CRFDecoder, SoftmaxDecoder

from .helpers import DTYPES, TOLERANCE, assert_close, batch_of, mask_of, randomized, state_of
from .reference import product

LENGTHS, WIDTH, LABELS = [3, 1], 4, 5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [SoftmaxDecoder, CRFDecoder])
def test_emissions_are_linear_in_the_token(make, dtype, device):
    layer = randomized(make(WIDTH, LABELS))
    x, state = batch_of(LENGTHS, WIDTH), state_of(layer)
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
    assert output.shape == (2, 3, LABELS)
    for row, n in enumerate(LENGTHS):
        for i in range(n):
            expected = product(state["emission.weight"], x[row, i].numpy())
            assert_close(output[row, i], expected + state["emission.bias"], TOLERANCE[dtype])


def test_softmax_has_no_transition_scores():
    assert SoftmaxDecoder(WIDTH, LABELS).transition_scores() == {}


def test_crf_has_trainable_transition_start_and_end_scores():
    layer = CRFDecoder(WIDTH, LABELS)
    scores = layer.transition_scores()
    assert {name: tuple(score.shape) for name, score in scores.items()} == {
        "transitions": (LABELS, LABELS),
        "start": (LABELS,),
        "end": (LABELS,),
    }
    own = dict(layer.named_parameters())
    assert all(score is own[name] for name, score in scores.items())


def test_crf_starts_and_ends_without_preference():
    scores = CRFDecoder(WIDTH, LABELS).transition_scores()
    assert not scores["start"].any()
    assert not scores["end"].any()
    assert scores["transitions"].any()


@pytest.mark.parametrize("make", [SoftmaxDecoder, CRFDecoder])
def test_scores_are_those_that_potentials_take(make):
    layer = randomized(make(WIDTH, LABELS))
    mask = mask_of(LENGTHS)
    emissions = layer(batch_of(LENGTHS, WIDTH), mask)[mask.positions]
    potentials = Potentials(emissions, LENGTHS, **layer.transition_scores())
    assert potentials.emissions.shape == (sum(LENGTHS), LABELS)


def test_probabilities_of_sequences_follow_equations_1_and_2():
    layer = randomized(CRFDecoder(WIDTH, 2))
    emissions = layer(batch_of([2], WIDTH), mask_of([2]))[0].detach()
    scores = layer.transition_scores()
    chain = LinearChain(Potentials(emissions, (2,), **scores))
    start, end, A = (scores[name].detach().numpy() for name in ("start", "end", "transitions"))
    e = emissions.numpy()
    # exp of the sum of log φ, for each of the four label sequences.
    products = {
        (a, b): np.exp(start[a] + e[0, a] + A[a, b] + e[1, b] + end[b])
        for a in range(2)
        for b in range(2)
    }
    for labels, weight in products.items():
        expected = np.log(weight / sum(products.values()))
        assert_close(chain.log_prob(torch.tensor(labels)), np.array([expected]), 1e-10)
