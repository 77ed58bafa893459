"""BiLSTM-LAN and structured refinement: what a config can name. What it computes stands in
`spacy_psa.layers`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from ..errors import Errors
from ..layers.chain import Chain
from ..layers.interfaces import width_of
from ..layers.label_attention import (
    LabelAttention,
    LabelAttentionDecoder,
    LinearProjection,
    ReLUProjection,
)
from ..layers.label_marginals import LabelCRFDecoder, LabelMarginals
from ..layers.labels import LabelEmbeddings, LabelSet, LabelTransitions
from ..layers.refinement import Concatenation, LabelRefinement, RefiningLayer, ResidualNorm
from .types import DecoderBuilder, EncoderBuilder, PartBuilder, check_dropout, check_value

LabelSetBuilder = Callable[[int, int], LabelSet]
"""(width, number of labels) → what the layers of one network get their labels from."""

RefineBuilder = Callable[[LabelSet], nn.Module]
"""(label set) → a part that attends to labels: it maps hidden states (tokens, d) and a
`SequenceMask` to what labels say about them, (tokens, d), and to the distributions over labels,
(tokens, heads, L)."""


def build_label_refinement(
    recurrent: EncoderBuilder,
    refine: RefineBuilder,
    connection: PartBuilder,
    labels: LabelSetBuilder,
    depth: int = 3,
    input_dropout: float = 0.5,
) -> EncoderBuilder:
    """Configure encoders that take turns with attention to labels.

    recurrent (EncoderBuilder): The encoder of each layer, e.g. `spacy_psa.BiLSTM.v1`. Each layer
        has its own parameters, and all are of the same width.
    refine (RefineBuilder): What attends to labels: `spacy_psa.LabelAttention.v1` (BiLSTM-LAN) or
        `spacy_psa.LabelMarginals.v1` (structured refinement).
    connection (PartBuilder): How its output is connected with the encoder's:
        `spacy_psa.Concatenation.v1` or `spacy_psa.ResidualNorm.v1`.
    labels (LabelSetBuilder): Which parameters of labels are shared: `spacy_psa.LabelSet.v1`.
    depth (int): Number of encoders. After each but the last comes an attention to labels; that of
        the last one is the decoder. So this is the number of layers of BiLSTM-LAN (3 in the
        paper), and one more than the number L of refinement layers (1 in the paper).
    input_dropout (float): Dropout on the input of the first layer (0.5 in both papers).
    RETURNS (EncoderBuilder): Builds a `LabelRefinement`.
    RAISES (ValueError): If a value is out of its range.
    """
    check_value("depth", depth, depth >= 1, "at least 1")
    check_dropout("input_dropout", input_dropout)
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
    """Configure which parameters of labels the layers share with each other and the decoder.

    tie_embeddings (bool): Whether all have the same label embeddings.
    tie_transitions (bool): Whether all have the same transitions.
    n_latent (Optional[int]): Number of labels of the refining layers, if they share nothing: they
        need not be those of the task then (table 7 of Wang et al. 2021). None for the task's.
    deviation (Optional[float]): The standard deviation that label embeddings start from, those of a
        decoder as well: 1.0 for label attention, which scales by the width; None for 1 / √width,
        for emissions.
    RETURNS (LabelSetBuilder): Builds a `LabelSet`.
    RAISES (ValueError): If labels of the decoder and others were to be shared.
    """
    if n_latent is not None:
        check_value("n_latent", n_latent, n_latent >= 1, "at least 1, or empty")
        if tie_embeddings or tie_transitions:
            raise ValueError(Errors.P212.format(n_latent=n_latent))
    if deviation is not None:
        check_value("deviation", deviation, deviation > 0, "greater than 0, or empty")
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
    """Configure the multi-head attention of tokens to labels of BiLSTM-LAN.

    projection (PartBuilder): Projects queries, keys and values: `spacy_psa.LinearProjection.v1`
        as in the paper's equations, or `spacy_psa.ReLUProjection.v1` as in its published code.
    heads (int): Number of heads; has to divide the width. (The paper's text does not give it; it
        is 5 in the published code.)
    dropout (float): Dropout on the attention weights: 0.0 in the paper, 0.5 in the published code.
    RETURNS (RefineBuilder): Builds a `LabelAttention`.
    RAISES (ValueError): If a value is out of its range.
    """
    check_value("heads", heads, heads >= 1, "at least 1")
    check_dropout("dropout", dropout)
    return partial(_make_label_attention, projection=projection, heads=heads, dropout=dropout)


def _make_label_attention(label_set: LabelSet, *, heads: int, **settings: Any) -> LabelAttention:
    if label_set.width % heads:
        raise ValueError(Errors.P213.format(heads=heads, width=label_set.width))
    return LabelAttention(label_set.embeddings(), heads=heads, **settings)


def build_label_marginals() -> RefineBuilder:
    """Configure the structured attention of tokens to labels, by the marginals of a CRF.

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
    """Configure a linear projection with a ReLU behind it.

    bias (bool): Whether to add a bias.
    RETURNS (PartBuilder): Builds a `ReLUProjection`.
    """
    return partial(ReLUProjection, bias=bias)


