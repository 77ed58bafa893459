"""An encoder and a decoder over a layout: token order and whole chains are restored."""

import pytest
import torch

from spacy_psa.layers import (
    BiLSTM,
    Chain,
    ContextFusion,
    CRFDecoder,
    PairwiseCRFDecoder,
    PSABias,
    SoftmaxDecoder,
)
from spacy_psa.layers.labeler import SequenceLabelerNetwork
from spacy_psa.models.batches import make_layout

from .helpers import assert_close, mask_of, normal, randomized

WIDTH, LABELS = 3, 4


def make_network(decoder=CRFDecoder) -> SequenceLabelerNetwork:
    encoder = Chain(WIDTH, [ContextFusion(WIDTH, bias=PSABias), BiLSTM(WIDTH, hidden_width=4)])
    return randomized(SequenceLabelerNetwork(encoder, decoder(4, LABELS))).float()


def test_emissions_are_those_of_each_sentence_alone():
    network, lengths = make_network(), [2, 5, 1, 4]
    x = normal(sum(lengths), WIDTH).float()
    layout = make_layout(lengths, max_length=100, overlap=0, bucket_positions=8)
    assert len(layout.buckets) > 1
    potentials = network(x, layout)
    assert potentials.lengths == tuple(lengths)
    assert potentials.emissions.dtype == torch.float32
    parts = zip(potentials.emissions.split(lengths), x.split(lengths), strict=True)
    for actual, tokens in parts:
        mask = mask_of([len(tokens)])
        expected = network.decoder(network.encoder(tokens.unsqueeze(0), mask), mask)
        assert_close(actual, expected[0], 1e-5)


def test_all_scores_of_tokens_are_those_of_each_sentence_alone():
    network, lengths = make_network(PairwiseCRFDecoder), [2, 5, 1, 4]
    x = normal(sum(lengths), WIDTH).float()
    layout = make_layout(lengths, max_length=100, overlap=0, bucket_positions=8)
    assert len(layout.buckets) > 1
    potentials = network(x, layout)
    assert potentials.pairwise.shape == (sum(lengths), LABELS, LABELS)
    assert potentials.transitions is network.decoder.transitions
    for at, tokens in enumerate(x.split(lengths)):
        mask = mask_of([len(tokens)])
        expected = network.decoder(network.encoder(tokens.unsqueeze(0), mask), mask)
        for name, scores in expected.items():
            found = getattr(potentials, name).split(lengths)[at]
            assert_close(found, scores[0], 1e-5)


def test_all_scores_of_tokens_are_in_float32_at_least():
    network = make_network(PairwiseCRFDecoder).bfloat16()
    layout = make_layout([3, 2], max_length=6, overlap=2)
    potentials = network(normal(5, WIDTH).bfloat16(), layout)
    assert potentials.emissions.dtype == potentials.pairwise.dtype == torch.float32


def test_long_sequences_remain_one_chain():
    network = make_network()
    potentials = network(normal(20, WIDTH).float(), make_layout([20], max_length=6, overlap=2))
    assert potentials.lengths == (20,)
    assert potentials.emissions.shape == (20, LABELS)


def test_potentials_have_the_decoders_transition_scores():
    layout, x = make_layout([3], max_length=6, overlap=2), normal(3, WIDTH).float()
    network = make_network()
    assert network(x, layout).transitions is network.decoder.transitions
    assert make_network(SoftmaxDecoder)(x, layout).transitions is None


@pytest.mark.parametrize("decoder", [CRFDecoder, PairwiseCRFDecoder])
def test_gradients_reach_every_token_and_parameter(decoder):
    network, lengths = make_network(decoder), [3, 9]
    x = normal(sum(lengths), WIDTH).float().requires_grad_()
    potentials = network(x, make_layout(lengths, max_length=4, overlap=1))
    sum(tensor.square().sum() for tensor in potentials.tensors().values()).backward()
    assert x.grad.any(dim=1).all()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name
