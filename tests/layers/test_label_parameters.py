"""Label embeddings and transitions, and sharing them."""

import math

import numpy as np
import pytest
import torch

from spacy_psa.layers import LabelEmbeddings, LabelSet, LabelTransitions

from .helpers import assert_close, normal, randomized
from .reference import inner

WIDTH, LABELS = 4, 3


def test_emissions_are_products_with_the_embeddings():
    layer = randomized(LabelEmbeddings(LABELS, WIDTH))
    x = normal(2, 5, WIDTH)
    emissions = layer(x)
    assert emissions.shape == (2, 5, LABELS)
    for y in range(LABELS):
        expected = inner(x[1, 3].numpy(), layer.weight[y].detach().numpy())
        assert_close(emissions[1, 3, y], np.array(expected), 1e-12)


def test_embeddings_know_their_sizes():
    layer = LabelEmbeddings(LABELS, WIDTH)
    assert (layer.n_labels, layer.width) == (LABELS, WIDTH)
    assert LabelTransitions(LABELS).n_labels == LABELS


def test_embeddings_start_with_the_variance_of_one_over_the_width():
    torch.manual_seed(0)
    weight = LabelEmbeddings(500, 40).weight.detach()
    assert abs(float(weight.var()) - 1 / 40) < 1e-3
    assert float(weight.abs().max()) <= math.sqrt(3 / 40)


def test_transitions_have_the_scores_of_potentials():
    layer = LabelTransitions(LABELS)
    scores = layer.scores()
    assert {name: tuple(score.shape) for name, score in scores.items()} == {
        "transitions": (LABELS, LABELS),
        "start": (LABELS,),
        "end": (LABELS,),
    }
    own = list(layer.parameters())
    assert all(any(score is parameter for parameter in own) for score in scores.values())
    assert scores["transitions"].any()
    assert not scores["start"].any() and not scores["end"].any()


@pytest.mark.parametrize("tied", [True, False])
def test_layers_share_what_is_tied(tied):
    labels = LabelSet(WIDTH, LABELS, tie_embeddings=tied, tie_transitions=not tied)
    embeddings, transitions = (
        [make() for _ in range(2)] for make in (labels.embeddings, labels.transitions)
    )
    assert (embeddings[0] is embeddings[1]) is tied
    assert (transitions[0] is transitions[1]) is not tied
    assert labels.shared_embeddings is (embeddings[0] if tied else None)
    assert labels.shared_transitions is (None if tied else transitions[0])


def test_nothing_is_shared_before_a_layer_asked_for_it():
    labels = LabelSet(WIDTH, LABELS)
    assert labels.shared_embeddings is None
    assert labels.shared_transitions is None


@pytest.mark.parametrize(("n_latent", "expected"), [(None, LABELS), (7, 7)])
def test_separate_layers_may_have_another_number_of_labels(n_latent, expected):
    labels = LabelSet(WIDTH, LABELS, tie_embeddings=False, tie_transitions=False, n_latent=n_latent)
    assert labels.embeddings().n_labels == expected
    assert labels.transitions().n_labels == expected


@pytest.mark.parametrize("deviation", [None, 1.0, 0.1])
def test_embeddings_start_from_the_given_deviation(deviation: float | None) -> None:
    torch.manual_seed(0)
    labels = LabelSet(400, 50, deviation=deviation).embeddings()
    expected = 1 / 20 if deviation is None else deviation
    assert labels.weight.std().item() == pytest.approx(expected, rel=0.05)
