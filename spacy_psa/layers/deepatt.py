"""The deep attentional neural network of Tan et al. (2018)."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.functional import glu

from .mask import PackedLayer, SequenceMask, apply_packed
from .multihead import MultiHeadSelfAttention
from .recurrent import BiLSTM


class DeepAtt(PackedLayer, nn.Module):
    """A stack of layers, each a nonlinear sub-layer followed by multi-head self-attention.

    Every sub-layer has dropout on its output, a residual connection and then layer normalization:

        Y = LayerNorm(X + Dropout(Sub-Layer(X)))                      (equation 10)

    Where the paper is silent or we differ ('the code' is https://github.com/XMUNLP/Tagger):

    - Input of a width other than d goes through a linear map. The paper's input has width d, which
      needs no map.
    - Dot products are divided by √(d / h), the root of a head's width, as in the code. Equation 1
      prints √d, for attention that is not yet split into heads.
    - Attention dropout applies to the attention weights, as in the code. The paper says 'before the
      attention softmax layer'.
    - Sub-layer weights are orthogonal. 'Other parameters', here those of the input map, are drawn
      from a normal distribution with standard deviation 1 / √d, as in the code; the paper calls
      this the variance. Layer normalization starts with gain 1 and offset 0. Parameters outside
      these layers are initialized as everywhere in this package: the softmax's weights with
      Glorot's uniform distribution, words without a vector uniformly. The code draws both from
      normal distributions.
    - Sub-layers, softmax and input map have no biases, as in equations 8, 9 and 15; the code has.
    - The code multiplies the input by √d and applies the residual dropout to the sum of input and
      positions. The paper mentions neither. The config for its tables of semantic roles has both
      (`scale_input`, `input_dropout`), those for other targets have neither.

    input_width (int): Width of the input.
    sublayer (Optional[Callable[[int], nn.Module]]): Creates a nonlinear sub-layer for a width, e.g.
        `FeedForwardSublayer`; None for attention alone (table 3, row 11).
    positions (Optional[Callable[[int], nn.Module]]): Creates the position encoding for a width,
        e.g. `SinusoidalPositions`; None for none (table 3, row 9).
    width (int): Width d of the layers and the output.
    depth (int): Number of layers.
    n_heads (int): Number of attention heads h; it must divide d.
    residual_dropout (float): Dropout before each residual connection.
    attention_dropout (float): Dropout on the attention weights.
    input_dropout (float): Dropout on the input, including positions.
    scale_input (bool): Whether to multiply the input by √d before adding positions.

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
            self.input = nn.Linear(input_width, width, bias=False)
            nn.init.normal_(self.input.weight, std=width**-0.5)
        self.positions = positions(width) if positions is not None else None
        self.input_dropout = nn.Dropout(input_dropout)
        self.sublayers = nn.ModuleList()
        for _ in range(depth):
            if sublayer is not None:
                self.sublayers.append(ResidualSublayer(sublayer(width), width, residual_dropout))
            attention = _attention(width, n_heads, attention_dropout)
            self.sublayers.append(ResidualSublayer(attention, width, residual_dropout))

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode the tokens of each sentence.

        x (Tensor): Token vectors. Shape: (batch_size, n, input_width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, width).
        """
        tokens = self.input(mask.compact(x)) * self.input_scale
        if self.positions is not None:
            tokens = apply_packed(self.positions, tokens, mask)
        tokens = self.input_dropout(tokens)
        for sublayer in self.sublayers:
            tokens = sublayer(tokens, mask)
        return mask.in_form_of(x, tokens)


class ResidualSublayer(PackedLayer, nn.Module):
    """A sub-layer with its residual connection: LayerNorm(X + Dropout(Sub-Layer(X))).

    Where the paper is silent or we differ: see `DeepAtt`.

    Source: Tan et al. (2018), equation 10.
    """

    def __init__(self, sublayer: nn.Module, width: int, dropout: float) -> None:
        super().__init__()
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Transform tokens (batch_size, n, width), or (tokens, width) without padding."""
        tokens = mask.compact(x)
        output = self.norm(tokens + self.dropout(apply_packed(self.sublayer, tokens, mask)))
        return mask.in_form_of(x, output)


def _attention(width: int, n_heads: int, dropout: float) -> MultiHeadSelfAttention:
    attention = MultiHeadSelfAttention(width, n_heads, attention_dropout=dropout)
    for parameter in attention.parameters():
        nn.init.orthogonal_(parameter)
    return attention


class FeedForwardSublayer(PackedLayer, nn.Module):
    """Two linear maps of each token with a ReLU in between: ReLU(X W₁) W₂.

    width (int): Width d of the token vectors, input and output.
    hidden_width (int): Width h_f of the hidden layer.
    dropout (float): Dropout on the hidden layer.

    Where the paper is silent or we differ:

    - Dropout follows the ReLU; applied before it, as the paper says, it is the same.

    Source: Tan et al. (2018), equation 9.
    """

    def __init__(self, width: int, *, hidden_width: int = 800, dropout: float = 0.1) -> None:
        super().__init__()
        self.width = width
        self.hidden = nn.Linear(width, hidden_width, bias=False)
        self.output = nn.Linear(hidden_width, width, bias=False)
        self.dropout = nn.Dropout(dropout)
        for layer in (self.hidden, self.output):
            nn.init.orthogonal_(layer.weight)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Transform each token.

        x (Tensor): Token vectors. Shape: (batch_size, n, width), or (tokens, width) without
            padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The same shape.
        """
        return self.output(self.dropout(self.hidden(x).relu()))


class RecurrentSublayer(PackedLayer, nn.Module):
    """A bidirectional LSTM whose directions are summed to keep the width.

        y_t = h→_t + h←_t

    Where the paper is silent or we differ:

    - The matrices of each gate are orthogonal. The biases are normally distributed with variance
      1 / d, like all parameters that are not weight matrices of sub-layers (see `DeepAtt`); of the
      two biases that PyTorch adds, one is zero.

    width (int): Width d of the token vectors, and of each direction.

    Source: Tan et al. (2018), equations 5 to 7.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.bilstm = BiLSTM(width, hidden_width=2 * width, input_dropout=0.0, output_dropout=0.0)
        for name, parameter in self.bilstm.named_parameters():
            if "weight" in name:
                for gate in parameter.chunk(4):
                    nn.init.orthogonal_(gate)
            elif "bias_ih" in name:
                nn.init.normal_(parameter, std=width**-0.5)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Read the sentences in both directions.

        x (Tensor): Token vectors. Shape: (batch_size, n, width), or (tokens, width) without
            padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The same shape.
        """
        return self.bilstm(x, mask).unflatten(-1, (2, self.width)).sum(dim=-2)


class ConvolutionSublayer(nn.Module):
    """A convolution over adjacent tokens, gated by another: (X ∗ W) ⊙ σ(X ∗ V).

    Where the paper is silent or we differ:

    - Sentences are padded with zeros at both ends, whatever the padding of the batch contains.

    width (int): Width d of the token vectors, input and output.
    kernel_size (int): Width k of the filters in tokens, including the middle one. Odd.

    Source: Tan et al. (2018), equation 8; Dauphin et al. (2017), gated linear units.
    """

    def __init__(self, width: int, *, kernel_size: int = 3) -> None:
        super().__init__()
        self.width = width
        # W and V, stacked
        self.filters = nn.Conv1d(
            width, 2 * width, kernel_size, padding=kernel_size // 2, bias=False
        )
        for filters in self.filters.weight.chunk(2):
            nn.init.orthogonal_(filters)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Convolve the tokens of each sentence.

        x (Tensor): Token vectors. Shape: (batch_size, n, width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, width).
        """
        if mask.is_padded:
            x = x.masked_fill(~mask.positions.unsqueeze(2), 0.0)
        return glu(self.filters(x.mT), dim=1).mT
