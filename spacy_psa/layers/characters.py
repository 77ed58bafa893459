"""Word representations from characters."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from .dropout import Dropout
from .initialization import glorot_, lstm, uniform_embedding_
from .mask import SequenceMask
from .packed_lstm import may_be_packed, packed_bilstm

# Up to this many words are read without packing in prediction, since the overhead of calling
# PyTorch exceeds the computation
FEW_WORDS = 64


class CharacterBiLSTM(nn.Module):
    """The last states of a bidirectional LSTM over the characters of a word.

    n_characters (int): Rows of the embedding table; row 0 is padding.
    embedding_width (int): Width of a character's embedding.
    width (int): Width of a word's representation, half for each direction.

    Source: Lample et al. (2016), section 4.1; Wei et al. (2021), section 5.2 (30 and 100).
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
        if len(lengths) <= FEW_WORDS and not torch.is_grad_enabled():
            return read_padded(characters, lengths, self.embedding, self.forwards, self.backwards)
        mask = SequenceMask(lengths.to(characters.device), characters.shape[1])
        if mask.known_lengths is not None and may_be_packed(self.forwards, self.backwards):
            inputs = self.embedding(characters.flatten()[mask.steps.places])
            states = packed_bilstm(inputs, mask.steps.sizes, self.forwards, self.backwards)
            return states[:, mask.steps.last].transpose(0, 1).flatten(1)
        if mask.known_lengths is None:
            # On a GPU, packing takes longer than reading padding
            return read_padded(characters, lengths, self.embedding, self.forwards, self.backwards)
        finals = []
        for direction, ids in (
            (self.forwards, characters),
            (self.backwards, characters.gather(1, mask.reversal)),
        ):
            packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True)
            _, (last, _) = direction(packed)
            finals.append(last[0])
        return torch.cat(finals, dim=1)


def read_padded(
    characters: Tensor,
    lengths: Tensor,
    embedding: nn.Module,
    forwards: nn.Module,
    backwards: nn.Module,
) -> Tensor:
    """Represent words by the last states of both directions, reading them with padding.

    characters (Tensor): Rows of the table. Shape: (words, n), integers.
    lengths (Tensor): Length of each word in characters, at least one. Shape: (words,).
    embedding (nn.Module): The table.
    forwards, backwards (nn.Module): The directions.
    RETURNS (Tensor): Shape: (words, width of both).
    """
    mask = SequenceMask(lengths.to(characters.device), characters.shape[1])
    # Time-major, as the layers read them, so that neither makes its own copy
    both = torch.stack([characters, characters.gather(1, mask.reversal)])
    ids = both.transpose(1, 2)
    steps = embedding(ids.contiguous())
    n_words = ids.shape[2]
    words = torch.arange(len(characters), device=characters.device)
    last = (mask.lengths - 1) * n_words + words
    finals = []
    for direction, x in zip((forwards, backwards), steps.unbind(), strict=True):
        states, _ = direction(x.transpose(0, 1))
        finals.append(states.transpose(0, 1).flatten(0, 1).index_select(0, last))
    return torch.cat(finals, dim=1)


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
        self.width = width
        self.window = window
        self.embedding = nn.Embedding(n_characters, embedding_width)
        uniform_embedding_(self.embedding.weight)
        self.dropout = Dropout(dropout)
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
