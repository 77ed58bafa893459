"""The deep attentional neural network of Tan et al. (2018)."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor, nn

from .dropout import Dropout
from .linear import Linear
from .mask import SequenceMask
from .multihead import MultiHeadSelfAttention
from .tokens import TakesTokens, on_tokens


class DeepAtt(nn.Module):
    """Layers of a nonlinear sub-layer and a multi-head self-attention each.

    Every sub-layer has a residual connection, with dropout on its own output, and layer
    normalization after it:

        Y = LayerNorm(X + Dropout(Sub-Layer(X)))                      (equation 10)

    What the paper leaves open, or prints otherwise than its authors' code
    (https://github.com/XMUNLP/Tagger) has it:

    - Input of another width than d goes through a linear map; the paper's is as wide as d, and then
      nothing stands before the positions.
    - Dot products are divided by √(d / h), the width of a head, as in the code. Equation 1 prints
      √d, of the attention that is not split into heads yet.
    - Dropout on the attention is dropout on its weights, as in the code; the paper says 'before
      the softmax layer'.
    - Weights of sub-layers are orthogonal. 'Other parameters', here that of the input map, are
      normally distributed with the standard deviation 1 / √d, as in the code; the paper calls this
      the variance. Layer normalization begins with the gain 1 and the offset 0. What stands outside
      of these layers begins as in all systems here, where the code has normal distributions: the
      softmax's weights (uniform, Glorot), and words without a vector (uniform).
    - The code multiplies the input by √d, and has the residual dropout on the sum of input and
      positions; the paper says neither. Choose so with `scale_input` and `input_dropout`.

    input_width (int): Width of the input.
    sublayer (Optional[Callable[[int], nn.Module]]): Makes a nonlinear sub-layer for a width, e.g.
        `FeedForwardSublayer`; None for attention alone (table 3, row 11).
    positions (Optional[Callable[[int], nn.Module]]): Makes the position encoding for a width, e.g.
        `SinusoidalPositions`; None for none (table 3, row 9).
    width (int): Width d of the layers and the output.
    depth (int): Number of layers.
    n_heads (int): Number of heads h of each attention, of which d is a multiple.
    residual_dropout (float): Dropout before each residual connection.
    attention_dropout (float): Dropout on the attention weights.
    input_dropout (float): Dropout on the input, positions included.
    scale_input (bool): Whether to multiply the input by √d before positions are added.

    Source: Tan et al. (2018), 'Deep Attentional Neural Network for SRL' and 'Model Setup'.
    """

    def __init__(
        self,
        input_width: int,
        *,
        sublayer: Callable[[int], nn.Module] | None,
        positions: Callable[[int], nn.Module] | None,
        width: int = 200,
        depth: int = 10,
        n_heads: int = 8,
        residual_dropout: float = 0.2,
        attention_dropout: float = 0.1,
        input_dropout: float = 0.0,
        scale_input: bool = False,
    ) -> None:
        super().__init__()
        self.width = width
        self.input_scale = math.sqrt(width) if scale_input else 1.0
        self.input: nn.Module = nn.Identity()
        if input_width != width:
            self.input = Linear(input_width, width, bias=False)
            nn.init.normal_(self.input.weight, std=width**-0.5)
        self.positions = positions(width) if positions is not None else None
        self.input_dropout = Dropout(input_dropout)
        self.sublayers = nn.ModuleList()
        for _ in range(depth):
            if sublayer is not None:
                self.sublayers.append(ResidualSublayer(sublayer(width), width, residual_dropout))
            attention = _attention(width, n_heads, attention_dropout)
            self.sublayers.append(ResidualSublayer(attention, width, residual_dropout))

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode each token in its sentence.

        x (Tensor): Token vectors. Shape: (batch_size, n, input_width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, width).
        """
        tokens = self.input(mask.pack(x)) * self.input_scale
        if self.positions is not None:
            tokens = on_tokens(self.positions, tokens, mask)
        tokens = self.input_dropout(tokens)
        for sublayer in self.sublayers:
            tokens = sublayer(tokens, mask)
        return mask.unpack(tokens)


class ResidualSublayer(TakesTokens, nn.Module):
    """A sub-layer with its residual connection: LayerNorm(X + Dropout(Sub-Layer(X))).

    sublayer (nn.Module): Maps (batch_size, n, width) and a mask to the same shape.
    width (int): Width of the token vectors.
    dropout (float): Dropout on the sub-layer's output.

    Source: Tan et al. (2018), equation 10.
    """

    def __init__(self, sublayer: nn.Module, width: int, dropout: float) -> None:
        super().__init__()
        self.sublayer = sublayer
        self.dropout = Dropout(dropout)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Transform tokens.

        x (Tensor): Token vectors. Shape: (batch_size, n, width), or (tokens, width) without
            padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Of the same shape.
        """
        tokens = mask.packed(x)
        output = self.norm(tokens + self.dropout(on_tokens(self.sublayer, tokens, mask)))
        return mask.in_form_of(x, output)


def _attention(width: int, n_heads: int, dropout: float) -> MultiHeadSelfAttention:
    attention = MultiHeadSelfAttention(width, n_heads, attention_dropout=dropout)
    for parameter in attention.parameters():
        nn.init.orthogonal_(parameter)
    return attention
