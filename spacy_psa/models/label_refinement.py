"""Registered blocks of BiLSTM-LAN and structured refinement. What each of them computes is
documented in `spacy_psa.layers`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from ..errors import Errors, check_counts, check_value
from ..layers.interfaces import width_of
from ..layers.label_attention import (
    LabelAttention,
    LabelAttentionDecoder,
    LinearProjection,
    ReLUProjection,
)
from ..layers.label_marginals import LabelCRFDecoder, LabelMarginals
from ..layers.label_parameters import LabelEmbeddings, LabelSet, LabelTransitions
from ..layers.mask import Chain
from ..layers.refinement import Concatenation, LabelRefinement, RefiningLayer, ResidualNorm
from .types import DecoderBuilder, EncoderBuilder, PartBuilder, check_dropout

LabelSetBuilder = Callable[[int, int], LabelSet]
"""(width, number of labels) → the label parameters that the layers of one network use."""

RefineBuilder = Callable[[LabelSet], nn.Module]
"""(label set) → a part that attends to labels: it maps hidden states (tokens, d) and a
`SequenceMask` to refined states (tokens, d) and distributions over labels (tokens, heads, L); or
(batch_size, n, d), with padding, likewise."""


def build_label_refinement(
    recurrent: EncoderBuilder,
    refine: RefineBuilder,
    connection: PartBuilder,
    labels: LabelSetBuilder,
    depth: int = 3,
    input_dropout: float = 0.5,
) -> EncoderBuilder:
    """Configure encoder layers interleaved with attention to labels.

    recurrent (EncoderBuilder): The encoder of each layer, e.g. `spacy_psa.BiLSTM.v1`. Each layer
        has its own parameters; all have the same width.
    refine (RefineBuilder): The attention to labels: `spacy_psa.LabelAttention.v1` (BiLSTM-LAN) or
        `spacy_psa.LabelMarginals.v1` (structured refinement).
    connection (PartBuilder): How the output of `refine` is combined with the encoder's:
        `spacy_psa.Concatenation.v1` or `spacy_psa.ResidualNorm.v1`.
    labels (LabelSetBuilder): Which label parameters are shared: `spacy_psa.LabelSet.v1`.
    depth (int): Number of encoders. Each but the last is followed by attention to labels; the last
        is followed by the decoder. So this is the number of layers of BiLSTM-LAN (3 in the paper),
        and one more than the number L of refinement layers (1 in the paper).
    input_dropout (float): Dropout on the input of the first layer (0.5 in Wang et al. 2021, and in
        the published code of BiLSTM-LAN).
    RETURNS (EncoderBuilder): Builds a `LabelRefinement`.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(depth=depth)
    check_dropout(input_dropout=input_dropout)
    return partial(
        _make_label_refinement,
        recurrent,
        refine,
        connection,
        labels,
        depth=depth,
        input_dropout=input_dropout,
    )


def _make_label_refinement(
    recurrent: EncoderBuilder,
    refine: RefineBuilder,
    connection: PartBuilder,
    labels: LabelSetBuilder,
    input_width: int,
    n_labels: int,
    *,
    depth: int,
    input_dropout: float,
) -> LabelRefinement:
    encoder = recurrent(input_width, n_labels)
    label_set = labels(width_of(encoder), n_labels)
    layers: list[RefiningLayer] = []
    for i in range(1, depth):
        layers.append(RefiningLayer(encoder, refine(label_set), connection(label_set.width)))
        encoder = recurrent(layers[-1].width, n_labels)
        width = width_of(encoder)
        if width != label_set.width:
            problem = {"layer": i + 1, "width": width, "expected": label_set.width}
            raise ValueError(Errors.P211.format(**problem))
    return LabelRefinement(
        layers,
        encoder,
        labels=label_set.shared_embeddings,
        transitions=label_set.shared_transitions,
        label_deviation=label_set.deviation,
        input_dropout=input_dropout,
    )


def build_label_set(
    tie_embeddings: bool = True,
    tie_transitions: bool = True,
    n_latent: int | None = None,
    deviation: float | None = None,
) -> LabelSetBuilder:
    """Configure which label parameters the layers share with each other and the decoder.

    tie_embeddings (bool): Whether to share the label embeddings.
    tie_transitions (bool): Whether to share the transitions.
    n_latent (Optional[int]): Number of latent labels in the refining layers, which need not be the
        task's if nothing is shared (table 7 of Wang et al. 2021). None for the task's labels.
    deviation (Optional[float]): The standard deviation of the initial label embeddings, including
        the decoder's: 1.0 for label attention, which scales by the width; None for 1 / √width, for
        emissions.
    RETURNS (LabelSetBuilder): Builds a `LabelSet`.
    RAISES (ValueError): If a value is out of range, or `n_latent` is set and parameters are shared.
    """
    if n_latent is not None:
        check_value("n_latent", n_latent, lambda n: n >= 1, "at least 1, or empty")
        if tie_embeddings or tie_transitions:
            raise ValueError(Errors.P212.format(n_latent=n_latent))
    if deviation is not None:
        check_value("deviation", deviation, lambda n: n > 0, "greater than 0, or empty")
    return partial(
        LabelSet,
        tie_embeddings=tie_embeddings,
        tie_transitions=tie_transitions,
        n_latent=n_latent,
        deviation=deviation,
    )


