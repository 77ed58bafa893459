"""Bidirectional LSTM."""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from .dropout import SharedDropout
from .initialization import lstm
from .mask import PackedLayer, SequenceMask
from .ops import ops_for


class BiLSTM(PackedLayer, nn.Module):
    """A bidirectional LSTM with dropout on its input and its output.

    Each layer is computed by `Ops.bilstm`, so that padding never affects a token.

    input_width (int): Width of the input.
    hidden_width (int): Width of the output, half for each direction.
    depth (int): Number of layers. The output dropout applies between layers, too.
    input_dropout (float): Dropout on the input.
    output_dropout (float): Dropout on the output of each layer.
    variational (bool): Whether dropout uses the same mask for all tokens of a sentence.

    Where the papers are silent or we differ:

    - A 'hidden size' may be that of one direction or of both: `hidden_width` is that of both.
    - The papers do not print the LSTM's equations: it is PyTorch's.
    - Only Wei et al. name an initialization, Glorot's, which all systems have, gate by gate.

    Source: Wei et al. (2021), sections 3 and 5.2 (both dropouts are 0.55); Wang et al. (2021),
    equation 1; Cui and Zhang (2019), section 3.2; Gal and Ghahramani (2016), section 4.1.
    """

    def __init__(
        self,
        input_width: int,
        *,
        hidden_width: int = 300,
        depth: int = 1,
        input_dropout: float = 0.55,
        output_dropout: float = 0.55,
        variational: bool = False,
    ) -> None:
        super().__init__()
        self.width = hidden_width
        half = hidden_width // 2
        # Generators: a list would be as long as the depth, which may be absurdly large
        self.forwards = nn.ModuleList(
            lstm(hidden_width if i else input_width, half) for i in range(depth)
        )
        self.backwards = nn.ModuleList(
            lstm(hidden_width if i else input_width, hidden_width - half) for i in range(depth)
        )
        make = partial(SharedDropout, axis=1) if variational else nn.Dropout
        self.variational = variational
        self.input_dropout = make(input_dropout)
        self.output_dropout = make(output_dropout)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode the tokens of each sentence.

        x (Tensor): Token vectors. Shape: (batch_size, n, input_width), or (tokens, input_width)
            without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, hidden_width), or (tokens, hidden_width).
        """
        # In training, nothing is drawn for padding
        given, x = x, mask.compact(x) if self.training else x
        x = self._dropped(self.input_dropout, x, mask)
        for directions in zip(self.forwards, self.backwards, strict=True):
            states = ops_for(x).bilstm(x, mask, *directions)
            x = self._dropped(self.output_dropout, states, mask)
        return mask.in_form_of(given, x)

    def _dropped(self, dropout: nn.Module, x: Tensor, mask: SequenceMask) -> Tensor:
        """Apply dropout; a mask shared by a sentence needs padding."""
        if not self.training:
            return x
        dropped: Tensor = dropout(mask.unpack(x) if self.variational else x)
        return mask.in_form_of(x, dropped)
