"""Word representations from characters."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .initialization import glorot_, lstm, uniform_embedding_
from .mask import SequenceMask
from .ops import ops_for


class CharacterBiLSTM(nn.Module):
    """The last states of a bidirectional LSTM over the characters of a word.

    n_characters (int): Rows of the embedding table; row 0 is padding.
    embedding_width (int): Width of a character's embedding.
    width (int): Width of a word's representation, half for each direction.

    Where the papers are silent or we differ:

    - The last states of both directions represent a word, as in Lample et al. (2016), to whom the
      papers refer.
    - Characters have no dropout. The code of Cui and Zhang passes its rate on to this layer.

    Source: Wei et al. (2021), section 5.2 (30 and 100); Cui and Zhang (2019), section 3.1.
    """

    def __init__(self, n_characters: int, *, embedding_width: int = 30, width: int = 100) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(n_characters, embedding_width)
        uniform_embedding_(self.embedding.weight)
        self.forwards = lstm(embedding_width, width // 2)
        self.backwards = lstm(embedding_width, width - width // 2)

    def forward(self, characters: Tensor, lengths: Tensor) -> Tensor:
        """Represent words.

        characters (Tensor): Rows of the table, words sorted by length, longest first.
            Shape: (words, longest word), integers.
        lengths (Tensor): Length of each word in characters, at least one. Shape: (words,), on the
            CPU.
        RETURNS (Tensor): Shape: (words, width).
        """
        mask = SequenceMask(lengths.to(characters.device), characters.shape[1])
        parts = self.embedding, self.forwards, self.backwards
        return ops_for(characters).last_states(characters, mask, *parts)


class CharacterCNN(nn.Module):
    """A convolution over the characters of a word, with max pooling.

        c_t = W [e_{t−k+1}; …; e_t] + b,   word = tanh(max_t c_t)

    over all windows of k characters that contain at least one of the word's, padded with zeros. The
    paper does not mention the windows at the word's edges or the hyperbolic tangent: both follow
    its published code. Unlike in that code, batch padding never enters a word's maximum.

    n_characters (int): Rows of the embedding table; row 0 is padding.
    embedding_width (int): Width of a character's embedding.
    width (int): Number of filters and width of a word's representation.
    window (int): Width k of the filters, in characters.
    dropout (float): Dropout on the character embeddings.

    Source: Ma and Hovy (2016), sections 2.1 and 4.1 (30, 30, 3 and 0.5).
    """

    def __init__(
        self,
        n_characters: int,
        *,
        embedding_width: int = 30,
        width: int = 30,
        window: int = 3,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.width, self.window = width, window
        self.embedding = nn.Embedding(n_characters, embedding_width)
        uniform_embedding_(self.embedding.weight)
        self.dropout = nn.Dropout(dropout)
        self.filters = nn.Conv1d(embedding_width, width, window, padding=window - 1)
        glorot_(self.filters.weight.detach().view(width, -1))
        assert self.filters.bias is not None
        nn.init.zeros_(self.filters.bias)

    def forward(self, characters: Tensor, lengths: Tensor) -> Tensor:
        """Represent words.

        characters (Tensor): Rows of the table. Shape: (words, longest word), integers.
        lengths (Tensor): Length of each word in characters, at least one. Shape: (words,).
        RETURNS (Tensor): Shape: (words, width).
        """
        longest = characters.shape[1]
        lengths = lengths.to(characters.device)
        is_real = SequenceMask(lengths, longest).positions.unsqueeze(2)
        x = self.dropout(self.embedding(characters)).masked_fill(~is_real, 0.0)
        edges = self.window - 1
        windows = SequenceMask(lengths + edges, longest + edges).positions.unsqueeze(1)
        scores = self.filters(x.transpose(1, 2)).masked_fill(~windows, -math.inf)
        return torch.tanh(scores.amax(dim=2))
