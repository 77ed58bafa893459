"""Encoders that a config can name. What each of them computes stands in `spacy_psa.layers`."""

from __future__ import annotations

from functools import partial

from torch import nn

from ..layers import BiLSTM, Chain, ContextFusion, FeatureGate, PSABias
from .types import EncoderBuilder, PartBuilder, check_dropout, check_value, plain


def build_psa_encoder(
    first_fusion: EncoderBuilder | None,
    recurrent: EncoderBuilder,
    second_fusion: EncoderBuilder | None,
) -> EncoderBuilder:
    """Configure the encoder of PSA: a context fusion layer before and after a BiLSTM.

    first_fusion (Optional[EncoderBuilder]): Re-weights the input. None leaves it out (table 8).
    recurrent (EncoderBuilder): The word-level encoder.
    second_fusion (Optional[EncoderBuilder]): Re-weights its output. None leaves it out.
    RETURNS (EncoderBuilder): Builds the encoder.

    Source: Wei et al. (2021), figure 2.
    """
    return build_chain(*(e for e in (first_fusion, recurrent, second_fusion) if e is not None))


def build_chain(*encoders: EncoderBuilder) -> EncoderBuilder:
    """Configure encoders one after the other.

    *encoders (EncoderBuilder): The encoders; in a config, sections `encoder.*.name`.
    RETURNS (EncoderBuilder): Builds the chain.
    """
    return partial(_make_chain, encoders)


def _make_chain(encoders: tuple[EncoderBuilder, ...], input_width: int, n_labels: int) -> Chain:
    modules: list[nn.Module] = []
    width = input_width
    for encoder in encoders:
        modules.append(encoder(width, n_labels))
        width = modules[-1].width
    return Chain(input_width, modules)


def build_bilstm(
    hidden_width: int = 300,
    depth: int = 1,
    input_dropout: float = 0.55,
    output_dropout: float = 0.55,
) -> EncoderBuilder:
    """Configure a bidirectional LSTM.

    hidden_width (int): Width of the output, both directions together.
    depth (int): Number of layers.
    input_dropout (float): Dropout on the input.
    output_dropout (float): Dropout on the output of each layer.
    RETURNS (EncoderBuilder): Builds a `BiLSTM`.
    RAISES (ValueError): If a value is out of its range.
    """
    check_value("hidden_width", hidden_width, hidden_width >= 2, "at least 2")
    check_value("depth", depth, depth >= 1, "at least 1")
    check_dropout("input_dropout", input_dropout)
    check_dropout("output_dropout", output_dropout)
    return partial(
        plain,
        BiLSTM,
        hidden_width=hidden_width,
        depth=depth,
        input_dropout=input_dropout,
        output_dropout=output_dropout,
    )


def build_context_fusion(
    bias: PartBuilder | None, gate: PartBuilder, dropout: float = 0.2
) -> EncoderBuilder:
    """Configure a self-attentional context fusion layer.

    bias (Optional[PartBuilder]): The positional bias, e.g. `spacy_psa.PSABias.v1`; None for
        attention without positions (table 6, row 1).
    gate (PartBuilder): The gate that mixes a token with its context, e.g.
        `spacy_psa.FeatureGate.v1`.
    dropout (float): Dropout on the output of the self-attention.
    RETURNS (EncoderBuilder): Builds a `ContextFusion`.
    RAISES (ValueError): If a value is out of its range.
    """
    check_dropout("dropout", dropout)
    return partial(plain, ContextFusion, bias=bias, gate=gate, dropout=dropout)


def build_psa_bias(
    window: float = 10,
    max_distance: int = 10,
    self_mask: bool = True,
    gaussian: bool = True,
    token_position: bool = True,
) -> PartBuilder:
    """Configure the positional bias of PSA, Ψ = M + α·G + (1 − α)·P.

    window (float): The window size k of the Gaussian bias G, in tokens.
    max_distance (int): The distance r from which on P treats all alike.
    self_mask (bool): Whether M keeps a token from attending to itself.
    gaussian (bool): Whether to have G.
    token_position (bool): Whether to have P.
    RETURNS (PartBuilder): Builds a `PSABias`.
    RAISES (ValueError): If a value is out of its range.
    """
    check_value("window", window, window > 0, "greater than 0")
    check_value("max_distance", max_distance, max_distance >= 1, "at least 1")
    return partial(
        PSABias,
        window=window,
        max_distance=max_distance,
        self_mask=self_mask,
        gaussian=gaussian,
        token_position=token_position,
    )


def build_feature_gate() -> PartBuilder:
    """Configure the feature-wise fusion gate.

    RETURNS (PartBuilder): Builds a `FeatureGate`.
    """
    return FeatureGate
