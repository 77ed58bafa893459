"""Registered encoders. What each of them computes is documented in `spacy_psa.layers`."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from torch import nn

from ..errors import Errors, Warnings, check_counts, check_value, warn
from ..layers import BiLSTM, Chain, ContextFusion
from ..layers.interfaces import width_of
from ..layers.positions import PositionEmbedding, SinusoidalPositions
from ..layers.transformer import TransformerEncoder
from .types import EncoderBuilder, PartBuilder, build_layer, check_dropout


def build_psa_encoder(
    first_fusion: EncoderBuilder | None,
    recurrent: EncoderBuilder,
    second_fusion: EncoderBuilder | None,
) -> EncoderBuilder:
    """Configure the encoder of PSA: a context fusion layer before and after a BiLSTM.

    first_fusion (Optional[EncoderBuilder]): Re-weights the input. None to omit it (table 8).
    recurrent (EncoderBuilder): The word-level encoder.
    second_fusion (Optional[EncoderBuilder]): Re-weights the output of `recurrent`. None to omit it.
    RETURNS (EncoderBuilder): Builds the encoder.

    Source: Wei et al. (2021), figure 2.
    """
    return build_chain(*(e for e in (first_fusion, recurrent, second_fusion) if e is not None))


def build_chain(*encoders: EncoderBuilder) -> EncoderBuilder:
    """Configure a chain of encoders.

    *encoders (EncoderBuilder): The encoders, in order; in a config, sections `encoder.*.name`.
    RETURNS (EncoderBuilder): Builds the chain.
    """
    return partial(_make_chain, encoders)


def _make_chain(encoders: tuple[EncoderBuilder, ...], input_width: int, n_labels: int) -> Chain:
    modules: list[nn.Module] = []
    width = input_width
    for encoder in encoders:
        modules.append(encoder(width, n_labels))
        width = width_of(modules[-1])
    return Chain(input_width, modules)


def build_bilstm(
    hidden_width: int = 300,
    depth: int = 1,
    input_dropout: float = 0.55,
    output_dropout: float = 0.55,
    variational: bool = False,
) -> EncoderBuilder:
    """Configure a bidirectional LSTM.

    hidden_width (int): Width of the output, both directions combined.
    depth (int): Number of layers.
    input_dropout (float): Dropout on the input.
    output_dropout (float): Dropout on the output of each layer.
    variational (bool): Whether all tokens of a sentence share one dropout mask, as in Gal and
        Ghahramani (2016), section 4.1.
    RETURNS (EncoderBuilder): Builds a `BiLSTM`.
    RAISES (ValueError): If a value is out of range.
    """
    check_value("hidden_width", hidden_width, lambda n: n >= 2, "at least 2")
    check_counts(depth=depth)
    check_dropout(input_dropout=input_dropout, output_dropout=output_dropout)
    return partial(
        build_layer,
        BiLSTM,
        hidden_width=hidden_width,
        depth=depth,
        input_dropout=input_dropout,
        output_dropout=output_dropout,
        variational=variational,
    )


def build_context_fusion(
    bias: PartBuilder | None, gate: PartBuilder, dropout: float = 0.2
) -> EncoderBuilder:
    """Configure a self-attentional context fusion layer.

    bias (Optional[PartBuilder]): The positional bias, e.g. `spacy_psa.PSABias.v1`; None for
        attention without positions (table 6, row 1).
    gate (PartBuilder): The gate that mixes a token with its context: `spacy_psa.FeatureGate.v1` or
        `spacy_psa.ScalarGate.v1`.
    dropout (float): Dropout on the output of the self-attention.
    RETURNS (EncoderBuilder): Builds a `ContextFusion`.
    RAISES (ValueError): If a value is out of range.
    """
    check_dropout(dropout=dropout)
    return partial(build_layer, ContextFusion, bias=bias, gate=gate, dropout=dropout)


def build_vaswani(
    positions: PartBuilder | None,
    bias: PartBuilder | None,
    width: int = 512,
    depth: int = 1,
    n_heads: int = 8,
    key_width: int | None = 64,
    hidden_width: int = 1024,
    share_bias: bool = False,
    dropout: float = 0.1,
    attention_dropout: float = 0.0,
    pre_norm: bool = False,
) -> EncoderBuilder:
    """Configure a Transformer encoder (Vaswani et al. 2017) over projected token vectors.

    positions (Optional[PartBuilder]): The absolute position encoding,
        `spacy_psa.SinusoidalPositions.v1` or `spacy_psa.PositionEmbedding.v1`, or None.
    bias (Optional[PartBuilder]): The positional bias of the attention, e.g.
        `spacy_psa.PSABias.v1`, or None.
    width (int): Width of the model and its output.
    depth (int): Number of layers.
    n_heads (int): Number of attention heads.
    key_width (Optional[int]): Width of the queries, keys and values of each head; None for
        `width / n_heads`.
    hidden_width (int): Width of the inner layer of the feed-forward networks.
    share_bias (bool): Whether the heads of a layer share one bias. By default, each has its own.
    dropout (float): Dropout on the input of the first layer and the output of each sublayer.
    attention_dropout (float): Dropout on the attention weights.
    pre_norm (bool): Whether to normalize the input of each sublayer (pre-norm) rather than its
        residual sum (post-norm).
    RETURNS (EncoderBuilder): Builds a `TransformerEncoder`.
    RAISES (ValueError): If a value is out of range, or `key_width` is None and `n_heads` does not
        divide the width.
    """
    check_counts(width=width, depth=depth, n_heads=n_heads)
    if key_width is not None:
        check_value("key_width", key_width, lambda n: n >= 1, "at least 1, or null")
    elif width % n_heads:
        raise ValueError(Errors.P220.format(n_heads=n_heads, width=width))
    check_counts(hidden_width=hidden_width)
    check_dropout(dropout=dropout, attention_dropout=attention_dropout)
    return partial(
        build_layer,
        TransformerEncoder,
        positions=positions,
        bias=bias,
        width=width,
        depth=depth,
        n_heads=n_heads,
        key_width=key_width,
        hidden_width=hidden_width,
        share_bias=share_bias,
        dropout=dropout,
        attention_dropout=attention_dropout,
        pre_norm=pre_norm,
    )


@wraps(build_vaswani, assigned=("__module__", "__annotations__"))
def build_earlier_vaswani(*args: Any, **settings: Any) -> EncoderBuilder:
    """Configure the same by its earlier name, `spacy_psa.Transformer.v1`."""
    names = {"old": "spacy_psa.Transformer.v1", "new": "spacy_psa.Vaswani.v1"}
    warn(Warnings.W441.format(**names))
    return build_vaswani(*args, **settings)


def build_sinusoidal_positions() -> EncoderBuilder:
    """Configure sinusoidal position encodings, which are added to the token vectors.

    RETURNS (EncoderBuilder): Builds a `SinusoidalPositions`, as an encoder or as a part of one.
    """
    return partial(_make_positions, SinusoidalPositions)


def build_position_embedding(max_length: int = 512) -> EncoderBuilder:
    """Configure learned embeddings of absolute positions, which are added to the token vectors.

    max_length (int): Number of positions with their own embedding; later ones share the last.
    RETURNS (EncoderBuilder): Builds a `PositionEmbedding`, as an encoder or as a part of one.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(max_length=max_length)
    return partial(_make_positions, PositionEmbedding, max_length=max_length)


def _make_positions(
    layer: Callable[..., nn.Module], width: int, n_labels: int = 0, **settings: Any
) -> nn.Module:
    # A chain calls this as an `EncoderBuilder`, an encoder as a `PartBuilder`.
    return layer(width, **settings)
