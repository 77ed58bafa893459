"""Word embeddings, trainable for the words of the training data and fixed for others."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from .dropout import SharedDropout
from .initialization import uniform_embedding_
from .interfaces import CharacterPart

# Characters, including padding, that are read at a time: those of a batch of ordinary size
CHARACTER_POSITIONS = 1 << 17


class WordEmbedding(nn.Module):
    """Trainable rows, combined with fixed vectors passed by the caller.

    Only the words of the training data have rows, so the cost of a training step does not grow with
    the table of pretrained vectors; the caller passes the vectors of all other words.

    n_words (int): Number of rows; row 0 is for unknown words.
    width (int): Width of the embeddings.

    Where the paper is silent or we differ:

    - Words without a vector start uniformly; those outside the training data keep theirs.
    - The papers do not say by which form a word is looked up. Here it is the norm of its entry in
      the vocabulary, in lower case, for which all double quotation marks are alike, and so are
      dashes and currencies; the setting `attr` can be LOWER or ORTH.
    - Nor do they say which words have rows: those of the training data that have a vector, and
      those that occur twice (`min_freq`).

    Source: Wei et al. (2021), section 5.2: pretrained vectors, fine-tuned in training.
    """

    def __init__(self, n_words: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.weight = nn.Parameter(uniform_embedding_(torch.empty(n_words, width)))

    def forward(self, rows: Tensor, vectors: Tensor | None) -> Tensor:
        """Look up words.

        rows (Tensor): Row of each word, or -1 if its vector is fixed. Shape: (words,), integers.
        vectors (Optional[Tensor]): The fixed vectors of the words with row -1, in order.
            Shape: (words with row -1, width).
        RETURNS (Tensor): Shape: (words, width).
        """
        if vectors is None:
            return embedding(rows, self.weight)
        output = embedding(rows.clamp(min=0), self.weight)
        fixed = torch.nonzero(rows < 0).squeeze(1)
        return output.index_copy(0, fixed, vectors.to(output.dtype))


class WordCharacterEmbedding(nn.Module):
    """The distributed representation of a word: word embedding and character representation,
    concatenated. Each distinct word of a batch is computed once.

    words (WordEmbedding): The word embedding.
    characters (Optional[CharacterPart]): Maps (characters, lengths) to character representations;
        None for words alone.
    dropout (float): Dropout on a token's representation.
    word_dropout (float): The probability of dropping the embedding of a word everywhere in a batch.
        Its character representation is kept.

    Where the papers are silent or we differ:

    - Word dropout is not part of the papers: see Gal and Ghahramani (2016), section 4.2.

    Source: Wei et al. (2021), figure 2 and section 5.2; Cui and Zhang (2019), section 3.1.
    """

    def __init__(
        self,
        words: WordEmbedding,
        characters: CharacterPart | None,
        *,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.words, self.characters = words, characters
        self.dropout = nn.Dropout(dropout)
        self.word_dropout = SharedDropout(word_dropout, axis=1) if word_dropout else nn.Identity()
        self.width = words.width + (0 if characters is None else characters.width)

    def forward(
        self,
        rows: Tensor,
        vectors: Tensor | None,
        characters: Tensor,
        lengths: Tensor,
        tokens: Tensor,
    ) -> Tensor:
        """Represent tokens.

        rows, vectors (Tensor): The distinct words, as in `WordEmbedding`. Shapes: (words,) and
            (words with row -1, word width).
        characters, lengths (Tensor): The distinct words, as in `CharacterBiLSTM`. Shapes:
            (words, longest word) and (words,).
        tokens (Tensor): The word index of each token. Shape: (tokens,), integers.
        RETURNS (Tensor): Shape: (tokens, width).
        """
        parts = [self.word_dropout(self.words(rows, vectors))]
        if self.characters is not None:
            parts.append(in_pieces(self.characters, characters, lengths))
        return self.dropout(embedding(tokens, torch.cat(parts, dim=1)))


def in_pieces(part: CharacterPart, characters: Tensor, lengths: Tensor) -> Tensor:
    """Represent words, sorted by length, longest first, by their characters, so many at a time that
    memory stays bounded: (words, longest word) and (words,) to (words, width)."""
    if characters.numel() <= CHARACTER_POSITIONS:
        return part(characters, lengths)
    outputs, first = [], 0
    while first < len(lengths):
        longest = int(lengths[first])
        piece = slice(first, first + max(1, CHARACTER_POSITIONS // longest))
        outputs.append(part(characters[piece, :longest], lengths[piece]))
        first = piece.stop
    return torch.cat(outputs)
