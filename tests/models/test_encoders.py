"""Builders of encoders and their parts: what they build, and what they reject."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from spacy_psa.layers import (
    BiasMixture,
    BiLSTM,
    Chain,
    CharacterCNN,
    ContextFusion,
    FeatureGate,
    GaussianBias,
    PositionEmbedding,
    PSABias,
    ScalarGate,
    SequenceMask,
    SinusoidalPositions,
    TokenOffsetBias,
    TokenPositionBias,
    TransformerEncoder,
)
from spacy_psa.models.encoders import (
    build_bilstm,
    build_chain,
    build_context_fusion,
    build_position_embedding,
    build_psa_encoder,
    build_sinusoidal_positions,
    build_vaswani,
)
from spacy_psa.models.parts import (
    build_bias_mixture,
    build_feature_gate,
    build_gaussian_bias,
    build_psa_bias,
    build_scalar_gate,
    build_token_offset_bias,
    build_token_position_bias,
)
from spacy_psa.models.tok2vec import build_character_cnn

WIDTH = 8
PARTS: dict[type[nn.Module], Callable[[], Any]] = {
    PSABias: build_psa_bias,
    BiasMixture: lambda: build_bias_mixture(build_token_offset_bias(), build_gaussian_bias()),
    GaussianBias: build_gaussian_bias,
    TokenPositionBias: build_token_position_bias,
    TokenOffsetBias: build_token_offset_bias,
    FeatureGate: build_feature_gate,
    ScalarGate: build_scalar_gate,
    SinusoidalPositions: build_sinusoidal_positions,
    PositionEmbedding: build_position_embedding,
    CharacterCNN: build_character_cnn,
}
SAN = build_context_fusion(build_psa_bias(), build_feature_gate())
LSTM = build_bilstm(hidden_width=WIDTH)


def small_transformer(**settings: Any) -> Callable[..., nn.Module]:
    """A tiny Transformer."""
    defaults = {"positions": build_sinusoidal_positions(), "bias": None, "width": 6, "n_heads": 2}
    return build_vaswani(**{**defaults, **settings})


@pytest.mark.parametrize("layer", PARTS)
def test_parts_are_built_for_a_width_and_their_builders_pickled(layer: type[nn.Module]) -> None:
    builder = pickle.loads(pickle.dumps(PARTS[layer]()))
    assert type(builder(WIDTH)) is layer


def test_a_transformer_and_its_parts_are_built_and_pickled() -> None:
    builder = small_transformer(bias=PARTS[BiasMixture](), depth=2)
    module = pickle.loads(pickle.dumps(builder))(WIDTH, 3)
    assert isinstance(module, TransformerEncoder)
    assert module.width == 6
    assert isinstance(module.positions, SinusoidalPositions)
    assert [len(layer.attention.biases) for layer in module.layers] == [2, 2]
    assert isinstance(module.layers[1].attention.biases[0], BiasMixture)


def test_positions_are_encoders_as_well() -> None:
    for builder in (build_sinusoidal_positions(), build_position_embedding(7)):
        module = build_chain(builder, LSTM)(5, 3)
        assert [encoder.width for encoder in module.encoders] == [5, WIDTH]


@pytest.mark.parametrize(
    ("encoders", "expected"),
    [
        ((SAN, SAN, SAN), (ContextFusion, ContextFusion, ContextFusion)),
        ((LSTM, LSTM, SAN), (BiLSTM, BiLSTM, ContextFusion)),
        ((SAN, LSTM, LSTM), (ContextFusion, BiLSTM, BiLSTM)),
        ((SAN, LSTM, SAN), (ContextFusion, BiLSTM, ContextFusion)),
    ],
)
@pytest.mark.parametrize("build", [build_chain, build_psa_encoder])
def test_arrangements_of_table_9(build: Callable, encoders: tuple, expected: tuple) -> None:
    module = build(*encoders)(5, 3)
    assert isinstance(module, Chain)
    assert tuple(type(encoder) for encoder in module.encoders) == expected
    mask = SequenceMask(torch.tensor([4, 1]), 4)
    assert module.eval()(torch.randn(2, 4, 5), mask).isfinite().all()


@pytest.mark.parametrize(
    ("fusions", "expected"),
    [
        ((None, None), (BiLSTM,)),
        ((None, SAN), (BiLSTM, ContextFusion)),
        ((SAN, None), (ContextFusion, BiLSTM)),
    ],
)
def test_ablations_of_table_8(fusions: tuple, expected: tuple) -> None:
    module = build_psa_encoder(fusions[0], LSTM, fusions[1])(5, 3)
    assert tuple(type(encoder) for encoder in module.encoders) == expected


def test_dropout_of_a_bilstm_may_be_variational() -> None:
    assert not build_bilstm()(4, 3).variational
    assert build_bilstm(variational=True)(4, 3).variational


def test_rows_of_table_6() -> None:
    unbiased = build_context_fusion(None, build_feature_gate())
    first_row = build_psa_encoder(unbiased, LSTM, unbiased)
    second_row = build_chain(build_sinusoidal_positions(), first_row)(5, 3)
    positions, encoder = second_row.encoders
    assert isinstance(positions, SinusoidalPositions)
    assert [type(part) for part in encoder.encoders] == [ContextFusion, BiLSTM, ContextFusion]
    assert encoder.encoders[0].attention.bias is encoder.encoders[2].attention.bias is None


@pytest.mark.parametrize("left_out", ["self_mask", "gaussian", "token_position"])
def test_ablations_of_table_7(left_out: str) -> None:
    bias = build_psa_bias(**{left_out: False})(WIDTH)
    there = {
        "self_mask": bias.masks_self,
        "gaussian": bias.gaussian is not None,
        "token_position": bias.token_position is not None,
    }
    assert [name for name, is_there in there.items() if not is_there] == [left_out]


def test_heads_that_cannot_share_the_width_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"P220.*4 attention heads.*width of 6"):
        small_transformer(n_heads=4, key_width=None)
