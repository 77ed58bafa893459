"""Glorot initialization of every weight matrix, gate by gate in an LSTM, and zero biases."""

import math

import pytest
import torch

from spacy_psa.layers import (
    AdditiveSelfAttention,
    BiLSTM,
    CharacterBiLSTM,
    ContextFusion,
    CRFDecoder,
    FeatureGate,
    PSABias,
    SoftmaxDecoder,
    TokenPositionBias,
    WordEmbedding,
)
from spacy_psa.layers.initialization import glorot_, linear, lstm, uniform_embedding_

WIDTH = 40
LAYERS = {
    "attention": lambda: AdditiveSelfAttention(WIDTH, bias=PSABias),
    "fusion": lambda: ContextFusion(WIDTH, bias=PSABias),
    "gate": lambda: FeatureGate(WIDTH),
    "token position": lambda: TokenPositionBias(WIDTH),
    "bilstm": lambda: BiLSTM(WIDTH, hidden_width=60, depth=2),
    "characters": lambda: CharacterBiLSTM(30, width=50),
    "softmax": lambda: SoftmaxDecoder(WIDTH, 20),
    "crf": lambda: CRFDecoder(WIDTH, 20),
}
WITHOUT_BIASES = {"gate"}
# Trainable scalars and vectors that are neither weights nor named biases.
ZERO = ("trade_off", "start", "end")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def assert_uniform(weight: torch.Tensor, limit: float) -> None:
    """Check that all weights are within the limit, with the moments of the uniform distribution."""
    n = weight.numel()
    assert weight.abs().max() <= limit * (1 + 1e-6)
    # For U(-l, l), the standard error of the variance is l²/3·√(4/5n), of the mean l/√(3n).
    assert weight.mean().abs() < 5 * limit / math.sqrt(3 * n)
    assert weight.square().mean().item() == pytest.approx(limit**2 / 3, rel=5 * math.sqrt(0.8 / n))


def glorot_limit(fan_out: int, fan_in: int) -> float:
    return math.sqrt(6 / (fan_in + fan_out))


@pytest.mark.parametrize(("fan_out", "fan_in"), [(50, 30), (20, 300), (1, 400), (11, 100)])
def test_glorot_matrix_is_uniform_within_its_limit(fan_out, fan_in):
    assert_uniform(glorot_(torch.empty(fan_out, fan_in)), glorot_limit(fan_out, fan_in))


def test_glorot_vector_is_a_matrix_of_one_row():
    assert_uniform(glorot_(torch.empty(500)), glorot_limit(1, 500))


def test_linear_has_glorot_weights_and_no_bias_but_zero():
    layer = linear(30, 50)
    assert_uniform(layer.weight, glorot_limit(50, 30))
    assert not layer.bias.any()
    assert linear(30, 50, bias=False).bias is None


def test_lstm_gates_have_limits_of_their_own():
    layer = lstm(30, 50)
    for name, fan_in in (("ih_l0", 30), ("hh_l0", 50)):
        weight = getattr(layer, f"weight_{name}")
        for gate in range(4):
            assert_uniform(weight[50 * gate : 50 * (gate + 1)], glorot_limit(50, fan_in))
        assert not getattr(layer, f"bias_{name}").any()


def test_embeddings_have_the_variance_of_one_over_their_width():
    assert_uniform(uniform_embedding_(torch.empty(200, 30)), math.sqrt(3 / 30))


@pytest.mark.parametrize(
    "table",
    [lambda: WordEmbedding(200, 30).weight, lambda: CharacterBiLSTM(200).embedding.weight],
    ids=["words", "characters"],
)
def test_embedding_tables_are_initialized_as_embeddings(table):
    assert_uniform(table(), math.sqrt(3 / 30))


@pytest.mark.parametrize("name", LAYERS)
def test_every_bias_is_zero(name):
    biases = {
        key: parameter
        for key, parameter in LAYERS[name]().named_parameters()
        if key.rsplit(".", 1)[-1].startswith("bias")
    }
    assert bool(biases) == (name not in WITHOUT_BIASES)
    assert not any(parameter.any() for parameter in biases.values())


@pytest.mark.parametrize("name", LAYERS)
def test_every_weight_follows_glorot(name):
    for key, parameter in LAYERS[name]().named_parameters():
        own = key.rsplit(".", 1)[-1]
        if own.startswith("bias") or own in ZERO:
            assert not parameter.any(), key
        elif "embedding" not in key:
            lstm = own.startswith("weight_")
            for weight in parameter.chunk(4) if lstm else [parameter]:
                rows = 1 if weight.dim() == 1 else weight.shape[0]
                assert_uniform(weight, glorot_limit(rows, weight.shape[-1]))


@pytest.mark.parametrize("name", LAYERS)
def test_initialization_is_repeatable_from_a_seed(name):
    torch.manual_seed(5)
    first = LAYERS[name]().state_dict()
    torch.manual_seed(5)
    second = LAYERS[name]().state_dict()
    torch.manual_seed(6)
    third = LAYERS[name]().state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not all(torch.equal(first[key], third[key]) for key in first)


def test_no_two_weights_of_the_fusion_layer_are_the_same():
    layer = ContextFusion(WIDTH, bias=PSABias)
    squares = [p for p in layer.parameters() if p.shape == (WIDTH, WIDTH)]
    # W⁽¹⁾, W⁽²⁾, W⁽ᶻ¹⁾, W⁽ᶻ²⁾, W⁽ᶠ¹⁾, W⁽ᶠ²⁾ and W⁽ᶠ³⁾.
    assert len(squares) == 7
    for i, first in enumerate(squares):
        assert not any(torch.equal(first, second) for second in squares[:i])
