"""DeepAtt and its registered sub-layers. What each of them computes is documented in
`spacy_psa.layers`.
"""

from functools import partial

from ..errors import check_counts, check_value
from ..layers import ConvolutionSublayer, DeepAtt, FeedForwardSublayer, RecurrentSublayer
from .types import EncoderBuilder, PartBuilder, build_layer, check_dropout


def build_deepatt(
    sublayer: PartBuilder | None,
    positions: PartBuilder | None,
    width: int = 200,
    depth: int = 10,
    n_heads: int = 8,
    residual_dropout: float = 0.2,
    attention_dropout: float = 0.1,
    input_dropout: float = 0.0,
    scale_input: bool = False,
) -> EncoderBuilder:
    """Configure a deep attentional neural network.

    sublayer (Optional[PartBuilder]): The nonlinear sub-layer of each layer, e.g.
        `spacy_psa.FeedForwardSublayer.v1`; None for attention alone.
    positions (Optional[PartBuilder]): The position encoding, or None.
    width (int): Width of the layers and the output.
    depth (int): Number of layers.
    n_heads (int): Number of attention heads per layer. Must divide the width.
    residual_dropout (float): Dropout before each residual connection.
    attention_dropout (float): Dropout on the attention weights.
    input_dropout (float): Dropout on the input, including positions.
    scale_input (bool): Whether to multiply the input by the square root of the width.
    RETURNS (EncoderBuilder): Builds a `DeepAtt`.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(n_heads=n_heads)
    check_value(
        "width", width, lambda n: n >= 1 and n % n_heads == 0, f"a multiple of n_heads ({n_heads})"
    )
    check_counts(depth=depth)
    check_dropout(
        residual_dropout=residual_dropout,
        attention_dropout=attention_dropout,
        input_dropout=input_dropout,
    )
    return partial(
        build_layer,
        DeepAtt,
        sublayer=sublayer,
        positions=positions,
        width=width,
        depth=depth,
        n_heads=n_heads,
        residual_dropout=residual_dropout,
        attention_dropout=attention_dropout,
        input_dropout=input_dropout,
        scale_input=scale_input,
    )


def build_feed_forward_sublayer(hidden_width: int = 800, dropout: float = 0.1) -> PartBuilder:
    """Configure a feed-forward sub-layer.

    hidden_width (int): Width of the hidden layer.
    dropout (float): Dropout on the hidden layer.
    RETURNS (PartBuilder): Builds a `FeedForwardSublayer`.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(hidden_width=hidden_width)
    check_dropout(dropout=dropout)
    return partial(FeedForwardSublayer, hidden_width=hidden_width, dropout=dropout)


def build_recurrent_sublayer() -> PartBuilder:
    """Configure a recurrent sub-layer, a BiLSTM whose two directions are summed.

    RETURNS (PartBuilder): Builds a `RecurrentSublayer`.
    """
    return RecurrentSublayer


def build_convolution_sublayer(kernel_size: int = 3) -> PartBuilder:
    """Configure a convolutional sub-layer with gated linear units.

    kernel_size (int): Number of tokens that a filter sees, including the central one.
    RETURNS (PartBuilder): Builds a `ConvolutionSublayer`.
    RAISES (ValueError): If the kernel size is not a positive odd number.
    """
    check_value(
        "kernel_size", kernel_size, lambda n: n >= 1 and n % 2 == 1, "an odd number, at least 1"
    )
    return partial(ConvolutionSublayer, kernel_size=kernel_size)
