"""Word representations from characters."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from .initialization import lstm, uniform_embedding_
from .mask import SequenceMask


class CharacterBiLSTM(nn.Module):
    """The last states of a bidirectional LSTM over the characters of a word.

    n_characters (int): Rows of the embedding table; row 0 is padding.
    embedding_width (int): Width of a character's embedding.
    width (int): Width of a word's representation: both directions together, half each.

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

        characters (Tensor): Rows of the table, words sorted from the longest to the shortest.
            Shape: (words, longest word), integers.
        lengths (Tensor): Characters of each word, at least one. Shape: (words,), on the CPU.
        RETURNS (Tensor): Shape: (words, width).
        """
        mask = SequenceMask(lengths.to(characters.device), characters.shape[1])
        states = []
        for direction, ids in (
            (self.forwards, characters),
            (self.backwards, characters.gather(1, mask.reversal)),
        ):
            packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True)
            _, (last, _) = direction(packed)
            states.append(last[0])
        return torch.cat(states, dim=1)