def build_label_attention(
    projection: PartBuilder, heads: int = 5, dropout: float = 0.0
) -> RefineBuilder:
    """Configure BiLSTM-LAN's multi-head attention of tokens to labels.

    projection (PartBuilder): Projects queries, keys and values: `spacy_psa.LinearProjection.v1`
        as in the paper's equations, or `spacy_psa.ReLUProjection.v1` as in its published code.
    heads (int): Number of heads. Must divide the width. (5 in the published code; the paper does
        not say.)
    dropout (float): Dropout on the attention weights: 0.0 in the paper, 0.5 in the published code.
    RETURNS (RefineBuilder): Builds a `LabelAttention`.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(heads=heads)
    check_dropout(dropout=dropout)
    return partial(_make_label_attention, projection=projection, heads=heads, dropout=dropout)


def _make_label_attention(label_set: LabelSet, **settings: Any) -> LabelAttention:
    return LabelAttention(label_set.embeddings(), **settings)


def build_label_marginals() -> RefineBuilder:
    """Configure structured attention of tokens to labels, weighted by the marginals of a CRF.

    RETURNS (RefineBuilder): Builds a `LabelMarginals`.
    """
    return _make_label_marginals


def _make_label_marginals(label_set: LabelSet) -> LabelMarginals:
    return LabelMarginals(label_set.embeddings(), label_set.transitions())


def build_linear_projection(bias: bool = False) -> PartBuilder:
    """Configure a linear projection.

    bias (bool): Whether to add a bias.
    RETURNS (PartBuilder): Builds a `LinearProjection`.
    """
    return partial(LinearProjection, bias=bias)


def build_relu_projection(bias: bool = True) -> PartBuilder:
    """Configure a linear projection followed by a ReLU.

    bias (bool): Whether to add a bias.
    RETURNS (PartBuilder): Builds a `ReLUProjection`.
    """
    return partial(ReLUProjection, bias=bias)


def build_concatenation(residual: bool = True) -> PartBuilder:
    """Configure BiLSTM-LAN's connection: the concatenation of hidden and refined states.

    residual (bool): Whether to add the hidden states to the refined ones (Cui and Zhang 2019).
        Without it, this is equation 4 of Wang et al. (2021).
    RETURNS (PartBuilder): Builds a `Concatenation`.
    """
    return partial(Concatenation, residual=residual)


def build_residual_norm() -> PartBuilder:
    """Configure structured refinement's connection: a residual sum and layer normalization.

    RETURNS (PartBuilder): Builds a `ResidualNorm`.
    """
    return ResidualNorm


def build_label_attention_decoder(
    projection: PartBuilder | None, scaled: bool = True
) -> DecoderBuilder:
    """Configure BiLSTM-LAN's output layer, which predicts with single-head attention weights.

    If the encoder shares its label embeddings, the decoder uses those; otherwise it has its own.

    projection (Optional[PartBuilder]): Projects tokens and labels: `spacy_psa.LinearProjection.v1`
        as the paper's equations and parameter counts suggest, `spacy_psa.ReLUProjection.v1` as in
        its published code, or None.
    scaled (bool): Whether to divide the scores by the square root of the width. Without projection
        and scaling, this is a softmax layer without bias (section 4.5 of Cui and Zhang 2019).
    RETURNS (DecoderBuilder): Builds a `LabelAttentionDecoder`.
    """
    return partial(_make_label_attention_decoder, projection, scaled)


def _make_label_attention_decoder(
    projection: PartBuilder | None, scaled: bool, encoder: nn.Module, n_labels: int
) -> LabelAttentionDecoder:
    # Divided by the root of the width, small embeddings make a flat distribution, and slow learning
    labels = _embeddings(encoder, n_labels, deviation=1.0 if scaled else None)
    return LabelAttentionDecoder(labels, projection=projection, scaled=scaled)


def build_label_crf() -> DecoderBuilder:
    """Configure structured refinement's output layer: a CRF whose emissions are dot products of
    token vectors and label embeddings.

    If the encoder shares its label embeddings or transitions, the decoder uses those; otherwise it
    has its own.

    RETURNS (DecoderBuilder): Builds a `LabelCRFDecoder`.
    """
    return _make_label_crf


def _make_label_crf(encoder: nn.Module, n_labels: int) -> LabelCRFDecoder:
    transitions = _offer(encoder, "transitions")
    if transitions is None:
        transitions = LabelTransitions(n_labels)
    return LabelCRFDecoder(_embeddings(encoder, n_labels), transitions)


def _embeddings(
    encoder: nn.Module, n_labels: int, *, deviation: float | None = None
) -> LabelEmbeddings:
    labels = _offer(encoder, "labels")
    if labels is not None:
        return labels
    deviation = _offer(encoder, "label_deviation", deviation)
    return LabelEmbeddings(n_labels, width_of(encoder), deviation=deviation)


def _offer(encoder: nn.Module, name: str, default: Any = None) -> Any:
    """What an encoder shares with its decoder under this name; in a chain, the last encoder."""
    while isinstance(encoder, Chain) and len(encoder.encoders):
        encoder = encoder.encoders[-1]
    return getattr(encoder, name, default)
