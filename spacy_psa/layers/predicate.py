"""One label sequence for each predicate of a sentence, with the predicate marked in the input."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..inference import Potentials
from .labeler import SequenceLabelerNetwork
from .layout import Layout


class PredicateMask(nn.Module):
    """Append the embedding of the predicate mask to each word vector: x_t = [e(w_t), e(m_t)].

    The mask m_t is 1 at the predicate and 0 elsewhere. As in the authors' code, its embeddings are
    normally distributed with standard deviation 1 / √d, where d is their own width.

    input_width (int): Width of the word vectors.
    mask_width (int): Width of the mask's embedding.

    Source: Tan et al. (2018), 'Pipeline' and 'Initialization'.
    """

    def __init__(self, input_width: int, mask_width: int) -> None:
        super().__init__()
        self.width = input_width + mask_width
        self.marks = nn.Parameter(torch.empty(2, mask_width).normal_(std=mask_width**-0.5))

    def forward(self, x: Tensor, tokens: Tensor, is_predicate: Tensor) -> Tensor:
        """Copy the word vectors for each predicate, and mark it.

        x (Tensor): Word vectors, one for each token. Shape: (tokens, input_width).
        tokens (Tensor): The token at each position. Shape: (positions,), integers.
        is_predicate (Tensor): True at predicates. Shape: (positions,), booleans.
        RETURNS (Tensor): Shape: (positions, width).
        """
        marks = nn.functional.embedding(is_predicate.long(), self.marks)
        return torch.cat([x.index_select(0, tokens), marks.to(x.dtype)], dim=1)


class RoleLabelerNetwork(nn.Module):
    """Map word vectors to the potentials of one label sequence for each predicate.

    mask (PredicateMask): Marks the predicates.
    labeler (SequenceLabelerNetwork): Encodes and decodes all sequences in one pass.
    """

    def __init__(self, mask: PredicateMask, labeler: SequenceLabelerNetwork) -> None:
        super().__init__()
        self.mask = mask
        self.labeler = labeler

    def forward(
        self, x: Tensor, tokens: Tensor, is_predicate: Tensor, layout: Layout
    ) -> Potentials:
        """Score label sequences.

        x (Tensor): Word vectors, one for each token. Shape: (tokens, d).
        tokens (Tensor): The token at each position of the sequences. Shape: (positions,).
        is_predicate (Tensor): True at predicates. Shape: (positions,), booleans.
        layout (Layout): How the positions are laid out for the encoder.
        RETURNS (Potentials): One chain for each predicate.
        """
        return self.labeler(self.mask(x, tokens, is_predicate), layout)
