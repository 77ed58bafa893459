"""The nonlinear sub-layers of DeepAtt (Tan et al. 2018).

Each keeps the width of its input and has orthogonal weights. There are no biases where the paper's
equations have none: the preceding layer normalization has already shifted the input.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import glu

from .dropout import Dropout
from .inspection import is_watched
from .linear import Linear
from .mask import SequenceMask
from .recurrent import BiLSTM
from .tokens import Tokenwise


class FeedForwardSublayer(Tokenwise, nn.Module):
    """Two linear maps of each token with a ReLU in between: ReLU(X W₁) W₂.

    width (int): Width d of the token vectors, input and output.
    hidden_width (int): Width h_f of the hidden layer.
    dropout (float): Dropout on the hidden layer. (Applying it before the ReLU, as the paper says,
        or after it is the same.)

    Source: Tan et al. (2018), equation 9.
    """

    def __init__(self, width: int, *, hidden_width: int = 800, dropout: float = 0.1) -> None:
        super().__init__()
        self.width = width
        self.hidden = Linear(width, hidden_width, bias=False)
        self.output = Linear(hidden_width, width, bias=False)
        self.dropout = Dropout(dropout)
        for layer in (self.hidden, self.output):
            nn.init.orthogonal_(layer.weight)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Transform each token.

        x (Tensor): Token vectors. Shape: (batch_size, n, width), or (tokens, width) without
            padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The same shape.
        """
        hidden = self.hidden(x)
        hidden = hidden.relu() if is_watched(self.hidden) else hidden.relu_()
        return self.output(self.dropout(hidden))


class RecurrentSublayer(Tokenwise, nn.Module):
    """A bidirectional LSTM whose directions are summed to keep the width.

        y_t = h→_t + h←_t

    The matrices of each gate are orthogonal. The biases are normally distributed with variance
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

    Sentences are padded with zeros, whatever the padding of the batch contains.

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