def build_concatenation(residual: bool = True) -> PartBuilder:
    """Configure the connection of BiLSTM-LAN: hidden and refined states side by side.

    residual (bool): Whether to add the hidden states to the refined ones (Cui and Zhang 2019); if
        not, it is equation 4 of Wang et al. (2021).
    RETURNS (PartBuilder): Builds a `Concatenation`.
    """
    return partial(Concatenation, residual=residual)


def build_residual_norm() -> PartBuilder:
    """Configure the connection of structured refinement: a residual and layer normalization.

    RETURNS (PartBuilder): Builds a `ResidualNorm`.
    """
    return ResidualNorm


def build_label_attention_decoder(
    projection: PartBuilder | None, scaled: bool = True
) -> DecoderBuilder:
    """Configure the output of BiLSTM-LAN: attention weights of a single head are the prediction.

    The label embeddings are those that the encoder shares, or else its own.

    projection (Optional[PartBuilder]): Projects tokens and labels: `spacy_psa.LinearProjection.v1`
        as the paper's equations and numbers of parameters suggest, `spacy_psa.ReLUProjection.v1`
        as in its published code, or None for none.
    scaled (bool): Whether to divide by the square root of the width. Without projection and
        scale, this is a softmax layer without bias (section 4.5 of Cui and Zhang 2019).
    RETURNS (DecoderBuilder): Builds a `LabelAttentionDecoder`.
    """
    return partial(_make_label_attention_decoder, projection, scaled)


def _make_label_attention_decoder(
    projection: PartBuilder | None, scaled: bool, encoder: nn.Module, n_labels: int
) -> LabelAttentionDecoder:
    labels = _embeddings(encoder, n_labels)
    return LabelAttentionDecoder(labels, projection=projection, scaled=scaled)


def build_label_crf() -> DecoderBuilder:
    """Configure the output of structured refinement: a CRF whose emissions are the products of
    token vectors and label embeddings.

    Label embeddings and transitions are those that the encoder shares, or else its own.

    RETURNS (DecoderBuilder): Builds a `LabelCRFDecoder`.
    """
    return _make_label_crf


def _make_label_crf(encoder: nn.Module, n_labels: int) -> LabelCRFDecoder:
    transitions = _offer(encoder, "transitions")
    if transitions is None:
        transitions = LabelTransitions(n_labels)
    return LabelCRFDecoder(_embeddings(encoder, n_labels), transitions)


def _embeddings(encoder: nn.Module, n_labels: int) -> LabelEmbeddings:
    labels = _offer(encoder, "labels")
    if labels is not None:
        return labels
    deviation = _offer(encoder, "label_deviation")
    return LabelEmbeddings(n_labels, width_of(encoder), deviation=deviation)


def _offer(encoder: nn.Module, name: str) -> Any:
    """What an encoder shares with its decoder under this name; of a chain, the last one."""
    while isinstance(encoder, Chain) and len(encoder.encoders):
        encoder = encoder.encoders[-1]
    return getattr(encoder, name, None)
