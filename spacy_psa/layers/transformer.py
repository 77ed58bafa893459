"""The Transformer encoder (Vaswani et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .initialization import linear
from .mask import PackedLayer, SequenceMask, apply_packed
from .multihead import MultiHeadSelfAttention


class FeedForward(nn.Module):
    """For each token, max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, equation 2)."""

    def __init__(self, width: int, hidden_width: int) -> None:
        super().__init__()
        self.hidden = linear(width, hidden_width)
        self.output = linear(hidden_width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Transform tokens independently."""
        return self.output(torch.relu(self.hidden(x)))


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(sublayer(x))) (Vaswani et al. 2017, sections 3.1 and 5.4)."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Run a sublayer inside the residual connection."""
        return self.norm(x + self.dropout(sublayer(x)))


class PreNorm(PostNorm):
    """Normalize only the input of the sublayer: x + Dropout(sublayer(LayerNorm(x))).

    Gradients reach the lowest layers unchanged, so deep stacks train without warm-up (Xiong et al.
    2020, 'On layer normalization in the Transformer architecture').
    """

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Run a sublayer inside the residual connection. See `PostNorm.forward`."""
        return x + self.dropout(sublayer(self.norm(x)))


class TransformerLayer(PackedLayer, nn.Module):
    """Multi-head self-attention and a feed-forward network, each with a residual connection.

    attention (MultiHeadSelfAttention): The attention.
    hidden_width (int): Width of the feed-forward network's inner layer.
    dropout (float): Dropout on the output of both.
    residual (Callable[[int, float], nn.Module]): Creates a residual connection for a width and a
        dropout: `PostNorm` or `PreNorm`.

    Source: Vaswani et al. (2017), section 3.1.
    """

    def __init__(
        self,
        attention: MultiHeadSelfAttention,
        *,
        hidden_width: int = 1024,
        dropout: float = 0.1,
        residual: Callable[[int, float], nn.Module] = PostNorm,
    ) -> None:
        super().__init__()
        self.width = attention.width
        self.attention = attention
        self.feed_forward = FeedForward(self.width, hidden_width)
        self.around_attention = residual(self.width, dropout)
        self.around_feed_forward = residual(self.width, dropout)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode tokens.

        x (Tensor): Token vectors. Shape: (batch_size, n, width), or (tokens, width) without
            padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The same shape.
        """
        x = self.around_attention(x, lambda x: self.attention(x, mask))
        return self.around_feed_forward(x, self.feed_forward)


class TransformerEncoder(PackedLayer, nn.Module):
    """A stack of Transformer layers over projected token vectors.

        x_0 = Dropout(positions(W x + b)),   x_l = layer_l(x_{l−1})

    input_width (int): Width of the input.
    width (int): Width of the model and the output.
    depth (int): Number of layers.
    n_heads (int): Number of attention heads.
    key_width (Optional[int]): Width of the queries, keys and values of each head; width / n_heads
        by default.
    hidden_width (int): Width of the inner layer of the feed-forward networks.
    positions (Optional[Callable[[int], nn.Module]]): Creates the encoding of absolute positions for
        a width, e.g. `SinusoidalPositions`; None for none.
    bias (Optional[Callable[[int], nn.Module]]): Creates the positional bias of the attention for a
        width, e.g. `PSABias`; None for none.
    share_bias (bool): Whether the heads of a layer share one bias. See `MultiHeadSelfAttention`.
    dropout (float): Dropout on the input of the first layer and on the output of each sublayer.
    attention_dropout (float): Dropout on the attention weights.
    pre_norm (bool): Whether to normalize the input of the sublayers (and the encoder's output)
        instead of the sum in the residual connection.
    RAISES (ValueError): If `n_heads` does not divide the width and `key_width` is None.

    Where the papers are silent or we differ:

    - Table 10 comes with widths and heads (64, 512, 1024 and 8), but no dropout: 0.1, as in
      Vaswani et al. (2017).
    - Its 'absolute position embedding' is taken to be that of Vaswani et al. (2017), sinusoids.

    Source: Vaswani et al. (2017), section 3; Wei et al. (2021), table 10 (width 512, 8 heads of 64,
    an inner layer of 1024, 1 to 3 layers; absolute positions, or PSA's bias instead).
    """

    def __init__(
        self,
        input_width: int,
        *,
        width: int = 512,
        depth: int = 1,
        n_heads: int = 8,
        key_width: int | None = 64,
        hidden_width: int = 1024,
        positions: Callable[[int], nn.Module] | None = None,
        bias: Callable[[int], nn.Module] | None = None,
        share_bias: bool = False,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        pre_norm: bool = False,
    ) -> None:
        super().__init__()
        self.width = width
        self.input = linear(input_width, width)
        self.positions = None if positions is None else positions(width)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            TransformerLayer(
                MultiHeadSelfAttention(
                    width,
                    n_heads,
                    key_width=key_width,
                    bias=bias,
                    share_bias=share_bias,
                    attention_dropout=attention_dropout,
                ),
                hidden_width=hidden_width,
                dropout=dropout,
                residual=PreNorm if pre_norm else PostNorm,
            )
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width) if pre_norm else None

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode tokens.

        x (Tensor): Token vectors. Shape: (batch_size, n, input_width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, width).
        """
        tokens = self.input(mask.compact(x))
        if self.positions is not None:
            tokens = apply_packed(self.positions, tokens, mask)
        tokens = self.dropout(tokens)
        for layer in self.layers:
            tokens = layer(tokens, mask)
        return mask.in_form_of(x, tokens if self.norm is None else self.norm(tokens))
